//! What a client of 0.x is sent that it cannot read.

use super::super::exchange::{Exchange, type_of};
use super::super::finding::{Evidence, Finding};
use super::super::rule::Rule;
use super::super::step::Step;
use super::of;
use serde_json::Value;

pub(super) fn judge(exchanges: &[Exchange]) -> Vec<Finding> {
    of(exchanges, Step::Legacy).flat_map(judge_one).collect()
}

fn judge_one(exchange: &Exchange) -> Vec<Finding> {
    let Some(stream) = exchange.stream() else { return Vec::new() };
    let mut findings = Vec::new();
    for (at, json) in stream.events() {
        let name = type_of(json).unwrap_or_default();
        let event: Value = serde_json::from_str(json).unwrap_or_default();
        let found = |rule: Rule, message: String| {
            Finding::new(rule, message, Evidence::frame(exchange, at)).with_type(Some(&name))
        };
        if name.starts_with("SUBAGENT_") || event.get("subagentRunId").is_some() {
            findings.push(found(Rule::LegacySubagents, Rule::LegacySubagents.summary().to_owned()));
        }
        let outcome = &event["outcome"];
        if name == "RUN_FINISHED" && outcome["type"] == "cancelled" {
            findings.push(found(Rule::LegacyOutcome, "the outcome is `cancelled`".to_owned()));
        }
        if name == "RUN_FINISHED" && outcome.get("pendingToolCallIds").is_some() {
            findings.push(found(Rule::LegacyOutcome, "the outcome has `pendingToolCallIds`".to_owned()));
        }
    }
    findings
}
