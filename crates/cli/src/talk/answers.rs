//! What tools and interrupts are answered with.

use super::screen::call_line;
use super::visible::{line, visible};
use crate::report::Failure;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::Path;
use threadline_protocol::message::ToolCall;
use threadline_protocol::run::Interrupt;

/// Answers from a file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answers {
    #[serde(default)]
    tools: Map<String, Value>,
    #[serde(default)]
    interrupts: Map<String, Value>,
}

impl Answers {
    pub(crate) fn read(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self::default()) };
        let bytes = std::fs::read(path).map_err(|error| Failure::read(path, error))?;
        serde_json::from_slice(&bytes).map_err(|error| Failure::invalid(path, &error))
    }

    /// The result of a tool.
    pub(crate) fn result(&self, call: &ToolCall<'_>) -> Option<String> {
        self.tools.get(&*call.function.name.to_str()).map(|value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    }

    /// The answer to a question; null gives it up.
    pub(crate) fn answer(&self, interrupt: &Interrupt<'_>) -> Option<&Value> {
        let (id, reason) = (interrupt.id.to_str(), interrupt.reason.to_str());
        [&*id, &*reason, "*"].iter().find_map(|name| self.interrupts.get(*name))
    }
}

/// What a person is asked about a call.
pub(crate) fn call_prompt(call: &ToolCall<'_>) -> String {
    format!("result of {} ", call_line(call))
}

/// What a person is asked for an interrupt.
pub(crate) fn interrupt_prompt(interrupt: &Interrupt<'_>) -> String {
    let question =
        interrupt.message.as_ref().map_or_else(|| interrupt.reason.to_str(), |message| message.to_str());
    let how = match yes_or_no(interrupt) {
        Choice::Member(_) | Choice::Plain => " (y/n, empty gives up)".to_owned(),
        Choice::Other => match &interrupt.response_schema {
            Some(schema) => format!(" (JSON: {})", line(schema.as_json().as_str(), 200)),
            None => String::new(),
        },
    };
    format!("{}{how} ", visible(&question))
}

/// What a person's answer means: `None` gives the question up.
pub(crate) fn typed(interrupt: &Interrupt<'_>, text: &str) -> Option<Value> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    let said = match text.to_ascii_lowercase().as_str() {
        "y" | "yes" => Some(true),
        "n" | "no" => Some(false),
        _ => None,
    };
    match (said, yes_or_no(interrupt)) {
        (Some(said), Choice::Plain) => return Some(json!(said)),
        (Some(said), Choice::Member(member)) => return Some(json!({ member: said })),
        _ => {}
    }
    Some(serde_json::from_str(text).unwrap_or_else(|_no_json| json!(text)))
}

/// What kind of answer a question wants.
enum Choice {
    /// Yes or no.
    Plain,
    /// Yes or no, in this member of an object.
    Member(String),
    Other,
}

fn yes_or_no(interrupt: &Interrupt<'_>) -> Choice {
    let Some(schema) = &interrupt.response_schema else {
        return if interrupt.reason == "confirmation" { Choice::Plain } else { Choice::Other };
    };
    let schema: Value = schema.as_json().deserialize().unwrap_or_default();
    if schema["type"] == "boolean" {
        return Choice::Plain;
    }
    let mut properties = schema["properties"].as_object().into_iter().flatten();
    match (properties.next(), properties.next()) {
        (Some((name, property)), None) if property["type"] == "boolean" => Choice::Member(name.clone()),
        _ => Choice::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadline_protocol::Json;
    use threadline_protocol::json::JsonObject;

    fn asking(schema: Value) -> Interrupt<'static> {
        let schema = JsonObject::try_from(Json::from(schema)).unwrap();
        Interrupt::new("i", "confirmation").with_message("Go\u{1b}?").with_response_schema(schema)
    }

    #[test]
    fn yes_goes_where_the_schema_wants_it() {
        let plain = Interrupt::new("i", "confirmation");
        assert_eq!(typed(&plain, " Yes "), Some(json!(true)));
        let member = asking(json!({"type": "object", "properties": {"approved": {"type": "boolean"}}}));
        assert_eq!(typed(&member, "n"), Some(json!({"approved": false})));
        assert_eq!(typed(&member, r#"{"approved":1}"#), Some(json!({"approved": 1})));
        assert_eq!(typed(&asking(json!({"type": "string"})), "y"), Some(json!("y")));
        assert_eq!(typed(&plain, ""), None);
        assert_eq!(interrupt_prompt(&member), "Go\\u{1b}? (y/n, empty gives up) ");
    }

    #[test]
    fn a_file_answers_by_name_id_and_reason() {
        let answers: Answers = serde_json::from_value(json!({
            "tools": {"a": {"x": 1}, "b": "text"}, "interrupts": {"confirmation": true, "i2": null},
        }))
        .unwrap();
        let call = |name: &'static str| {
            answers.result(&ToolCall::new("c", threadline_protocol::message::FunctionCall::new(name, "{}")))
        };
        assert_eq!(
            (call("a").as_deref(), call("b").as_deref(), call("c")),
            (Some(r#"{"x":1}"#), Some("text"), None)
        );
        assert_eq!(answers.answer(&Interrupt::new("i1", "confirmation")), Some(&json!(true)));
        assert_eq!(answers.answer(&Interrupt::new("i2", "confirmation")), Some(&Value::Null));
        assert_eq!(answers.answer(&Interrupt::new("i3", "other")), None);
    }
}
