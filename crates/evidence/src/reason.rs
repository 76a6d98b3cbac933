//! Why something is refused: one named reason for everything that can be wrong.

use crate::bounds::REFUSALS_MAX;
use serde::Serialize;
use std::fmt;

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// Why something is refused. The words are stable.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Reason {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Reason {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The stable word for it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }
    };
}

reasons! {
    /// The bytes are no UTF-8.
    NotUtf8 = "not_utf8",
    /// A byte order mark stands before the JSON.
    Bom = "bom",
    /// The text is no JSON.
    NotJson = "not_json",
    /// Something follows the JSON.
    TrailingBytes = "trailing_bytes",
    /// An object has a key twice.
    DuplicateKey = "duplicate_key",
    /// A string holds half of a surrogate pair.
    LoneSurrogate = "lone_surrogate",
    /// The JSON nests deeper than it may.
    TooDeep = "too_deep",
    /// There are more bytes than there may be.
    TooLarge = "too_large",
    /// A required field is absent.
    MissingField = "missing_field",
    /// A field that the contract does not have.
    UnknownField = "unknown_field",
    /// A field of another type than the contract says, `null` included.
    WrongType = "wrong_type",
    /// A field with another value than the one it must have.
    WrongValue = "wrong_value",
    /// A text with nothing in it.
    Blank = "blank",
    /// A text that is longer than it may be.
    TooLong = "too_long",
    /// Whitespace at the start or the end of a text.
    Padded = "padded",
    /// A character that cannot be seen, or a line break where there is one line.
    ControlCharacter = "control_character",
    /// A reference with a character that portable opaque ids do not need.
    UnsafeRef = "unsafe_ref",
    /// A reference or a name that looks like an address.
    ResolvingRef = "resolving_ref",
    /// Bytes of something else, written as a text.
    DataUri = "data_uri",
    /// No messages at all.
    NoMessages = "no_messages",
    /// More messages than there may be.
    TooManyMessages = "too_many_messages",
    /// Two messages with one id.
    DuplicateMessageId = "duplicate_message_id",
    /// A role that the contract does not have.
    UnknownRole = "unknown_role",
    /// No RFC 3339 time with a zone, with at most six digits of a second.
    BadTime = "bad_time",
    /// It ends before it starts.
    FinishedBeforeStarted = "finished_before_started",
    /// An error in a run that did not fail.
    ErrorWithoutFailure = "error_without_failure",
    /// A stack trace in an error message.
    StackTrace = "stack_trace",
    /// An address in an error message.
    LinkInError = "link_in_error",

    /// An event that cannot be read.
    MalformedEvent = "malformed_event",
    /// No RUN_STARTED.
    NoRunStarted = "no_run_started",
    /// More than one RUN_STARTED.
    SeveralRunStarted = "several_run_started",
    /// No MESSAGES_SNAPSHOT.
    NoSnapshot = "no_snapshot",
    /// More than one MESSAGES_SNAPSHOT.
    SeveralSnapshots = "several_snapshots",
    /// Neither RUN_FINISHED nor RUN_ERROR.
    NoTerminal = "no_terminal",
    /// More than one RUN_FINISHED or RUN_ERROR.
    DoubleTerminal = "double_terminal",
    /// An event before RUN_STARTED or after the terminal event.
    OutsideRun = "outside_run",
    /// RUN_STARTED, the terminal event and the log name different threads or runs.
    IdsDisagree = "ids_disagree",
    /// The run waits for answers.
    InterruptOutcome = "interrupt_outcome",
    /// The run was stopped on purpose.
    CancelledOutcome = "cancelled_outcome",
    /// An outcome that is not known.
    UnknownOutcome = "unknown_outcome",
    /// A message that calls a tool, or answers a call.
    ToolShaped = "tool_shaped",
    /// A message with the role `reasoning`.
    ReasoningRole = "reasoning_role",
    /// A message with the role `activity`.
    ActivityRole = "activity_role",
    /// A message whose content is no text.
    ContentNotText = "content_not_text",
    /// A message without content.
    NoContent = "no_content",
    /// A message with an encrypted value.
    EncryptedValue = "encrypted_value",
    /// A message with metadata.
    MessageMetadata = "message_metadata",
    /// A message of a subagent.
    SubagentMessage = "subagent_message",
    /// A message with a member that is not in the contract.
    UnknownMember = "unknown_member",
    /// A snapshot that Threadline made itself: no integration has emitted it.
    SynthesisedSnapshot = "synthesised_snapshot",
    /// The bytes that the source sent were not kept.
    RawNotKept = "raw_not_kept",
    /// The run goes on.
    RunNotEnded = "run_not_ended",
    /// Nobody has said when the run was.
    NoClock = "no_clock",
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Reason {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// One thing that is wrong, and where. Says nothing that the input says: it may be hostile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// The event, by its offset, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Where in it, as a JSON pointer; empty for all of it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The same for people.
    pub message: String,
}

impl Refusal {
    pub(crate) fn new(reason: Reason, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason, offset: None, path: path.into(), message: message.into() }
    }

    /// About a whole event, or what an event has at the path it says already.
    #[must_use]
    pub(crate) fn at(self, offset: u64) -> Self {
        Self { offset: Some(offset), ..self }
    }

    /// The raw bytes of a run are gone, or were never kept as they came.
    #[must_use]
    pub fn raw_not_kept(why: &str) -> Self {
        Self::new(Reason::RawNotKept, "", why)
    }

    /// A run that still goes on.
    #[must_use]
    pub fn run_not_ended() -> Self {
        Self::new(Reason::RunNotEnded, "", "the run goes on, so that nothing closes it")
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason, self.message)?;
        let path = (!self.path.is_empty()).then(|| format!("path={}", self.path));
        let offset = self.offset.map(|offset| format!("offset={offset}"));
        let places: Vec<String> = [offset, path].into_iter().flatten().collect();
        if places.is_empty() { Ok(()) } else { write!(f, ". {}", places.join(", ")) }
    }
}

/// Everything that was found wrong, up to a bound, in the order it was found. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(Vec<Refusal>);

impl Refused {
    /// The refusals.
    #[must_use]
    pub fn refusals(&self) -> &[Refusal] {
        &self.0
    }

    /// Whether this is among the reasons.
    #[must_use]
    pub fn has(&self, reason: Reason) -> bool {
        self.0.iter().any(|refusal| refusal.reason == reason)
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self(vec![refusal])
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&all.join("; "))
    }
}

impl std::error::Error for Refused {}

/// Collects refusals.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refusals(Vec<Refusal>);

impl Refusals {
    pub(crate) fn push(&mut self, refusal: Refusal) {
        if self.0.len() < REFUSALS_MAX {
            self.0.push(refusal);
        }
    }

    pub(crate) fn has(&self, reason: Reason) -> bool {
        self.0.iter().any(|refusal| refusal.reason == reason)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn extend(&mut self, refused: Refused) {
        refused.0.into_iter().for_each(|refusal| self.push(refusal));
    }

    /// The value, if nothing was refused.
    pub(crate) fn or<T>(self, value: Option<T>) -> Result<T, Refused> {
        match value {
            Some(value) if self.0.is_empty() => Ok(value),
            _ => Err(Refused(self.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn reasons_have_words_of_their_own() {
        let names: BTreeSet<&str> = Reason::ALL.iter().map(|reason| reason.name()).collect();
        assert_eq!(names.len(), Reason::ALL.len());
        assert!(
            names.iter().all(|name| name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()))
        );
    }

    #[test]
    fn no_more_is_told_than_a_person_reads() {
        let mut refusals = Refusals::default();
        (0..1000).for_each(|_| refusals.push(Refusal::run_not_ended()));
        assert_eq!(refusals.or::<()>(None).unwrap_err().refusals().len(), REFUSALS_MAX);
    }
}
