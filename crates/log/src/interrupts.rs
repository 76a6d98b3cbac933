//! Interrupts: what a run asked is answered once, and wholly.

use crate::engine::Engine;
use crate::error::Error;
use crate::lineage::chain;
use crate::names::{RunId, ThreadKey};
use crate::run::{RunInfo, RunStatus};
use threadline_protocol::run::ResumeEntry;
use threadline_protocol::stages::fold::Fold;
use threadline_protocol::{RunAgentInput, Text};

impl Engine {
    /// Whether a run may be opened with these answers, after what its branch holds.
    pub(crate) async fn check_answers(
        &self,
        thread: &ThreadKey,
        held: &Fold,
        input: &RunAgentInput<'_>,
    ) -> Result<(), Error> {
        let answers = input.resume.as_deref().unwrap_or_default();
        let open: Vec<&Text<'_>> = held.interrupts().iter().map(|interrupt| &interrupt.id).collect();
        // Only who answers has to know all runs; a thread that is not there has asked nothing.
        let runs = match answers.is_empty() {
            true => Ok(Vec::new()),
            false => self.store().runs(thread).await,
        };
        let runs = match runs {
            Err(Error::NoThread(_)) => Vec::new(),
            runs => runs?,
        };
        for answer in answers {
            if let Some(run) = self.answered_by(thread, &runs, &answer.interrupt_id).await? {
                return Err(Error::InterruptAnswered { interrupt: answer.interrupt_id.to_string(), run });
            }
        }
        let uncovered = uncovered(&open, answers);
        if uncovered.is_empty() { Ok(()) } else { Err(Error::InterruptsOpen(uncovered)) }
    }

    /// The run that answered an interrupt and did not fail: what a failed one answered is open again.
    async fn answered_by(
        &self,
        thread: &ThreadKey,
        runs: &[RunInfo],
        interrupt: &Text<'_>,
    ) -> Result<Option<RunId>, Error> {
        let asked = |run: &&RunInfo| {
            run.end.as_ref().is_some_and(|end| end.interrupts.iter().any(|id| *interrupt == **id))
        };
        let Some(asked) = runs.iter().rev().find(asked) else { return Ok(None) };
        let later = runs.iter().filter(|run| run.no > asked.no);
        for run in later {
            let failed = matches!(run.status(), RunStatus::Failed | RunStatus::Abandoned);
            if failed || !chain(runs, run.no).contains(&asked.no) {
                continue;
            }
            let request = self.store().request(thread, run.no).await?;
            let text = std::str::from_utf8(&request).unwrap_or_default();
            let Ok((input, _)) = RunAgentInput::read_json(text) else { continue };
            if input.resume.iter().flatten().any(|answer| answer.interrupt_id == *interrupt) {
                return Ok(Some(run.id.clone()));
            }
        }
        Ok(None)
    }
}

fn uncovered(open: &[&Text<'_>], answers: &[ResumeEntry<'_>]) -> Vec<String> {
    let is_answered = |id: &Text<'_>| answers.iter().any(|answer| answer.interrupt_id == *id);
    open.iter().filter(|id| !is_answered(id)).map(ToString::to_string).collect()
}
