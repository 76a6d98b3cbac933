//! What clients see of a run: one deterministic pipeline over its records.
//!
//! Shapes of 0.x are translated, what 1.0 does not have is stripped, what is out of order is repaired. Records stay as they came.

use crate::names::{RunId, ThreadId};
use crate::record::Kind;
use threadline_protocol::event::{Custom, RunError};
use threadline_protocol::stages::close::{Cause, closing_events, terminal};
use threadline_protocol::stages::enforce::{Verdict, enforce};
use threadline_protocol::stages::repair::{Repairer, without_malformed, without_refusals};
use threadline_protocol::stages::translate::Translator;
use threadline_protocol::{Event, Received, Text, UnknownWords};

/// Delivers one run.
#[derive(Debug)]
pub struct Delivery {
    thread_id: Text<'static>,
    run_id: Text<'static>,
    translator: Translator,
    repairer: Repairer,
    is_started: bool,
    unknown: UnknownEvents,
}

/// What becomes of events of types that AG-UI does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum UnknownEvents {
    /// Nobody sees them.
    #[default]
    Drop,
    /// They are shown as CUSTOM events, whose name is this and their type, and whose value is the event.
    Custom(String),
}

impl Delivery {
    /// At the start of a run.
    #[must_use]
    pub fn new(thread: &ThreadId, run: &RunId) -> Self {
        Self {
            thread_id: Text::from(thread.as_str().to_owned()),
            run_id: Text::from(run.as_str().to_owned()),
            translator: Translator::new(),
            repairer: Repairer::new(),
            is_started: false,
            unknown: UnknownEvents::Drop,
        }
    }

    /// With something else than nothing for events of unknown types.
    #[must_use]
    pub fn with_unknown(mut self, unknown: UnknownEvents) -> Self {
        self.unknown = unknown;
        self
    }

    /// What is delivered of the next record.
    pub fn push(&mut self, kind: Kind, bytes: &[u8]) -> Vec<Event<'static>> {
        if kind == Kind::Rejected {
            return Vec::new();
        }
        let Some(event) = self.legible(bytes) else { return Vec::new() };
        let Some(event) = self.with_our_ids(event) else { return Vec::new() };
        self.repairer.repair(&event).output.iter().cloned().collect()
    }

    /// The ends of whatever is open for those who read the run.
    #[must_use]
    pub fn closing(&self, cause: Cause) -> Vec<Event<'static>> {
        closing_events(self.repairer.ongoing(), cause)
    }

    /// The events that end the run, of somebody who is not its source: what is open is closed, and the last event says why, with
    /// an error of its own if there is one.
    #[must_use]
    pub fn ending(&self, cause: Cause, error: Option<RunError<'static>>) -> Vec<Event<'static>> {
        let mut events = self.closing(cause);
        let terminal = terminal(self.repairer.ongoing(), cause).filter(|_| error.is_none());
        // If there is no end, for its readers the run never began, or has ended though nobody said so.
        events.push(terminal.unwrap_or_else(|| last_event(cause, error)));
        events
    }

    /// What a 1.0 reader may see of the record.
    fn legible(&mut self, bytes: &[u8]) -> Option<Event<'static>> {
        let mut mended = String::new();
        let received = read(bytes, &mut mended)?;
        let translated = self.translator.translate(received).ok()?.event;
        if let (Event::Unknown(event), UnknownEvents::Custom(prefix)) = (translated.event(), &self.unknown) {
            let name = format!("{prefix}{}", translated.event().type_name());
            return Some(Custom::new(name, event.as_json().clone().into_owned()).into());
        }
        match enforce(without_refusals(translated).0?, UnknownWords::Strip) {
            Verdict::Kept { event, .. } => Some(event.into_event().into_owned()),
            Verdict::Dropped | Verdict::Refused(_) => None,
        }
    }

    /// The source may call the run what it likes. Its own start is left out where we have made one.
    fn with_our_ids(&mut self, mut event: Event<'static>) -> Option<Event<'static>> {
        match &mut event {
            Event::RunStarted(started) => {
                if std::mem::replace(&mut self.is_started, true) {
                    return None;
                }
                (started.thread_id, started.run_id) = (self.thread_id.clone(), self.run_id.clone());
            }
            Event::RunFinished(finished) => {
                (finished.thread_id, finished.run_id) = (self.thread_id.clone(), self.run_id.clone());
            }
            _ => {}
        }
        Some(event)
    }
}

/// The last event of a run of which nothing else is known.
pub(crate) fn last_event(cause: Cause, error: Option<RunError<'static>>) -> Event<'static> {
    error.unwrap_or_else(|| RunError::new(cause.describe()).with_code(cause.code())).into()
}

/// Whether bytes are an event at all, be it of an unknown type or with members that are malformed. What is not is kept as
/// [`Kind::Rejected`].
#[must_use]
pub fn is_legible(bytes: &[u8]) -> bool {
    read(bytes, &mut String::new()).is_some()
}

/// An event, without its malformed members if it has some.
fn read<'a>(bytes: &'a [u8], mended: &'a mut String) -> Option<Received<'a>> {
    let text = std::str::from_utf8(bytes).ok()?;
    if let Ok(received) = Received::read(text) {
        return Some(received);
    }
    (*mended, _) = without_malformed(text)?;
    Received::read(mended).ok()
}
