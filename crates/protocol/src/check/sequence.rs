//! The sequence of events, judged to the end.
//!
//! A verifier that goes on as if a wrong event had not been there would find fault with everything that builds on it.
//! Here it goes on as if the event had been right: a missing start is one finding, and so is a missing run.

use super::code::Code;
use super::finding::Severity;
use super::issue::Issue;
use crate::event::{Event, RunError, RunStarted};
use crate::stages::expand::Expander;
use crate::stages::missing_start::missing_start;
use crate::stages::verify::{self, Options, Rule, Verifier, Violation};

#[derive(Clone, Debug)]
pub(super) struct Sequence {
    expander: Expander,
    verifier: Verifier,
    /// While a run is only assumed: the rule that was broken by its absence.
    outside: Option<Rule>,
    has_started: bool,
    /// Whether there was a run whose ids are made up, so that comparing ids of runs says nothing.
    has_made_up_run: bool,
}

impl Sequence {
    pub(super) fn new() -> Self {
        Self {
            expander: Expander::new(),
            verifier: Verifier::new(Options::new()),
            outside: None,
            has_started: false,
            has_made_up_run: false,
        }
    }

    /// What is wrong with the next event where it stands.
    pub(super) fn judge(&mut self, event: &Event<'_>, has_made_up_ids: bool) -> Vec<Issue> {
        let mut issues = Vec::new();
        let is_run = matches!(event, Event::RunStarted(_) | Event::RunFinished(_) | Event::RunError(_));
        if has_made_up_ids && !is_run {
            // There is nothing that it could begin, continue or end.
            return issues;
        }
        match (event, self.outside) {
            (Event::RunStarted(_) | Event::RunError(_), Some(_)) => {
                self.outside = None;
                self.verifier.assume(&RunError::new("").into());
                if matches!(event, Event::RunError(_)) {
                    return issues;
                }
            }
            (_, Some(rule)) => issues.push(outside_issue(rule, event)),
            (_, None) => {}
        }
        self.has_made_up_run |= has_made_up_ids;
        match self.expander.expand(event) {
            Ok(expanded) => expanded.iter().for_each(|event| self.check(event, &mut issues)),
            Err(error) => {
                let issue = Issue::new(Severity::Error, Code::Chunk(error.rule), "");
                issues.push(issue.with_message(error.to_string()));
            }
        }
        match event {
            Event::RunStarted(_) => self.has_started = true,
            Event::RunFinished(_) => self.outside = None,
            _ => {}
        }
        issues
    }

    /// What is wrong with the end of the stream.
    pub(super) fn finish(&self) -> Option<Issue> {
        self.verifier.finish().filter(|_| self.outside.is_none()).map(|violation| issue(&violation))
    }

    fn check(&mut self, event: &Event<'_>, issues: &mut Vec<Issue>) {
        let mut violations = self.verifier.check(event);
        match violations.first().map(|violation| violation.rule) {
            Some(rule @ (Rule::BeforeRunStarted | Rule::AfterRunFinished | Rule::AfterRunError)) => {
                let rule = if self.has_started { rule } else { Rule::BeforeRunStarted };
                issues.push(outside_issue(rule, event));
                self.outside = Some(rule);
                self.has_made_up_run = true;
                self.verifier.assume(&RunStarted::new("", "").into());
                violations = self.verifier.check(event);
            }
            Some(Rule::RunStillActive) => {
                issues.extend(violations.iter().map(issue));
                self.verifier.assume(&RunError::new("").into());
                violations = self.verifier.check(event);
            }
            _ => {}
        }
        if self.has_made_up_run {
            violations.retain(|violation| {
                !matches!(violation.rule, Rule::RunIdsDiffer | Rule::ThreadChanged | Rule::RunReused)
            });
        }
        issues.extend(violations.iter().map(issue));
        let is_step = matches!(event, Event::StepStarted(_) | Event::StepFinished(_));
        if violations.iter().any(Violation::is_error) && !is_step {
            let is_start_missing = |violation: &Violation| {
                use Rule::{CallNotOpen, ReasoningNotOpen, SpanNotOpen, TextNotOpen};
                matches!(violation.rule, TextNotOpen | CallNotOpen | ReasoningNotOpen | SpanNotOpen)
            };
            if violations.iter().any(is_start_missing)
                && let Some(start) = missing_start(event)
            {
                self.verifier.assume(&start);
            }
            self.verifier.assume(event);
        }
    }
}

/// That no run goes on is not about the event that says so.
pub(super) const fn is_about_any_event(code: Code) -> bool {
    matches!(
        code,
        Code::Sequence(
            Rule::BeforeRunStarted | Rule::AfterRunFinished | Rule::AfterRunError | Rule::RunNotEnded
        )
    )
}

fn outside_issue(rule: Rule, event: &Event<'_>) -> Issue {
    let issue = Issue::new(Severity::Error, Code::Sequence(rule), "");
    match rule {
        Rule::BeforeRunStarted => issue,
        // Often it is one event only, and then the question is which.
        _ => issue.with_message(format!("{}. type={}", rule.describe(), event.type_name())),
    }
}

fn issue(violation: &Violation) -> Issue {
    let severity = match violation.severity {
        verify::Severity::Warning => Severity::Warning,
        verify::Severity::Error => Severity::Error,
    };
    Issue::new(severity, Code::Sequence(violation.rule), "").with_message(violation.to_string())
}
