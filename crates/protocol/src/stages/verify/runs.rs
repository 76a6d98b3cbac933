//! The runs of a stream by their ids.

use super::findings::Findings;
use super::rule::Rule;
use crate::event::{RunFinished, RunStarted};
use crate::json::Text;
use crate::run::RunOutcome;
use crate::stages::NamedId;
use std::collections::HashSet;

/// A thread and a run on it.
type RunName<'a> = (Text<'a>, Text<'a>);

/// Which runs there were. The reference does not look at their ids, so that everything here is a warning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Runs {
    seen: HashSet<RunName<'static>>,
    first_thread: Option<Text<'static>>,
    /// The last one that started.
    current: Option<RunName<'static>>,
}

impl Runs {
    pub(super) fn judge_start(&self, started: &RunStarted<'_>, findings: &mut Findings<'_, '_>) {
        let name = (started.thread_id.clone(), started.run_id.clone());
        if let Some(first) = &self.first_thread
            && *first != name.0
        {
            let ids = [NamedId::new("threadId", &name.0), NamedId::new("first", first)];
            findings.raise(Rule::ThreadChanged, ids);
        }
        if self.seen.contains(&name) {
            let ids = [NamedId::new("threadId", &name.0), NamedId::new("runId", &name.1)];
            findings.raise(Rule::RunReused, ids);
        }
    }

    pub(super) fn judge_finish(&self, finished: &RunFinished<'_>, findings: &mut Findings<'_, '_>) {
        if let Some((thread, run)) = &self.current
            && (*thread != finished.thread_id || *run != finished.run_id)
        {
            let ids = [
                NamedId::new("threadId", &finished.thread_id),
                NamedId::new("runId", &finished.run_id),
                NamedId::new("startedThreadId", thread),
                NamedId::new("startedRunId", run),
            ];
            findings.raise(Rule::RunIdsDiffer, ids);
        }
        if let Some(RunOutcome::Interrupt(outcome)) = &finished.outcome {
            let mut seen = HashSet::new();
            let ids = outcome.interrupts.as_slice().iter().map(|interrupt| &interrupt.id);
            let repeated: Vec<&Text<'_>> = ids.filter(|id| !seen.insert(id.wtf8())).collect();
            if !repeated.is_empty() {
                let count = repeated.len();
                findings.raise_list(Rule::InterruptRepeated, "interruptId", repeated.into_iter(), count);
            }
        }
    }

    pub(super) fn start(&mut self, started: &RunStarted<'_>) {
        let name = (started.thread_id.clone().into_owned(), started.run_id.clone().into_owned());
        self.first_thread.get_or_insert_with(|| name.0.clone());
        self.seen.insert(name.clone());
        self.current = Some(name);
    }

    /// The last run that started.
    pub(super) const fn current(&self) -> Option<&RunName<'static>> {
        self.current.as_ref()
    }

    /// The same for people.
    pub(super) fn current_ids(&self) -> Vec<NamedId> {
        self.current.iter().map(|(_, run)| NamedId::new("runId", run)).collect()
    }
}
