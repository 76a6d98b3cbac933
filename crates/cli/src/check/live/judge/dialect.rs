//! What streams of other protocols do otherwise, by names of its own.

use super::super::exchange::letters;
use super::super::rule::Rule;
use super::super::target::{self, Target};
use threadline_protocol::check::{Code, Finding as Found};

/// The rule that says more than the code does, and what to do.
pub(super) fn named(found: &Found) -> Option<(Rule, String)> {
    let name = found.event_type.as_deref().unwrap_or_default();
    let letters = letters(name);
    let of_end = matches!(&*letters, "lifecycleend" | "runfinished");
    let rule = match (found.code, found.path.as_str()) {
        (Code::TypeSpelling, _) if is_camel_case(name) => Rule::CamelCaseTypes,
        (Code::ForeignType, _) => match &*letters {
            "lifecyclestart" | "lifecycleend" | "lifecycleerror" => Rule::LifecycleNames,
            "messagedelta" => Rule::MessageDelta,
            "toolcall" => Rule::ToolCallAtOnce,
            "toolresult" => Rule::ToolResultEvent,
            _ => Target::of(name).rule(),
        },
        (Code::UnknownType, _) => return Some((Target::of(name).rule(), target::remedy(name))),
        (Code::MemberName | Code::MemberSpelling, "/sessionId" | "/session_id") => Rule::SessionId,
        (Code::MemberName, "/patch") if matches!(&*letters, "statedelta") => Rule::PatchForDelta,
        (Code::MemberName, "/name" | "/arguments" | "/args" | "/input") if letters == "toolcall" => {
            Rule::FlatToolCall
        }
        (Code::FlatToolCall, _) => Rule::FlatToolCall,
        (Code::UnknownMember, "/eventId" | "/event_id") => Rule::EventId,
        (Code::UnknownMember, "/reason") if of_end => Rule::EndReason,
        _ => return None,
    };
    let remedy = match rule {
        // What to write differs from type to type.
        Rule::LifecycleNames => found.advice.clone(),
        _ => rule.remedy().to_owned(),
    };
    Some((rule, remedy))
}

fn is_camel_case(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().any(|letter| letter.is_ascii_uppercase())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadline_protocol::check::Checker;

    /// The rules that the events of a stream break, as they are named for endpoints.
    fn rules(events: &[&str]) -> Vec<(&'static str, String)> {
        let mut checker = Checker::new();
        for event in events {
            checker.push(event);
        }
        let named = checker.finish().findings.into_iter().filter_map(|found| {
            let (rule, _) = named(&found)?;
            Some((rule.name(), found.event_type.unwrap_or_default()))
        });
        let mut named: Vec<_> = named.collect();
        named.sort();
        named.dedup();
        named
    }

    #[test]
    fn each_departure_has_a_name_of_its_own() {
        let found = rules(&[
            r#"{"type":"lifecycle.start","sessionId":"s"}"#,
            r#"{"type":"messageDelta","messageId":"m","delta":{"type":"text","text":"a"}}"#,
            r#"{"type":"toolCall","toolCallId":"c","name":"n","arguments":{"a":1}}"#,
            r#"{"type":"toolResult","toolCallId":"c","result":"r"}"#,
            r#"{"type":"stateDelta","eventId":"e","patch":[]}"#,
            r#"{"type":"typingStart"}"#,
            r#"{"type":"taskSubmitted"}"#,
            r#"{"type":"agentConfigSnapshot"}"#,
            r#"{"type":"budgetAlert"}"#,
            r#"{"type":"lifecycle.end","reason":"done"}"#,
        ]);
        let expected = [
            ("camel_case_types", "stateDelta"),
            ("configuration_event", "agentConfigSnapshot"),
            ("custom_event", "budgetAlert"),
            ("end_reason", "lifecycle.end"),
            ("event_id", "stateDelta"),
            ("flat_tool_call", "toolCall"),
            ("lifecycle_names", "lifecycle.end"),
            ("lifecycle_names", "lifecycle.start"),
            ("message_delta", "messageDelta"),
            ("patch_for_delta", "stateDelta"),
            ("session_id", "lifecycle.start"),
            ("task_event", "taskSubmitted"),
            ("tool_call_at_once", "toolCall"),
            ("tool_result_event", "toolResult"),
            ("typing_event", "typingStart"),
        ];
        assert_eq!(found, expected.map(|(rule, name)| (rule, name.to_owned())));
    }

    #[test]
    fn what_is_right_has_no_name() {
        assert_eq!(
            rules(&[r#"{"type":"ACTIVITY_DELTA","messageId":"m","activityType":"A","patch":[]}"#]),
            []
        );
        assert!(
            is_camel_case("messagesSnapshot") && !is_camel_case("lifecycle.start") && !is_camel_case("RUN")
        );
    }
}
