//! The repair stage: a stream that breaks rules, made legal with as few changes as possible.
//!
//! What a reader would accept passes as it is. Of the rest, orphan content gets a start, what a run left open gets an end
//! before the run's, wrong tags go, and what cannot be made sense of is dropped. Every change is listed. The log keeps what
//! came; this is for those to whom it is delivered.

mod call_names;
mod mend;
#[cfg(test)]
mod tests;

use super::close::{Cause, closing_events, terminal};
use super::expand::Kind;
use super::ongoing::{Ongoing, Refusal};
use super::verify::Rule;
use crate::event::{Event, EventType, Received};
use crate::json::{Json, JsonObject};
use crate::schema::{Departure, DepartureKind, ReadError, UnknownWords};
use crate::stages::Output;
use call_names::CallNames;
use mend::{Mend, is_nameless, mend};
use std::fmt;

/// How often an event is mended before it is given up. Each mend takes away one reason to refuse it.
const MENDS_MAX: usize = 12;

/// Repairs the events of one stream, in order.
///
/// ```
/// use threadline_protocol::event::{RunStarted, TextMessageContent};
/// use threadline_protocol::stages::repair::Repairer;
///
/// let mut repairer = Repairer::new();
/// let started = RunStarted::new("t1", "r1").into();
/// assert!(repairer.repair(&started).changes.is_empty());
/// let orphan = TextMessageContent::new("m1", "Hello").into();
/// let repaired = repairer.repair(&orphan);
/// let out: Vec<String> = repaired.output.iter().map(|event| event.to_json()).collect();
/// assert_eq!(out[0], r#"{"type":"TEXT_MESSAGE_START","messageId":"m1"}"#);
/// assert_eq!(out[1], orphan.to_json());
/// assert_eq!(repaired.changes[0].to_string(), "TEXT_MESSAGE_START added: the text message is not open. messageId=m1");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repairer {
    ongoing: Ongoing,
    call_names: CallNames,
    position: u64,
    /// How many chunks came without an id where one was needed. Theirs are made of this, not of their position: what comes before
    /// them may be stored in fewer pieces than it was delivered in.
    nameless: u64,
}

/// What became of an event.
#[derive(Clone, Debug)]
pub struct Repaired<'e, 'a> {
    /// The events, those that were added first.
    pub output: Output<'e, 'a>,
    /// What was changed, in order.
    pub changes: Vec<Change>,
}

/// A change of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The event that needed it, counted from 0; the number of events if it is the end of the stream.
    pub position: u64,
    /// What was done.
    pub action: Action,
    /// The type of the event that was added, altered or dropped; none if 1.0 does not have it.
    pub event_type: Option<EventType>,
    /// The rule that would have been broken, as a stable word.
    pub rule: &'static str,
    /// Why, for people.
    pub reason: String,
}

/// What was done to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Action {
    /// An event was added.
    Added,
    /// An event was changed.
    Altered,
    /// An event was left out.
    Dropped,
}

impl Action {
    /// A stable word for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Altered => "altered",
            Self::Dropped => "dropped",
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let event_type = self.event_type.map_or("event", EventType::as_str);
        write!(f, "{event_type} {}: {}", self.action.name(), self.reason)
    }
}

impl Repaired<'_, '_> {
    fn note(&mut self, position: u64, action: Action, event: &Event<'_>, refusal: &Refusal) {
        self.changes.push(Change {
            position,
            action,
            event_type: event.event_type(),
            rule: refusal.rule(),
            reason: refusal.to_string(),
        });
    }
}

/// Removes from the text of an event the members that are malformed, as long as 1.0 can do without them, and says what was
/// wrong. `None` if it cannot, or if the text is no event.
#[must_use]
pub fn without_malformed(json: &str) -> Option<(String, Vec<ReadError>)> {
    let mut text = json.to_owned();
    let mut errors: Vec<ReadError> = Vec::new();
    loop {
        let Err(error) = Received::read(&text) else { return Some((text, errors)) };
        // The top of the pointer is the member to go. What is missing has none.
        let member = error.pointer().split('/').nth(1).filter(|member| !member.is_empty())?.to_owned();
        let object = JsonObject::try_from(Json::parse(&text).ok()?).ok()?;
        let mut members = object.members();
        let place = members.iter().position(|(key, _)| *key == *member)?;
        members.remove(place);
        text = JsonObject::from_members(&members).as_json().as_str().to_owned();
        errors.push(error);
    }
}

/// Removes from an event what a 1.0 reader would refuse it for, which are nulls in place of absent fields, and words that
/// 1.0 does not allow, and says what that was. `None` if nothing of the event is left. An event without any is as it was.
#[must_use]
pub fn without_refusals(received: Received<'_>) -> (Option<Received<'_>>, Vec<Departure>) {
    let is_refused =
        |kind: DepartureKind| matches!(kind, DepartureKind::NullOptional | DepartureKind::UnknownToken);
    let departures = received.departures().iter();
    let refused: Vec<Departure> =
        departures.filter(|departure| is_refused(departure.kind)).cloned().collect();
    if refused.is_empty() {
        return (Some(received), refused);
    }
    let (_, event, departures) = received.into_parts();
    // Events are written without nulls, but a word goes with what it stands in, and so does all that is unknown.
    if refused.iter().any(|departure| departure.kind == DepartureKind::UnknownToken) {
        return (event.stripped(UnknownWords::Strip).map(|(event, _)| Received::made(event)), departures);
    }
    (Received::read_owned(event.to_json()).ok(), refused)
}

impl Repairer {
    /// At the start of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What goes on in the repaired stream.
    #[must_use]
    pub const fn ongoing(&self) -> &Ongoing {
        &self.ongoing
    }

    /// Repairs the next event.
    pub fn repair<'e, 'a>(&mut self, event: &'e Event<'a>) -> Repaired<'e, 'a> {
        let mut repaired = Repaired { output: Output::passed(event), changes: Vec::new() };
        self.mend(event, &mut repaired);
        for event in repaired.output.iter() {
            self.call_names.take(event);
        }
        self.position += 1;
        repaired
    }

    fn mend<'e, 'a>(&mut self, event: &'e Event<'a>, repaired: &mut Repaired<'e, 'a>) {
        let position = self.position;
        if let Some(altered) = self.kept_owner(event) {
            let rule = Rule::OwnerMismatch;
            let (rule, reason) = (rule.name(), rule.describe().to_owned());
            let (action, event_type) = (Action::Altered, event.event_type());
            repaired.changes.push(Change { position, action, event_type, rule, reason });
            repaired.output.alter(altered);
        }
        for mends in 0.. {
            let Some(current) = repaired.output.last() else { return };
            let Err(refusal) = self.ongoing.take(current) else { return };
            let mend = match mends {
                MENDS_MAX => Mend::Drop,
                _ => mend(current, &refusal, &self.ongoing, &self.call_names, self.nameless),
            };
            self.nameless += u64::from(is_nameless(&refusal));
            match mend {
                Mend::Alter(altered) => {
                    repaired.note(position, Action::Altered, event, &refusal);
                    repaired.output.alter(altered);
                }
                Mend::Drop => {
                    // That it was altered first is nothing to anyone.
                    repaired.changes.retain(|change| change.action != Action::Altered);
                    repaired.note(position, Action::Dropped, event, &refusal);
                    repaired.output.drop_event();
                }
                Mend::Add(events) => {
                    for made in events {
                        if let Some(made) = self.added(made) {
                            repaired.note(position, Action::Added, &made, &refusal);
                            repaired.output.add(made);
                        }
                    }
                }
            }
        }
    }

    /// A result whose message has the id of one that chunks assemble, as one of the same owner: otherwise the message
    /// would change hands, and nothing could end it.
    fn kept_owner<'a>(&self, event: &Event<'a>) -> Option<Event<'a>> {
        let Event::ToolCallResult(result) = event else { return None };
        let stream = self.ongoing.open_chunk(Kind::Text, &result.message_id)?;
        if stream.owner.is_none() || stream.owner == result.subagent_run_id {
            return None;
        }
        let mut result = result.clone();
        result.subagent_run_id.clone_from(&stream.owner);
        Some(result.into())
    }

    /// Takes in an event of ours, without its tag if another is on record as the owner.
    fn added(&mut self, mut event: Event<'static>) -> Option<Event<'static>> {
        if self.ongoing.take(&event).is_err() {
            event.tag_mut()?.take()?;
            self.ongoing.take(&event).ok()?;
        }
        Some(event)
    }

    /// Ends the stream: a run that goes on was cut off, and is closed.
    pub fn finish(&mut self) -> (Vec<Event<'static>>, Vec<Change>) {
        let mut events = closing_events(&self.ongoing, Cause::Truncated);
        events.extend(terminal(&self.ongoing, Cause::Truncated));
        // What cannot be taken in would not be accepted, either.
        events.retain(|event| self.ongoing.take(event).is_ok());
        let changes = events.iter().map(|event| Change {
            position: self.position,
            action: Action::Added,
            event_type: event.event_type(),
            rule: "run_not_ended",
            reason: Cause::Truncated.describe().to_owned(),
        });
        let changes = changes.collect();
        (events, changes)
    }
}
