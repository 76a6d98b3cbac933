//! What a stage makes of one event.

use crate::event::Event;

/// What a stage makes of one event: usually the event itself, as it was.
#[derive(Clone, Debug)]
pub struct Output<'e, 'a> {
    /// What comes before it. Usually nothing, and then without an allocation.
    before: Vec<Event<'a>>,
    last: Last<'e, 'a>,
}

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "it lives on the stack, and the large variant is common")]
enum Last<'e, 'a> {
    Nothing,
    Passed(&'e Event<'a>),
    Made(Event<'a>),
}

impl<'e, 'a> Output<'e, 'a> {
    /// The event itself.
    pub(super) const fn passed(event: &'e Event<'a>) -> Self {
        Self { before: Vec::new(), last: Last::Passed(event) }
    }

    /// Another event.
    pub(super) const fn made(event: Event<'a>) -> Self {
        Self { before: Vec::new(), last: Last::Made(event) }
    }

    /// Nothing at all.
    pub(super) const fn nothing() -> Self {
        Self { before: Vec::new(), last: Last::Nothing }
    }

    /// The same, with events before it.
    pub(super) fn after(mut self, before: Vec<Event<'a>>) -> Self {
        self.before = before;
        self
    }

    pub(super) fn add(&mut self, before: Event<'a>) {
        self.before.push(before);
    }

    pub(super) fn pass(&mut self, event: &'e Event<'a>) {
        self.last = Last::Passed(event);
    }

    pub(super) fn alter(&mut self, event: Event<'a>) {
        self.last = Last::Made(event);
    }

    pub(super) fn drop_event(&mut self) {
        self.last = Last::Nothing;
    }

    /// What became of the event itself, unless it is gone.
    #[must_use]
    pub const fn last(&self) -> Option<&Event<'a>> {
        match &self.last {
            Last::Nothing => None,
            Last::Passed(event) => Some(event),
            Last::Made(event) => Some(event),
        }
    }

    /// All events, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Event<'a>> {
        self.before.iter().chain(self.last())
    }

    /// Whether the last one is the event itself, as it was.
    #[must_use]
    pub const fn is_passed(&self) -> bool {
        matches!(self.last, Last::Passed(_))
    }
}
