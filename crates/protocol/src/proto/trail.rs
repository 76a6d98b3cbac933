//! Where in an event a conversion is, and what it had to leave out.

use crate::json::Text;
use crate::limits::PROTO_NOTES_MAX;
use crate::schema::token;
use std::fmt::Write as _;

/// The way from the event to the value that is being converted, and the places that were noted along it.
#[derive(Debug, Default)]
pub(super) struct Trail {
    steps: Vec<Step>,
    notes: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Member(&'static str),
    Element(usize),
}

impl Trail {
    /// Does something one step further down.
    pub(super) fn below<T>(&mut self, step: Step, convert: impl FnOnce(&mut Self) -> T) -> T {
        self.enter(step);
        let converted = convert(self);
        self.leave();
        converted
    }

    pub(super) fn enter(&mut self, step: Step) {
        self.steps.push(step);
    }

    pub(super) fn leave(&mut self) {
        self.steps.pop();
    }

    /// The place, as a JSON pointer into the event.
    pub(super) fn pointer(&self) -> String {
        let mut pointer = String::new();
        for step in &self.steps {
            let written = match step {
                Step::Member(key) => write!(pointer, "/{key}"),
                Step::Element(index) => write!(pointer, "/{index}"),
            };
            written.expect("a String takes everything");
        }
        pointer
    }

    /// Notes the place.
    #[cold]
    pub(super) fn note(&mut self) {
        self.push("");
    }

    /// Notes a member of the object at the place.
    #[cold]
    pub(super) fn note_member(&mut self, key: &Text<'_>) {
        self.push(&format!("/{}", token(key)));
    }

    fn push(&mut self, below: &str) {
        if self.notes.len() < PROTO_NOTES_MAX {
            self.notes.push(self.pointer() + below);
        }
    }

    /// How many places are noted.
    pub(super) const fn mark(&self) -> usize {
        self.notes.len()
    }

    /// Notes the place instead of what was noted after `mark`, which is all below it.
    pub(super) fn note_whole(&mut self, mark: usize) {
        self.notes.truncate(mark);
        self.note();
    }

    pub(super) fn into_notes(self) -> Vec<String> {
        self.notes
    }
}
