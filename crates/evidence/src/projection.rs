//! From a message of AG-UI to one of the contract: all of it, or none of it.

use crate::check::{MESSAGE_FIELDS, told};
use crate::json::Value;
use crate::reason::{Reason, Refusal};

/// A message as the contract has it, unless it was refused.
pub(crate) type Projected = Result<Value, ()>;

/// Takes the four members of a message that the contract has. One that has more is refused: what is left would not be the
/// message.
pub(crate) fn message(message: &Value, index: usize) -> Result<Value, Vec<Refusal>> {
    let path = format!("/messages/{index}");
    let Value::Object(members) = message else {
        return Err(vec![Refusal::new(Reason::MalformedEvent, path, "a message that is no object")]);
    };
    // What is null says nothing; producers of 0.x write everything.
    let present = || members.iter().filter(|(_, value)| *value != Value::Null);
    let mut refusals: Vec<Refusal> = Vec::new();
    let mut refuse = |reason, path: String, message: &str| {
        if !refusals.iter().any(|refusal| refusal.reason == reason) {
            refusals.push(Refusal::new(reason, path, message));
        }
    };
    let role = message.get("role").and_then(Value::as_str);
    match role {
        Some("reasoning") => {
            refuse(Reason::ReasoningRole, format!("{path}/role"), "what an agent thought is not in v1")
        }
        Some("activity") => {
            refuse(Reason::ActivityRole, format!("{path}/role"), "what a front end shows is not in v1")
        }
        Some("tool") => refuse(Reason::ToolShaped, format!("{path}/role"), "results of tools are not in v1"),
        _ => {}
    }
    for (key, _) in present().filter(|(key, _)| !MESSAGE_FIELDS.contains(&key.as_str())) {
        let path = format!("{path}/{}", told(key));
        match key.as_str() {
            "toolCalls" | "toolCallId" => refuse(Reason::ToolShaped, path, "calls of tools are not in v1"),
            "encryptedValue" => refuse(Reason::EncryptedValue, path, "encrypted values are not in v1"),
            "metadata" => refuse(Reason::MessageMetadata, path, "metadata are not in v1"),
            "subagentRunId" => refuse(Reason::SubagentMessage, path, "messages of subagents are not in v1"),
            _ => refuse(Reason::UnknownMember, path, "not a member that v1 has"),
        }
    }
    let content = present().find(|(key, _)| key == "content").map(|(_, value)| value);
    match content {
        Some(Value::String(_)) => {}
        Some(_) if role == Some("activity") => {}
        Some(_) => {
            refuse(Reason::ContentNotText, format!("{path}/content"), "content that is no text is not in v1")
        }
        // A call has none, and is refused for being one.
        None if refusals.is_empty() => refusals.push(Refusal::new(
            Reason::NoContent,
            format!("{path}/content"),
            "a message without content",
        )),
        None => {}
    }
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let kept = |field: &&str| present().find(|(key, _)| key == field).cloned();
    Ok(Value::Object(MESSAGE_FIELDS.iter().filter_map(kept).collect()))
}
