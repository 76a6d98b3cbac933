//! The events: 31 types, and an arm for those that are not known.

mod activity;
mod passthrough;
mod reasoning;
mod received;
mod run;
mod state;
mod subagent;
mod text;
mod tool;

pub use activity::{ActivityDelta, ActivitySnapshot};
pub use passthrough::{Custom, Raw};
pub use reasoning::{
    EncryptedSubtype, ReasoningEncryptedValue, ReasoningEnd, ReasoningMessageChunk, ReasoningMessageContent,
    ReasoningMessageEnd, ReasoningMessageStart, ReasoningRole, ReasoningStart,
};
pub use received::{Envelope, Received};
pub use run::{RunError, RunFinished, RunStarted, StepFinished, StepStarted};
pub use state::{MessagesSnapshot, StateDelta, StateSnapshot};
pub use subagent::{SubagentError, SubagentFinished, SubagentStarted};
pub use text::{TextMessageChunk, TextMessageContent, TextMessageEnd, TextMessageStart, TextRole};
pub use tool::{ToolCallArgs, ToolCallChunk, ToolCallEnd, ToolCallResult, ToolCallStart, ToolRole};

use crate::json::{Json, JsonNonNull, Reader, SafeInt, Text};
use crate::metadata::Metadata;
use crate::schema::{Context, Field, Flow, ReadError, Removals, UnknownWords};
use std::fmt;

/// Declares an event: its own fields, and those that every event may carry. `attributed` events may belong to a
/// subagent.
macro_rules! event {
    ($(#[$meta:meta])* pub struct $name:ident = $type:literal, attributed { $($fields:tt)* }) => {
        $crate::event::event! {
            $(#[$meta])* pub struct $name = $type {
                $($fields)*
                /// The subagent it belongs to; absent means the agent itself.
                optional subagent_run_id with_subagent_run_id: $crate::json::Text<'a> = "subagentRunId";
            }
            tag(event) { Some(&event.subagent_run_id) } { Some(&mut event.subagent_run_id) }
        }
    };
    ($(#[$meta:meta])* pub struct $name:ident = $type:literal { $($fields:tt)* }) => {
        $crate::event::event! {
            $(#[$meta])* pub struct $name = $type { $($fields)* }
            tag(_event) { None } { None }
        }
    };
    (
        $(#[$meta:meta])* pub struct $name:ident = $type:literal { $($fields:tt)* }
        tag($event:ident) $tag:block $tag_mut:block
    ) => {
        impl<'a> $name<'a> {
            /// Where it says whose it is, if it can.
            pub(super) const fn tag(&self) -> Option<&Option<$crate::json::Text<'a>>> {
                let $event = self;
                $tag
            }

            pub(super) const fn tag_mut(&mut self) -> Option<&mut Option<$crate::json::Text<'a>>> {
                let $event = self;
                $tag_mut
            }
        }

        $crate::schema::object! {
            $(#[$meta])* pub struct $name, tag "type" = $type {
                $($fields)*
                /// When, by the producer's clock; milliseconds since 1970 by convention. Orders nothing.
                optional timestamp with_timestamp: $crate::json::SafeInt = "timestamp";
                /// What the provider sent; never drives behaviour.
                optional raw_event with_raw_event: $crate::json::JsonNonNull<'a> = "rawEvent";
                /// Anything about the event.
                optional metadata with_metadata: $crate::metadata::Metadata<'a> = "metadata";
            }
        }
    };
}
use event;

macro_rules! events {
    ($( $name:ident = $type:literal, )*) => {
        /// The types of events in AG-UI 1.0.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum EventType {
            $( #[doc = concat!("`", $type, "`")] $name, )*
        }

        impl EventType {
            /// All of them.
            pub const ALL: &'static [Self] = &[$( Self::$name, )*];

            /// The type as it is written.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $( Self::$name => $type, )*
                }
            }

            /// The type that is written so.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $( $type => Some(Self::$name), )*
                    _ => None,
                }
            }
        }

        /// An event.
        ///
        /// It cannot be made so that AG-UI 1.0 refuses it: what is required is asked for, and values that the
        /// protocol does not allow have no representation, except for those that were read and are kept.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Event<'a> {
            $( #[doc = concat!("`", $type, "`")] $name($name<'a>), )*
            /// An event whose type 1.0 does not have.
            Unknown(UnknownEvent<'a>),
        }

        $(
            impl<'a> From<$name<'a>> for Event<'a> {
                fn from(event: $name<'a>) -> Self {
                    Self::$name(event)
                }
            }
        )*

        impl<'a> Event<'a> {
            /// The type, if 1.0 has it.
            #[must_use]
            pub const fn event_type(&self) -> Option<EventType> {
                match self {
                    $( Self::$name(_) => Some(EventType::$name), )*
                    Self::Unknown(_) => None,
                }
            }

            /// When it happened, by the producer's clock.
            #[must_use]
            pub const fn timestamp(&self) -> Option<SafeInt> {
                match self {
                    $( Self::$name(event) => event.timestamp, )*
                    Self::Unknown(_) => None,
                }
            }

            /// What the provider sent.
            #[must_use]
            pub const fn raw_event(&self) -> Option<&JsonNonNull<'a>> {
                match self {
                    $( Self::$name(event) => event.raw_event.as_ref(), )*
                    Self::Unknown(_) => None,
                }
            }

            /// Anything about the event.
            #[must_use]
            pub const fn metadata(&self) -> Option<&Metadata<'a>> {
                match self {
                    $( Self::$name(event) => event.metadata.as_ref(), )*
                    Self::Unknown(_) => None,
                }
            }

            /// The subagent it belongs to. None for the agent itself, and for events that belong to nobody; the events
            /// of a subagent's life name it, and do not belong to it.
            #[must_use]
            pub const fn subagent_run_id(&self) -> Option<&Text<'a>> {
                let tag = match self {
                    $( Self::$name(event) => event.tag(), )*
                    Self::Unknown(_) => None,
                };
                match tag {
                    Some(tag) => tag.as_ref(),
                    None => None,
                }
            }

            /// Where it says whose it is, if it can.
            pub(crate) const fn tag_mut(&mut self) -> Option<&mut Option<Text<'a>>> {
                match self {
                    $( Self::$name(event) => event.tag_mut(), )*
                    Self::Unknown(_) => None,
                }
            }

            /// The same, borrowing nothing.
            #[must_use]
            pub fn into_owned(self) -> Event<'static> {
                match self {
                    $( Self::$name(event) => Event::$name(event.into_owned()), )*
                    Self::Unknown(event) => Event::Unknown(event.into_owned()),
                }
            }

            fn read_typed(
                event_type: EventType,
                reader: &mut Reader<'a>,
                context: &mut Context,
                settled: bool,
            ) -> Result<Self, ReadError> {
                match event_type {
                    $( EventType::$name => $name::read_as(reader, context, settled).map(Self::$name), )*
                }
            }

            pub(crate) fn write(&self, out: &mut String) {
                match self {
                    $( Self::$name(event) => event.write(out), )*
                    Self::Unknown(event) => out.push_str(event.json.as_str()),
                }
            }

            fn strip(&mut self, removals: &mut Removals) -> Flow {
                match self {
                    $( Self::$name(event) => event.strip(removals), )*
                    Self::Unknown(_) => Flow::Drop,
                }
            }
        }
    };
}

events! {
    TextMessageStart = "TEXT_MESSAGE_START",
    TextMessageContent = "TEXT_MESSAGE_CONTENT",
    TextMessageEnd = "TEXT_MESSAGE_END",
    TextMessageChunk = "TEXT_MESSAGE_CHUNK",
    ToolCallStart = "TOOL_CALL_START",
    ToolCallArgs = "TOOL_CALL_ARGS",
    ToolCallEnd = "TOOL_CALL_END",
    ToolCallChunk = "TOOL_CALL_CHUNK",
    ToolCallResult = "TOOL_CALL_RESULT",
    StateSnapshot = "STATE_SNAPSHOT",
    StateDelta = "STATE_DELTA",
    MessagesSnapshot = "MESSAGES_SNAPSHOT",
    ActivitySnapshot = "ACTIVITY_SNAPSHOT",
    ActivityDelta = "ACTIVITY_DELTA",
    Raw = "RAW",
    Custom = "CUSTOM",
    RunStarted = "RUN_STARTED",
    RunFinished = "RUN_FINISHED",
    RunError = "RUN_ERROR",
    StepStarted = "STEP_STARTED",
    StepFinished = "STEP_FINISHED",
    ReasoningStart = "REASONING_START",
    ReasoningMessageStart = "REASONING_MESSAGE_START",
    ReasoningMessageContent = "REASONING_MESSAGE_CONTENT",
    ReasoningMessageEnd = "REASONING_MESSAGE_END",
    ReasoningMessageChunk = "REASONING_MESSAGE_CHUNK",
    ReasoningEnd = "REASONING_END",
    ReasoningEncryptedValue = "REASONING_ENCRYPTED_VALUE",
    SubagentStarted = "SUBAGENT_STARTED",
    SubagentFinished = "SUBAGENT_FINISHED",
    SubagentError = "SUBAGENT_ERROR",
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Event<'_> {
    /// The type as it is written, known or not.
    #[must_use]
    pub fn type_name(&self) -> Text<'_> {
        match self {
            Self::Unknown(event) => event.event_type.clone(),
            known => Text::borrowed(known.event_type().map_or("", EventType::as_str)),
        }
    }

    /// Writes the event as one line of JSON, without optional nulls.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = String::with_capacity(256);
        self.write(&mut out);
        out
    }

    /// Appends what [`to_json`](Self::to_json) gives to a text.
    pub fn write_json(&self, out: &mut String) {
        self.write(out);
    }

    /// Removes what 1.0 does not describe, and says what that was. `None` if nothing of the event is left.
    pub(crate) fn stripped(mut self, words: UnknownWords) -> Option<(Self, Vec<String>)> {
        let mut removals = Removals::new(words);
        match self.strip(&mut removals) {
            Flow::Keep => Some((self, removals.into_pointers())),
            Flow::Drop => None,
        }
    }
}

/// An event whose type 1.0 does not have. It can be read, kept and written, never made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownEvent<'a> {
    event_type: Text<'a>,
    json: Json<'a>,
}

impl<'a> UnknownEvent<'a> {
    fn read(event_type: Text<'a>, reader: &mut Reader<'a>, context: &mut Context) -> Result<Self, ReadError> {
        Json::read(reader, context).map(|json| Self { event_type, json })
    }

    /// The type as it is written.
    #[must_use]
    pub const fn event_type(&self) -> &Text<'a> {
        &self.event_type
    }

    /// The whole event as it was written.
    #[must_use]
    pub const fn as_json(&self) -> &Json<'a> {
        &self.json
    }

    fn into_owned(self) -> UnknownEvent<'static> {
        UnknownEvent { event_type: self.event_type.into_owned(), json: self.json.into_owned() }
    }
}
