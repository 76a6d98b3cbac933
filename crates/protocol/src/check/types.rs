//! Types that are nearly those of AG-UI.

use super::family::Family;
use crate::event::EventType;

/// The events of 0.x that 1.0 has under another name.
pub(super) const THINKING: &[(&str, EventType)] = &[
    ("THINKING_START", EventType::ReasoningStart),
    ("THINKING_END", EventType::ReasoningEnd),
    ("THINKING_TEXT_MESSAGE_START", EventType::ReasoningMessageStart),
    ("THINKING_TEXT_MESSAGE_CONTENT", EventType::ReasoningMessageContent),
    ("THINKING_TEXT_MESSAGE_END", EventType::ReasoningMessageEnd),
];

/// Members that name the event in other protocols.
pub(super) const TYPE_MEMBERS: &[&str] = &["event", "kind", "eventType", "event_type", "Type"];

/// A type of another protocol.
#[derive(Clone, Copy, Debug)]
pub(super) struct Foreign {
    /// Its letters.
    letters: &'static str,
    /// The type that has most of the same members, if there is one.
    pub(super) meant: Option<EventType>,
    pub(super) family: Family,
    /// What to write.
    pub(super) advice: &'static str,
}

macro_rules! foreign {
    ($( $letters:literal => $meant:expr, $family:ident, $advice:literal; )*) => {
        &[$( Foreign { letters: $letters, meant: $meant, family: Family::$family, advice: $advice }, )*]
    };
}

const FOREIGN: &[Foreign] = foreign! {
    "lifecyclestart" => Some(EventType::RunStarted), Lifecycle, "write RUN_STARTED with threadId and runId";
    "lifecycleend" => Some(EventType::RunFinished), Lifecycle, "write RUN_FINISHED with threadId and runId";
    "lifecycleerror" => Some(EventType::RunError), Lifecycle, "write RUN_ERROR with message and code";
    "messagedelta" => Some(EventType::TextMessageChunk), Text,
        "write TEXT_MESSAGE_START, TEXT_MESSAGE_CONTENT and TEXT_MESSAGE_END, or TEXT_MESSAGE_CHUNK";
    "toolcall" => Some(EventType::ToolCallChunk), ToolCalls,
        "write TOOL_CALL_START, TOOL_CALL_ARGS and TOOL_CALL_END, or TOOL_CALL_CHUNK";
    "toolresult" => Some(EventType::ToolCallResult), ToolCalls,
        "write TOOL_CALL_RESULT with messageId, toolCallId and content";
    "typingstart" => None, Activity, "write ACTIVITY_SNAPSHOT with an activityType such as `typing`";
    "typingstop" => None, Activity, "write ACTIVITY_SNAPSHOT with an activityType such as `typing`";
};

/// The type of 1.0 or 0.x that is spelled with these letters, if case and whatever stands between words are ignored.
pub(super) fn respelled(name: &str) -> Option<&'static str> {
    let wanted = letters(name);
    let known = EventType::ALL.iter().map(|event_type| event_type.as_str());
    known.chain(THINKING.iter().map(|&(name, _)| name)).find(|name| letters(name) == wanted)
}

/// The type of another protocol that is spelled with these letters.
pub(super) fn foreign(name: &str) -> Option<&'static Foreign> {
    let wanted = letters(name);
    FOREIGN.iter().find(|foreign| foreign.letters == wanted)
}

/// The family of a type, known or of 0.x.
pub(super) fn family(name: &str) -> Family {
    let successor = || thinking(name).map(|(_, successor)| successor);
    EventType::from_name(name).or_else(successor).map_or(Family::Other, Family::of)
}

/// An event of 0.x, and what it is in 1.0.
pub(super) fn thinking(name: &str) -> Option<(&'static str, EventType)> {
    THINKING.iter().find(|(thinking, _)| *thinking == name).copied()
}

/// Lowercase letters and digits, without an `Event` at the end.
fn letters(name: &str) -> String {
    let letters = super::members::letters(name);
    letters.strip_suffix("event").filter(|rest| !rest.is_empty()).map(str::to_owned).unwrap_or(letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_are_recognised() {
        for name in [
            "textMessageStart",
            "TextMessageStart",
            "text_message_start",
            "text-message-start",
            "text.message.start",
            "TextMessageStartEvent",
            "TEXT_MESSAGE_START_EVENT",
        ] {
            assert_eq!(respelled(name), Some("TEXT_MESSAGE_START"), "{name}");
        }
        assert_eq!(respelled("thinkingEnd"), Some("THINKING_END"));
        for name in ["", "event", "TEXT_MESSAGE", "vendor"] {
            assert_eq!(respelled(name), None, "{name}");
        }
    }

    #[test]
    fn foreign_types_are_recognised() {
        for name in ["lifecycle.start", "LifecycleStart", "lifecycleStart", "LIFECYCLE_START"] {
            assert_eq!(
                foreign(name).and_then(|foreign| foreign.meant),
                Some(EventType::RunStarted),
                "{name}"
            );
        }
        assert!(foreign("budgetAlert").is_none());
    }
}
