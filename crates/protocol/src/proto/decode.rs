//! From the binary form to events.

#![warn(clippy::indexing_slicing)]

use super::generated::event::Event as Arm;
use super::generated::input_content::Part;
use super::generated::input_content_source::Source;
use super::generated::{self, BaseEvent, EventType, JsonPatchOperationType as Op};
use super::scan::{self, Envelope};
use super::table::{events, objects};
use super::writer::{ToJson, Writer};
use crate::event::Received;
use crate::limits::{PROTO_DEPTH_MAX as DEPTH_MAX, PROTO_EXPANSION_MAX as EXPANSION_MAX};
use crate::schema::ReadError;
use prost::Message as _;
use thiserror::Error;

/// What the bytes of one `ag_ui.Event` were.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "almost every one is the large one")]
pub enum Decoded {
    /// An event.
    Event {
        /// The event, with the JSON that says the same.
        event: Received<'static>,
        /// The content parts that were left out because 1.0 does not have their type or that of their source, as
        /// JSON pointers with the indices of the bytes; at most 1,000.
        dropped: Vec<String>,
    },
    /// An event of a type that 1.0 does not have. The bytes do not say which.
    UnknownArm,
}

/// Why bytes are no event.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes are no protobuf, or a field has another wire type than in the schema.
    #[error(transparent)]
    Wire(WireError),
    /// There is no event in the envelope.
    #[error("envelope without an event")]
    Empty,
    /// There are two events in the envelope, two types of a part or two kinds of a source.
    #[error("more than one arm where only one may be")]
    SeveralArms,
    /// The event does not say what it must say twice.
    #[error("base event missing. arm={arm}")]
    NoBase {
        /// The type that the envelope names.
        arm: &'static str,
    },
    /// The event says two different types.
    #[error("event types disagree. arm={arm}, base={base}")]
    TypesDisagree {
        /// The type that the envelope names.
        arm: &'static str,
        /// The number of the type that the base event names.
        base: i32,
    },
    /// Content is given in two forms, or in one that the role does not have.
    #[error("content in the wrong form. path={pointer}")]
    Content {
        /// What has the content, as a JSON pointer into the event.
        pointer: String,
    },
    /// An opaque value is nested deeper than [`DEPTH_MAX`].
    #[error("value nested too deep. limit={DEPTH_MAX}, path={pointer}")]
    TooDeep {
        /// The value, as a JSON pointer into the event.
        pointer: String,
    },
    /// An opaque value holds NaN or an infinity, for which JSON has no number.
    #[error("number is not finite. path={pointer}")]
    NotFinite {
        /// The value, as a JSON pointer into the event.
        pointer: String,
    },
    /// An opaque value holds a string that is no UTF-8.
    #[error("string is not utf-8. path={pointer}")]
    Utf8 {
        /// The value, as a JSON pointer into the event.
        pointer: String,
    },
    /// The bytes hold lists of next to nothing, whose JSON is many times as long.
    #[error("event too long as json. limit={limit}")]
    TooLong {
        /// How long it may be, in bytes.
        limit: usize,
    },
    /// A field holds what the protocol does not allow there.
    #[error(transparent)]
    Field(#[from] ReadError),
}

/// What is wrong with bytes that should be protobuf.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(transparent)]
pub struct WireError(prost::DecodeError);

impl DecodeError {
    #[cold]
    pub(super) const fn wire(error: prost::DecodeError) -> Self {
        Self::Wire(WireError(error))
    }
}

/// Decodes one `ag_ui.Event`, without the length that stands before it in a stream.
///
/// The bytes become JSON, and that is read like any other, so that what holds for fields of events holds for both
/// forms. How long the bytes may be is for the framing to say.
///
/// # Errors
/// If the bytes are no event. A field that is malformed is an error too, as it is in JSON.
pub fn decode(bytes: &[u8]) -> Result<Decoded, DecodeError> {
    if scan::envelope(bytes)? == Envelope::Unknown {
        return Ok(Decoded::UnknownArm);
    }
    let envelope = generated::Event::decode(bytes).map_err(DecodeError::wire)?;
    // JSON is seldom longer than this, so that one allocation is enough.
    let json = String::with_capacity(2 * bytes.len() + 64);
    let json_bytes_max = bytes.len().saturating_mul(EXPANSION_MAX).saturating_add(1024);
    let mut out = Writer { json, json_bytes_max, ..Writer::default() };
    write_event(&envelope.event.ok_or(DecodeError::Empty)?, &mut out)?;
    let event = Received::read_owned(out.json)?;
    Ok(Decoded::Event { event, dropped: out.trail.into_notes() })
}

/// A member, or a list that is one even if it is empty.
macro_rules! member {
    ($out:ident, $key:literal, $value:expr,) => {
        $out.member($key, $value)?
    };
    ($out:ident, $key:literal, $value:expr, list) => {
        $out.always($key, $value)?
    };
}

macro_rules! decode_events {
    ($( $name:ident = $wire:ident { $( $field:ident: $($list:ident)? $key:literal, )* } )*) => {
        fn write_event(arm: &Arm, out: &mut Writer) -> Result<(), DecodeError> {
            match arm {
                $( Arm::$name(event) => write_with_base(out, EventType::$name, event.base_event.as_ref(), |out| {
                    $( member!(out, $key, &event.$field, $($list)?); )*
                    Ok(())
                }), )*
                Arm::ToolCallResult(event) => {
                    write_with_base(out, EventType::ToolCallResult, event.base_event.as_ref(), |out| {
                        write_tool_call_result(event, out)
                    })
                }
                Arm::RunFinished(event) => {
                    write_with_base(out, EventType::RunFinished, event.base_event.as_ref(), |out| {
                        write_run_finished(event, out)
                    })
                }
                Arm::SubagentFinished(event) => {
                    write_with_base(out, EventType::SubagentFinished, event.base_event.as_ref(), |out| {
                        write_subagent_finished(event, out)
                    })
                }
            }
        }
    };
}
events!(decode_events);

/// Writes the event that the arm says it is, if the base event says the same.
fn write_with_base(
    out: &mut Writer,
    arm: EventType,
    base: Option<&BaseEvent>,
    members: impl FnOnce(&mut Writer) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let name = arm.as_str_name();
    let base = base.ok_or(DecodeError::NoBase { arm: name })?;
    if base.r#type != i32::from(arm) {
        return Err(DecodeError::TypesDisagree { arm: name, base: base.r#type });
    }
    out.object(|out| {
        out.string("type", name);
        members(out)?;
        out.member("timestamp", &base.timestamp)?;
        out.member("rawEvent", &base.raw_event)?;
        out.member("metadata", &base.metadata)
    })
}

fn write_tool_call_result(
    event: &generated::ToolCallResultEvent,
    out: &mut Writer,
) -> Result<(), DecodeError> {
    out.member("messageId", &event.message_id)?;
    out.member("toolCallId", &event.tool_call_id)?;
    match &event.content {
        Some(_) if !event.content_parts.is_empty() => {
            return Err(DecodeError::Content { pointer: out.trail.pointer() });
        }
        Some(content) => out.member("content", content)?,
        None => out.always("content", &event.content_parts)?,
    }
    out.member("role", &event.role)?;
    out.member("subagentRunId", &event.subagent_run_id)
}

fn write_run_finished(event: &generated::RunFinishedEvent, out: &mut Writer) -> Result<(), DecodeError> {
    out.member("threadId", &event.thread_id)?;
    out.member("runId", &event.run_id)?;
    out.member("result", &event.result)?;
    write_outcome(&event.outcome, out, |out| {
        out.member("pendingToolCallIds", &event.pending_tool_call_ids)?;
        out.member("interrupts", &event.interrupts)
    })?;
    out.member("usage", &event.usage)
}

fn write_subagent_finished(
    event: &generated::SubagentFinishedEvent,
    out: &mut Writer,
) -> Result<(), DecodeError> {
    out.member("subagentRunId", &event.subagent_run_id)?;
    out.member("result", &event.result)?;
    write_outcome(&event.outcome, out, |out| out.member("interruptIds", &event.interrupt_ids))
}

/// Writes an outcome of whatever type, with whatever lists came with it: what does not belong there is for the reader
/// to say. Lists that came without an outcome stand in the event itself.
fn write_outcome(
    outcome_type: &str,
    out: &mut Writer,
    lists: impl Fn(&mut Writer) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    if outcome_type.is_empty() {
        return lists(out);
    }
    out.always("outcome", &Outcome { outcome_type, lists })
}

struct Outcome<'a, L> {
    outcome_type: &'a str,
    lists: L,
}

impl<L: Fn(&mut Writer) -> Result<(), DecodeError>> ToJson for Outcome<'_, L> {
    fn write(&self, out: &mut Writer) -> Result<(), DecodeError> {
        out.object(|out| {
            out.string("type", self.outcome_type);
            (self.lists)(out)
        })
    }
}

macro_rules! decode_objects {
    ($(
        $($object:ident)::+ = $($wire:ident)::+ $($tag:literal)? { $( $field:ident: $($list:ident)? $key:literal, )* }
    )*) => {
        $(
            impl ToJson for generated::$($wire)::+ {
                fn write(&self, out: &mut Writer) -> Result<(), DecodeError> {
                    out.object(|out| {
                        $( out.string("type", $tag); )?
                        $( member!(out, $key, &self.$field, $($list)?); )*
                        Ok(())
                    })
                }
            }
        )*
    };
}
objects!(decode_objects);

/// Whatever fields came are written, whatever the role: what does not belong there is for the reader to say.
impl ToJson for generated::Message {
    fn write(&self, out: &mut Writer) -> Result<(), DecodeError> {
        out.object(|out| {
            out.member("role", &self.role)?;
            out.member("id", &self.id)?;
            out.member("toolCallId", &self.tool_call_id)?;
            out.member("activityType", &self.activity_type)?;
            write_content(self, out)?;
            out.member("toolCalls", &self.tool_calls)?;
            out.member("name", &self.name)?;
            out.member("error", &self.error)?;
            out.member("encryptedValue", &self.encrypted_value)?;
            out.member("metadata", &self.metadata)?;
            out.member("subagentRunId", &self.subagent_run_id)
        })
    }
}

/// Three fields share the member `content`, and the role says which. Of a role that is not known it is the one that
/// is there.
fn write_content(message: &generated::Message, out: &mut Writer) -> Result<(), DecodeError> {
    let text = message.content.is_some();
    let parts = !message.content_parts.is_empty();
    let object = message.activity_content.is_some();
    let (legal, parts_if_none) = match message.role.as_str() {
        "developer" | "system" | "assistant" | "reasoning" => (!parts && !object, false),
        "user" | "tool" => (!(object || text && parts), true),
        "activity" => (!text && !parts, false),
        _ => ([text, parts, object].iter().filter(|there| **there).count() <= 1, false),
    };
    if !legal {
        return Err(DecodeError::Content { pointer: out.trail.pointer() });
    }
    if parts || (parts_if_none && !text) {
        out.always("content", &message.content_parts)
    } else if object {
        out.member("content", &message.activity_content)
    } else {
        out.member("content", &message.content)
    }
}

impl ToJson for generated::ToolCall {
    fn write(&self, out: &mut Writer) -> Result<(), DecodeError> {
        out.object(|out| {
            out.member("id", &self.id)?;
            out.member("type", &self.r#type)?;
            out.member("function", &self.function)?;
            out.member("encryptedValue", &self.encrypted_value)?;
            out.member("metadata", &self.metadata)
        })
    }
}

impl ToJson for generated::InputContent {
    /// A part whose source is of an unknown kind is as unknown as its source.
    fn is_absent(&self) -> bool {
        let source = match &self.part {
            None => return true,
            Some(Part::Text(_)) => return false,
            Some(Part::Image(part)) => &part.source,
            Some(Part::Audio(part)) => &part.source,
            Some(Part::Video(part)) => &part.source,
            Some(Part::Document(part)) => &part.source,
        };
        source.as_ref().is_some_and(ToJson::is_absent)
    }

    fn write(&self, out: &mut Writer) -> Result<(), DecodeError> {
        match &self.part {
            Some(Part::Text(part)) => part.write(out),
            Some(Part::Image(part)) => part.write(out),
            Some(Part::Audio(part)) => part.write(out),
            Some(Part::Video(part)) => part.write(out),
            Some(Part::Document(part)) => part.write(out),
            None => Ok(()),
        }
    }
}

impl ToJson for generated::InputContentSource {
    fn is_absent(&self) -> bool {
        self.source.is_none()
    }

    fn write(&self, out: &mut Writer) -> Result<(), DecodeError> {
        match &self.source {
            Some(Source::Data(source)) => source.write(out),
            Some(Source::Url(source)) => source.write(out),
            Some(Source::File(source)) => source.write(out),
            None => Ok(()),
        }
    }
}

impl ToJson for generated::JsonPatchOperation {
    fn write(&self, out: &mut Writer) -> Result<(), DecodeError> {
        out.object(|out| {
            match Op::try_from(self.op) {
                Ok(op) => out.string("op", &op.as_str_name().to_ascii_lowercase()),
                // An operation of a later protocol. The number is all there is of its name.
                Err(_) => out.string("op", &self.op.to_string()),
            }
            out.member("from", &self.from)?;
            out.member("path", &self.path)?;
            out.member("value", &self.value)
        })
    }
}
