//! The stage itself.

use super::findings::Findings;
use super::ledger::Ledger;
use super::rule::{Options, Rule};
use super::run::Run;
use super::runs::Runs;
use super::violation::Violation;
use crate::event::Event;

/// Verifies the events of one stream, in order. A stream may hold any number of runs, one after the other.
///
/// ```
/// use threadline_protocol::event::{RunStarted, TextMessageEnd};
/// use threadline_protocol::stages::verify::{Options, Rule, Verifier};
///
/// let mut verifier = Verifier::new(Options::new());
/// assert!(verifier.check(&RunStarted::new("t1", "r1").into()).is_empty());
/// let violations = verifier.check(&TextMessageEnd::new("m1").into());
/// assert_eq!(violations[0].rule, Rule::TextNotOpen);
/// assert_eq!(violations[0].label(), Some("V3"));
/// assert_eq!(violations[0].to_string(), "the text message is not open. messageId=m1");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verifier {
    options: Options,
    position: u64,
    pub(super) state: State,
}

/// All that a verdict depends on, but for the options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    pub(super) phase: Phase,
    pub(super) run: Run,
    pub(super) runs: Runs,
    pub(super) ledger: Ledger,
}

/// Where in a run the stream is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Before,
    Running,
    Finished,
    /// Even if the run had finished before.
    Failed,
}

impl Phase {
    /// The rule that keeps an event out, whatever else it says.
    const fn refusal(self, event: &Event<'_>) -> Option<Rule> {
        match (self, event) {
            (Self::Running, Event::RunStarted(_)) => Some(Rule::RunStillActive),
            (Self::Running, _)
            | (_, Event::RunStarted(_))
            | (Self::Before | Self::Finished, Event::RunError(_)) => None,
            (Self::Before, _) => Some(Rule::BeforeRunStarted),
            (Self::Finished, _) => Some(Rule::AfterRunFinished),
            (Self::Failed, _) => Some(Rule::AfterRunError),
        }
    }
}

impl Verifier {
    /// At the start of a stream.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { options, ..Self::default() }
    }

    /// Judges the next event, and takes it in unless that gave an error. All violations are given, those that the
    /// reference knows first and in its order; usually there are none, which costs no allocation.
    ///
    /// A strict reader stops after the first error, as the reference does. One that goes on sees the rest of the stream
    /// judged as if the event had not been there.
    #[must_use]
    pub fn check(&mut self, event: &Event<'_>) -> Vec<Violation> {
        let mut findings = Findings::new(self.options, self.position, Some(event));
        self.position += 1;
        self.state.judge(event, &mut findings);
        if !findings.have_error() {
            self.state.apply(event);
        }
        findings.into_violations()
    }

    /// Takes an event in whatever it violates. For those who have reported that, and go on as if it had been right.
    /// Steps must be right: they are counted.
    pub(crate) fn assume(&mut self, event: &Event<'_>) {
        self.state.apply(event);
    }

    /// Judges the end of the stream. A stream without any run has nothing that could be cut off.
    #[must_use]
    pub fn finish(&self) -> Option<Violation> {
        let mut findings = Findings::new(self.options, self.position, None);
        if self.state.phase == Phase::Running {
            findings.raise(Rule::RunNotEnded, self.state.runs.current_ids());
        }
        findings.into_violations().pop()
    }
}

impl State {
    fn judge(&self, event: &Event<'_>, findings: &mut Findings<'_, '_>) {
        if let Some(rule) = self.phase.refusal(event) {
            return findings.raise(rule, self.runs.current_ids());
        }
        self.run.judge(event, findings);
        match event {
            Event::RunStarted(started) => self.runs.judge_start(started, findings),
            Event::RunFinished(finished) => {
                self.runs.judge_finish(finished, findings);
                self.ledger.judge_finish(finished, findings);
            }
            Event::ToolCallResult(result) => {
                let is_open = self.run.is_call_open(&result.tool_call_id);
                self.ledger.judge_result(result, is_open, findings);
            }
            _ => {}
        }
    }

    fn apply(&mut self, event: &Event<'_>) {
        self.run.apply(event);
        match event {
            Event::RunStarted(started) => {
                let history = started.input.as_ref().map_or(&[][..], |input| &input.messages);
                self.phase = Phase::Running;
                self.run = Run::begun(history);
                self.runs.start(started);
                self.ledger.begin_run();
                self.ledger.seed(history);
            }
            Event::RunFinished(_) => self.phase = Phase::Finished,
            Event::RunError(_) => self.phase = Phase::Failed,
            Event::ToolCallStart(start) => self.ledger.start(&start.tool_call_id),
            Event::ToolCallResult(result) => self.ledger.answer(&result.tool_call_id),
            Event::MessagesSnapshot(snapshot) => self.ledger.show(&snapshot.messages),
            _ => {}
        }
    }
}

/// Verifies a whole stream strictly.
///
/// # Errors
/// The first error, if there is one. Warnings are passed over.
pub fn verify_all<'e, 'a: 'e>(
    events: impl IntoIterator<Item = &'e Event<'a>>,
    options: Options,
) -> Result<(), Violation> {
    let mut verifier = Verifier::new(options);
    for event in events {
        if let Some(error) = verifier.check(event).into_iter().find(Violation::is_error) {
            return Err(error);
        }
    }
    verifier.finish().filter(Violation::is_error).map_or(Ok(()), Err)
}
