//! From events to the binary form.

use super::from_json;
use super::generated::event::Event as Arm;
use super::generated::input_content::Part;
use super::generated::input_content_source::Source as SourceArm;
use super::generated::{self, BaseEvent, JsonPatchOperationType as Op};
use super::table::{events, objects};
use super::trail::{Step, Trail};
use super::value::{Struct, Value, WireMessage};
use crate::content::{Content, ContentPart, Source};
use crate::event::{
    EncryptedSubtype, Event, ReasoningRole, RunFinished, SubagentFinished, TextRole, ToolCallResult, ToolRole,
};
use crate::json::{Count, Json, JsonNonNull, JsonObject, SafeInt, Text};
use crate::limits::PROTO_DEPTH_MAX as DEPTH_MAX;
use crate::message::{Message, ToolCall, ToolCallKind};
use crate::metadata::Metadata;
use crate::patch::Operation;
use crate::run::{ResumeStatus, RunOutcome, SubagentOutcome};
use crate::schema::Unknown;
use prost::Message as _;
use thiserror::Error;

/// An event in the binary form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// One `ag_ui.Event`, without the length that stands before it in a stream.
    pub bytes: Vec<u8>,
    /// What the event holds and the bytes do not, as JSON pointers into the event: at most 1,000 of the members and
    /// variants that 1.0 does not have, and of the strings with lone surrogates, which are replaced by U+FFFD.
    pub lost: Vec<String>,
}

/// Why an event has no binary form.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The binary form has a place only for the types of 1.0.
    #[error("event type without a binary form. type={event_type}")]
    UnknownType {
        /// The type.
        event_type: String,
    },
    /// An opaque value is nested deeper than [`DEPTH_MAX`].
    #[error("value nested too deep. limit={DEPTH_MAX}, path={pointer}")]
    TooDeep {
        /// The value, as a JSON pointer into the event.
        pointer: String,
    },
    /// An opaque value holds a number that is larger than any double.
    #[error("number larger than a double. path={pointer}")]
    NumberRange {
        /// The value, as a JSON pointer into the event.
        pointer: String,
    },
}

/// Encodes an event as one `ag_ui.Event`. [`encode_prefixed`](crate::codec::encode_prefixed) makes a frame of it.
///
/// # Errors
/// If the event is of an unknown type, or an opaque value in it is nested too deep or holds a number that is larger
/// than any double.
pub fn encode(event: &Event<'_>) -> Result<Encoded, EncodeError> {
    let mut trail = Trail::default();
    match arm(event, &mut trail) {
        Ok(arm) => {
            let bytes = generated::Event { event: Some(arm) }.encode_to_vec();
            Ok(Encoded { bytes, lost: trail.into_notes() })
        }
        Err(Halt::Unknown) => {
            Err(EncodeError::UnknownType { event_type: event.type_name().to_str().into_owned() })
        }
        Err(Halt::Failed(error)) => Err(error),
    }
}

/// Why a value could not be converted.
enum Halt {
    /// It is none of the variants that there are. The list that it stands in goes on without it.
    Unknown,
    Failed(EncodeError),
}

/// A value that the binary form has as a `W`.
trait ToWire<W> {
    fn to_wire(&self, trail: &mut Trail) -> Result<W, Halt>;
}

fn member<W>(trail: &mut Trail, key: &'static str, value: &(impl ToWire<W> + ?Sized)) -> Result<W, Halt> {
    trail.below(Step::Member(key), |trail| value.to_wire(trail))
}

fn note_extra(trail: &mut Trail, extra: &[(Text<'_>, Json<'_>)]) {
    for (key, _) in extra {
        trail.note_member(key);
    }
}

macro_rules! encode_events {
    ($( $name:ident = $wire:ident { $( $field:ident: $($list:ident)? $key:literal, )* } )*) => {
        fn arm(event: &Event<'_>, trail: &mut Trail) -> Result<Arm, Halt> {
            let base_event = Some(base(event, trail)?);
            Ok(match event {
                $( Event::$name(event) => {
                    note_extra(trail, event.extra());
                    Arm::$name(generated::$wire {
                        base_event,
                        $( $field: member(trail, $key, &event.$field)?, )*
                    })
                } )*
                Event::ToolCallResult(event) => Arm::ToolCallResult(tool_call_result(event, base_event, trail)?),
                Event::RunFinished(event) => Arm::RunFinished(run_finished(event, base_event, trail)?),
                Event::SubagentFinished(event) => {
                    Arm::SubagentFinished(subagent_finished(event, base_event, trail)?)
                }
                Event::Unknown(_) => return Err(Halt::Unknown),
            })
        }
    };
}
events!(encode_events);

fn base(event: &Event<'_>, trail: &mut Trail) -> Result<BaseEvent, Halt> {
    let name = event.event_type().ok_or(Halt::Unknown)?.as_str();
    Ok(BaseEvent {
        r#type: generated::EventType::from_str_name(name).ok_or(Halt::Unknown)?.into(),
        timestamp: event.timestamp().map(SafeInt::get),
        raw_event: event.raw_event().map(|raw| member(trail, "rawEvent", raw)).transpose()?,
        metadata: event.metadata().map(|metadata| member(trail, "metadata", metadata)).transpose()?,
    })
}

fn tool_call_result(
    event: &ToolCallResult<'_>,
    base_event: Option<BaseEvent>,
    trail: &mut Trail,
) -> Result<generated::ToolCallResultEvent, Halt> {
    note_extra(trail, event.extra());
    let (content, content_parts) = content(trail, &event.content)?;
    Ok(generated::ToolCallResultEvent {
        base_event,
        message_id: member(trail, "messageId", &event.message_id)?,
        tool_call_id: member(trail, "toolCallId", &event.tool_call_id)?,
        content,
        content_parts,
        role: member(trail, "role", &event.role)?,
        subagent_run_id: member(trail, "subagentRunId", &event.subagent_run_id)?,
    })
}

/// The two fields that share the member `content`.
fn content(
    trail: &mut Trail,
    content: &Content<'_>,
) -> Result<(Option<String>, Vec<WireMessage<generated::InputContent>>), Halt> {
    Ok(match content {
        Content::Text(text) => (member(trail, "content", text)?, Vec::new()),
        Content::Parts(parts) => (None, member(trail, "content", parts)?),
    })
}

fn run_finished(
    event: &RunFinished<'_>,
    base_event: Option<BaseEvent>,
    trail: &mut Trail,
) -> Result<generated::RunFinishedEvent, Halt> {
    note_extra(trail, event.extra());
    let mut wire = generated::RunFinishedEvent {
        base_event,
        thread_id: member(trail, "threadId", &event.thread_id)?,
        run_id: member(trail, "runId", &event.run_id)?,
        result: member(trail, "result", &event.result)?,
        usage: member(trail, "usage", &event.usage)?,
        ..Default::default()
    };
    let Some(outcome) = &event.outcome else { return Ok(wire) };
    trail.below(Step::Member("outcome"), |trail| {
        match outcome {
            RunOutcome::Success(success) => {
                note_extra(trail, success.extra());
                "success".clone_into(&mut wire.outcome);
                let pending = &success.pending_tool_call_ids;
                wire.pending_tool_call_ids = member(trail, "pendingToolCallIds", pending)?;
            }
            RunOutcome::Interrupt(interrupt) => {
                note_extra(trail, interrupt.extra());
                "interrupt".clone_into(&mut wire.outcome);
                wire.interrupts = member(trail, "interrupts", interrupt.interrupts.as_slice())?;
            }
            RunOutcome::Cancelled(cancelled) => {
                note_extra(trail, cancelled.extra());
                "cancelled".clone_into(&mut wire.outcome);
            }
            RunOutcome::Unknown(unknown) => wire.outcome = unknown_outcome(trail, unknown),
        }
        Ok(wire)
    })
}

fn subagent_finished(
    event: &SubagentFinished<'_>,
    base_event: Option<BaseEvent>,
    trail: &mut Trail,
) -> Result<generated::SubagentFinishedEvent, Halt> {
    note_extra(trail, event.extra());
    let mut wire = generated::SubagentFinishedEvent {
        base_event,
        subagent_run_id: member(trail, "subagentRunId", &event.subagent_run_id)?,
        result: member(trail, "result", &event.result)?,
        ..Default::default()
    };
    let Some(outcome) = &event.outcome else { return Ok(wire) };
    trail.below(Step::Member("outcome"), |trail| {
        match outcome {
            SubagentOutcome::Success(success) => {
                note_extra(trail, success.extra());
                "success".clone_into(&mut wire.outcome);
            }
            SubagentOutcome::Suspended(suspended) => {
                note_extra(trail, suspended.extra());
                "suspended".clone_into(&mut wire.outcome);
                wire.interrupt_ids = member(trail, "interruptIds", &suspended.interrupt_ids)?;
            }
            SubagentOutcome::Unknown(unknown) => wire.outcome = unknown_outcome(trail, unknown),
        }
        Ok(wire)
    })
}

/// The type of an outcome that 1.0 does not have. It rides; what else the outcome holds has no place.
fn unknown_outcome(trail: &mut Trail, unknown: &Unknown<'_>) -> String {
    let mut outcome_type = None;
    let object = JsonObject::try_from(unknown.as_json().clone());
    for (key, value) in object.iter().flat_map(JsonObject::members) {
        match value.as_text().filter(|word| key == "type" && !word.is_empty()) {
            Some(word) => outcome_type = Some(word.to_str().into_owned()),
            None => trail.note_member(&key),
        }
    }
    outcome_type.unwrap_or_default()
}

macro_rules! encode_objects {
    ($(
        $($object:ident)::+ = $($wire:ident)::+ $($tag:literal)? { $( $field:ident: $($list:ident)? $key:literal, )* }
    )*) => {
        $(
            impl ToWire<generated::$($wire)::+> for $($object)::+<'_> {
                fn to_wire(&self, trail: &mut Trail) -> Result<generated::$($wire)::+, Halt> {
                    note_extra(trail, self.extra());
                    Ok(generated::$($wire)::+ { $( $field: member(trail, $key, &self.$field)?, )* })
                }
            }
        )*
    };
}
objects!(encode_objects);

/// A message, from the fields that all roles have and those that this one has.
macro_rules! message {
    ($trail:ident, $message:ident, $role:literal, $( $field:ident: $key:literal ),*) => {{
        note_extra($trail, $message.extra());
        generated::Message {
            id: member($trail, "id", &$message.id)?,
            role: $role.to_owned(),
            $( $field: member($trail, $key, &$message.$field)?, )*
            metadata: member($trail, "metadata", &$message.metadata)?,
            subagent_run_id: member($trail, "subagentRunId", &$message.subagent_run_id)?,
            ..Default::default()
        }
    }};
}

impl ToWire<generated::Message> for Message<'_> {
    fn to_wire(&self, trail: &mut Trail) -> Result<generated::Message, Halt> {
        Ok(match self {
            Self::Developer(message) => message!(
                trail, message, "developer",
                content: "content", name: "name", encrypted_value: "encryptedValue"
            ),
            Self::System(message) => message!(
                trail, message, "system",
                content: "content", name: "name", encrypted_value: "encryptedValue"
            ),
            Self::Assistant(message) => message!(
                trail, message, "assistant",
                content: "content", tool_calls: "toolCalls", name: "name", encrypted_value: "encryptedValue"
            ),
            Self::User(message) => {
                let (content, content_parts) = content(trail, &message.content)?;
                let wire = message!(trail, message, "user", name: "name", encrypted_value: "encryptedValue");
                generated::Message { content, content_parts, ..wire }
            }
            Self::Tool(message) => {
                let (content, content_parts) = content(trail, &message.content)?;
                let wire = message!(
                    trail, message, "tool",
                    tool_call_id: "toolCallId", error: "error", encrypted_value: "encryptedValue"
                );
                generated::Message { content, content_parts, ..wire }
            }
            Self::Activity(message) => {
                let activity_content = member(trail, "content", &message.content)?;
                let wire = message!(trail, message, "activity", activity_type: "activityType");
                generated::Message { activity_content, ..wire }
            }
            Self::Reasoning(message) => {
                message!(trail, message, "reasoning", content: "content", encrypted_value: "encryptedValue")
            }
            Self::Unknown(_) => return Err(Halt::Unknown),
        })
    }
}

impl ToWire<generated::ToolCall> for ToolCall<'_> {
    fn to_wire(&self, trail: &mut Trail) -> Result<generated::ToolCall, Halt> {
        note_extra(trail, self.extra());
        Ok(generated::ToolCall {
            id: member(trail, "id", &self.id)?,
            r#type: member(trail, "type", &self.kind)?,
            function: Some(member(trail, "function", &self.function)?),
            metadata: member(trail, "metadata", &self.metadata)?,
            encrypted_value: member(trail, "encryptedValue", &self.encrypted_value)?,
        })
    }
}

impl ToWire<generated::InputContent> for ContentPart<'_> {
    fn to_wire(&self, trail: &mut Trail) -> Result<generated::InputContent, Halt> {
        let part = match self {
            Self::Text(part) => Part::Text(part.to_wire(trail)?),
            Self::Image(part) => Part::Image(part.to_wire(trail)?),
            Self::Audio(part) => Part::Audio(part.to_wire(trail)?),
            Self::Video(part) => Part::Video(part.to_wire(trail)?),
            Self::Document(part) => Part::Document(part.to_wire(trail)?),
            Self::Unknown(_) => return Err(Halt::Unknown),
        };
        Ok(generated::InputContent { part: Some(part) })
    }
}

impl ToWire<Option<generated::InputContentSource>> for Source<'_> {
    fn to_wire(&self, trail: &mut Trail) -> Result<Option<generated::InputContentSource>, Halt> {
        let source = match self {
            Self::Data(source) => SourceArm::Data(source.to_wire(trail)?),
            Self::Url(source) => SourceArm::Url(source.to_wire(trail)?),
            Self::File(source) => SourceArm::File(source.to_wire(trail)?),
            Self::Unknown(_) => return Err(Halt::Unknown),
        };
        Ok(Some(generated::InputContentSource { source: Some(source) }))
    }
}

impl ToWire<generated::JsonPatchOperation> for Operation<'_> {
    fn to_wire(&self, trail: &mut Trail) -> Result<generated::JsonPatchOperation, Halt> {
        let (op, path, from, value, extra) = match self {
            Self::Add(add) => (Op::Add, &add.path, None, Some(&add.value), add.extra()),
            Self::Remove(remove) => (Op::Remove, &remove.path, None, None, remove.extra()),
            Self::Replace(replace) => {
                (Op::Replace, &replace.path, None, Some(&replace.value), replace.extra())
            }
            Self::Move(r#move) => (Op::Move, &r#move.path, Some(&r#move.from), None, r#move.extra()),
            Self::Copy(copy) => (Op::Copy, &copy.path, Some(&copy.from), None, copy.extra()),
            Self::Test(test) => (Op::Test, &test.path, None, Some(&test.value), test.extra()),
            Self::Unknown(_) => return Err(Halt::Unknown),
        };
        let mut wire = generated::JsonPatchOperation {
            op: op.into(),
            path: member(trail, "path", path.as_text())?,
            from: from.map(|from| member(trail, "from", from.as_text())).transpose()?,
            value: value.map(|value| member(trail, "value", value)).transpose()?,
        };
        // Operations are open, and the binary form has these two for all of them.
        for (key, json) in extra {
            match (key.as_str(), json.as_text()) {
                (Some("value"), _) => wire.value = Some(member(trail, "value", json)?),
                (Some("from"), Some(from)) => wire.from = member(trail, "from", &from)?,
                _ => trail.note_member(key),
            }
        }
        Ok(wire)
    }
}

impl<W, T: ToWire<W>> ToWire<Option<W>> for Option<T> {
    fn to_wire(&self, trail: &mut Trail) -> Result<Option<W>, Halt> {
        self.as_ref().map(|value| value.to_wire(trail)).transpose()
    }
}

impl<W, T: ToWire<Vec<W>>> ToWire<Vec<W>> for Option<T> {
    fn to_wire(&self, trail: &mut Trail) -> Result<Vec<W>, Halt> {
        self.as_ref().map_or_else(|| Ok(Vec::new()), |list| list.to_wire(trail))
    }
}

impl<W, T: ToWire<W>> ToWire<W> for Box<T> {
    fn to_wire(&self, trail: &mut Trail) -> Result<W, Halt> {
        T::to_wire(self, trail)
    }
}

impl<M: prost::Message + Default, T: ToWire<M>> ToWire<Vec<WireMessage<M>>> for Vec<T> {
    fn to_wire(&self, trail: &mut Trail) -> Result<Vec<WireMessage<M>>, Halt> {
        self.as_slice().to_wire(trail)
    }
}

impl<M: prost::Message + Default, T: ToWire<M>> ToWire<Vec<WireMessage<M>>> for [T] {
    fn to_wire(&self, trail: &mut Trail) -> Result<Vec<WireMessage<M>>, Halt> {
        let mut list = Vec::with_capacity(self.len());
        for (index, element) in self.iter().enumerate() {
            trail.below(Step::Element(index), |trail| {
                let mark = trail.mark();
                match element.to_wire(trail) {
                    Ok(element) => list.push(WireMessage::closed(&element)),
                    Err(Halt::Unknown) => trail.note_whole(mark),
                    Err(failed @ Halt::Failed(_)) => return Err(failed),
                }
                Ok(())
            })?;
        }
        Ok(list)
    }
}

impl ToWire<Vec<String>> for Vec<Text<'_>> {
    fn to_wire(&self, trail: &mut Trail) -> Result<Vec<String>, Halt> {
        let texts = self.iter().enumerate();
        texts.map(|(index, text)| trail.below(Step::Element(index), |trail| text.to_wire(trail))).collect()
    }
}

impl ToWire<String> for Text<'_> {
    fn to_wire(&self, trail: &mut Trail) -> Result<String, Halt> {
        if !self.is_well_formed() {
            trail.note();
        }
        Ok(self.to_str().into_owned())
    }
}

impl ToWire<Option<String>> for Text<'_> {
    fn to_wire(&self, trail: &mut Trail) -> Result<Option<String>, Halt> {
        self.to_wire(trail).map(Some)
    }
}

macro_rules! encode_words {
    ($( $name:ident, )*) => {
        $(
            impl ToWire<String> for $name<'_> {
                fn to_wire(&self, trail: &mut Trail) -> Result<String, Halt> {
                    self.as_text().to_wire(trail)
                }
            }
        )*
    };
}
encode_words! { TextRole, ToolRole, ReasoningRole, EncryptedSubtype, ResumeStatus, ToolCallKind, }

impl ToWire<i64> for Count {
    fn to_wire(&self, _: &mut Trail) -> Result<i64, Halt> {
        Ok(self.get().cast_signed())
    }
}

impl ToWire<Self> for bool {
    fn to_wire(&self, _: &mut Trail) -> Result<Self, Halt> {
        Ok(*self)
    }
}

fn opaque<W>(trail: &mut Trail, made: Result<(W, bool), from_json::Error>) -> Result<W, Halt> {
    let (message, whole) = made.map_err(|error| {
        let pointer = trail.pointer();
        Halt::Failed(match error {
            from_json::Error::TooDeep => EncodeError::TooDeep { pointer },
            from_json::Error::NumberRange => EncodeError::NumberRange { pointer },
        })
    })?;
    if !whole {
        trail.note();
    }
    Ok(message)
}

impl ToWire<Value> for Json<'_> {
    fn to_wire(&self, trail: &mut Trail) -> Result<Value, Halt> {
        opaque(trail, Value::from_json(self))
    }
}

impl ToWire<Option<Value>> for Json<'_> {
    fn to_wire(&self, trail: &mut Trail) -> Result<Option<Value>, Halt> {
        self.to_wire(trail).map(Some)
    }
}

impl ToWire<Value> for JsonNonNull<'_> {
    fn to_wire(&self, trail: &mut Trail) -> Result<Value, Halt> {
        self.as_json().to_wire(trail)
    }
}

impl ToWire<Value> for JsonObject<'_> {
    fn to_wire(&self, trail: &mut Trail) -> Result<Value, Halt> {
        self.as_json().to_wire(trail)
    }
}

impl ToWire<Option<Struct>> for JsonObject<'_> {
    fn to_wire(&self, trail: &mut Trail) -> Result<Option<Struct>, Halt> {
        opaque(trail, Struct::from_json(self)).map(Some)
    }
}

impl ToWire<Struct> for Metadata<'_> {
    fn to_wire(&self, trail: &mut Trail) -> Result<Struct, Halt> {
        opaque(trail, Struct::from_json(self.as_object()))
    }
}

impl ToWire<Value> for Metadata<'_> {
    fn to_wire(&self, trail: &mut Trail) -> Result<Value, Halt> {
        self.as_object().to_wire(trail)
    }
}
