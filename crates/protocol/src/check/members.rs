//! Members that are nearly those of AG-UI.

/// Names that are used elsewhere for a member of AG-UI.
const ALIASES: &[(&str, &[&str])] = &[
    ("threadId", &["sessionId", "conversationId", "chatId"]),
    ("messageId", &["id", "msgId"]),
    ("toolCallId", &["callId", "toolUseId", "id"]),
    ("toolCallName", &["toolName", "name", "tool", "functionName"]),
    ("delta", &["patch", "text", "content", "args", "arguments", "chunk", "operations"]),
    ("patch", &["delta", "operations"]),
    ("snapshot", &["state"]),
    ("message", &["error", "errorMessage"]),
    ("content", &["text", "result", "output"]),
    ("stepName", &["name", "step"]),
    ("value", &["data", "payload"]),
    ("event", &["data", "payload"]),
    ("arguments", &["args", "input", "parameters"]),
    ("name", &["toolName", "functionName"]),
    ("text", &["content", "value"]),
    ("id", &["messageId", "toolCallId"]),
];

/// Whether `written` may well mean the member `wanted`.
pub(super) fn is_alias(written: &str, wanted: &str) -> bool {
    is_respelled(written, wanted)
        || ALIASES.iter().any(|(name, aliases)| *name == wanted && aliases.contains(&&*camel_case(written)))
}

/// Whether the names differ in case and in what stands between words only.
pub(super) fn is_respelled(written: &str, wanted: &str) -> bool {
    written != wanted && letters(written) == letters(wanted)
}

/// The members that `written` may well mean.
pub(super) fn meanings(written: &str) -> Vec<String> {
    let camel = camel_case(written);
    let aliased = ALIASES.iter().filter(|(_, aliases)| aliases.contains(&&*camel));
    let mut meanings: Vec<String> = aliased.map(|&(name, _)| name.to_owned()).collect();
    if camel != written {
        meanings.insert(0, camel);
    }
    meanings
}

/// What people call the roles of AG-UI.
pub(super) fn role(written: &str) -> Option<&'static str> {
    Some(match letters(written).as_str() {
        "user" | "human" | "customer" => "user",
        "assistant" | "ai" | "bot" | "model" | "agent" => "assistant",
        "tool" | "function" | "toolresult" => "tool",
        "system" => "system",
        "developer" => "developer",
        "activity" => "activity",
        "reasoning" | "thinking" => "reasoning",
        _ => return None,
    })
}

/// Lowercase letters and digits.
pub(super) fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

/// `message_id`, `message-id` and `MessageId` as `messageId`.
fn camel_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut upper = false;
    for letter in name.chars() {
        if matches!(letter, '_' | '-') && !out.is_empty() {
            upper = true;
        } else if upper {
            out.push(letter.to_ascii_uppercase());
            upper = false;
        } else if out.is_empty() {
            out.push(letter.to_ascii_lowercase());
        } else {
            out.push(letter);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_recognised() {
        for (written, wanted) in [
            ("message_id", "messageId"),
            ("message-id", "messageId"),
            ("MessageId", "messageId"),
            ("MESSAGE_ID", "messageId"),
            ("id", "messageId"),
            ("session_id", "threadId"),
            ("patch", "delta"),
        ] {
            assert!(is_alias(written, wanted), "{written}");
        }
        assert!(!is_alias("messageId", "messageId") && !is_alias("vendor", "delta"));
    }

    #[test]
    fn meanings_are_the_spelling_first() {
        assert_eq!(meanings("parent_message_id"), ["parentMessageId"]);
        assert_eq!(meanings("session_id"), ["sessionId", "threadId"]);
        assert_eq!(meanings("eventId"), [""; 0]);
    }
}
