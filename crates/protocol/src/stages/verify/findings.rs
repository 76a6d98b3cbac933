//! Collects what is wrong with one event.

use super::rule::{Options, Rule, Severity};
use super::violation::Violation;
use crate::event::Event;
use crate::json::Text;
use crate::stages::NamedId;

/// Longer lists are cut short: an event of a few bytes may leave any number of things open.
const LISTED_MAX: usize = 16;

/// The violations of one event, or of the end of the stream. Costs nothing while there are none.
#[derive(Debug)]
pub(super) struct Findings<'e, 'a> {
    options: Options,
    position: u64,
    event: Option<&'e Event<'a>>,
    violations: Vec<Violation>,
}

impl<'e, 'a> Findings<'e, 'a> {
    pub(super) const fn new(options: Options, position: u64, event: Option<&'e Event<'a>>) -> Self {
        Self { options, position, event, violations: Vec::new() }
    }

    #[cold]
    pub(super) fn raise(&mut self, rule: Rule, ids: impl Into<Vec<NamedId>>) {
        self.violations.push(Violation {
            rule,
            severity: self.options.severity(rule),
            position: self.position,
            event_type: self.event.and_then(Event::event_type),
            ids: ids.into(),
            ids_omitted: 0,
        });
    }

    /// Raises one violation about many things, of which there are `len`.
    #[cold]
    pub(super) fn raise_list<'t, 'u: 't>(
        &mut self,
        rule: Rule,
        name: &'static str,
        ids: impl Iterator<Item = &'t Text<'u>>,
        len: usize,
    ) {
        self.raise(rule, ids.take(LISTED_MAX).map(|id| NamedId::new(name, id)).collect::<Vec<_>>());
        if let Some(violation) = self.violations.last_mut() {
            violation.ids_omitted = len.saturating_sub(LISTED_MAX);
        }
    }

    pub(super) fn have_error(&self) -> bool {
        self.violations.iter().any(|violation| violation.severity == Severity::Error)
    }

    pub(super) fn into_violations(self) -> Vec<Violation> {
        self.violations
    }
}
