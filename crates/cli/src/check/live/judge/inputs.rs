//! What of the input is taken.

use super::super::exchange::{Exchange, fails_run, letters, type_of};
use super::super::finding::{Evidence, Finding};
use super::super::rule::Rule;
use super::super::step::Step;
use super::super::survey::is_taken;
use super::of;
use serde_json::Value;

pub(super) fn judge(exchanges: &[Exchange]) -> Vec<Finding> {
    // What fails without anything special in it fails for another reason.
    let is_sound = of(exchanges, Step::Text).any(is_taken);
    let mut findings = Vec::new();
    for exchange in exchanges.iter().filter(|exchange| is_sound && exchange.is_answered()) {
        let rule = match exchange.request.step {
            Step::UnknownMembers => Rule::UnknownMembersRefused,
            Step::Multimodal => Rule::PartsRefused,
            Step::Tools => Rule::ToolsRefused,
            Step::ToolResult => Rule::ToolResultRefused,
            Step::Legacy => Rule::LegacyRefused,
            Step::Resume => Rule::ResumeRefused,
            Step::Answer => Rule::AnswerRefused,
            Step::EachRole => Rule::MissingRole,
            _ => continue,
        };
        if !is_taken(exchange) {
            findings.push(refused(rule, exchange));
        }
    }
    if let Some(together) =
        of(exchanges, Step::Roles).find(|exchange| is_sound && exchange.is_answered() && !is_taken(exchange))
        && !of(exchanges, Step::EachRole).any(|exchange| !is_taken(exchange))
    {
        let message = "a history with all roles is not taken, although each role is";
        findings.push(Finding::new(Rule::MissingRole, message, why(together)));
    }
    findings.extend(exchanges.iter().filter_map(lost_result));
    findings
}

fn refused(rule: Rule, exchange: &Exchange) -> Finding {
    let name = &exchange.request.name;
    match name.strip_prefix("role-") {
        Some(role) => {
            let message = format!("a history with the role {role} is not taken");
            Finding::new(rule, message, why(exchange)).with_remedy(format!(
                "take messages of the role {role}; leave them out for a model without a use for them"
            ))
        }
        None => Finding::new(rule, rule.summary(), why(exchange)),
    }
}

/// The refusal, or the event that says the run has failed.
fn why(exchange: &Exchange) -> Evidence {
    let failure = exchange.stream().and_then(|stream| stream.events().find(|(_, json)| fails_run(json)));
    match failure {
        Some((at, _)) => Evidence::frame(exchange, at),
        None => Evidence::head(exchange),
    }
}

/// A snapshot of the messages after a tool's result that has no message of role `tool`.
fn lost_result(exchange: &Exchange) -> Option<Finding> {
    let stream = exchange.stream()?;
    let mut has_result = false;
    for (at, json) in stream.events() {
        let name = type_of(json).map(|name| letters(&name)).unwrap_or_default();
        match &*name {
            "toolresult" | "toolcallresult" => has_result = true,
            "messagessnapshot" if has_result => {
                let event: Value = serde_json::from_str(json).ok()?;
                let messages = event["messages"].as_array()?;
                let is_result = |message: &Value| {
                    message["role"] == "tool" || message.get("toolCallId").is_some_and(Value::is_string)
                };
                if !messages.iter().any(is_result) {
                    let message = "a snapshot of the messages after a tool's result has none of role tool";
                    return Some(
                        Finding::new(Rule::MissingRole, message, Evidence::frame(exchange, at)).with_remedy(
                            "keep results of tools as messages of role tool, with their toolCallId",
                        ),
                    );
                }
            }
            _ => {}
        }
    }
    None
}
