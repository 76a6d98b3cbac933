//! How runs begin and end.

use super::super::exchange::{Exchange, fails_run, letters, type_of};
use super::super::finding::{Evidence, Finding};
use super::super::rule::Rule;
use super::super::step::{Sends, Step};
use super::super::survey::has_runs;
use serde_json::Value;
use std::collections::BTreeMap;

pub(super) fn judge(exchanges: &[Exchange]) -> Vec<Finding> {
    let runs = exchanges.iter().filter(|exchange| exchange.request.step.sends() != Sends::Refusals);
    let mut findings: Vec<Finding> =
        runs.flat_map(|exchange| [other_ids(exchange), open_at_error(exchange)]).flatten().collect();
    let plain = exchanges.iter().filter(|exchange| exchange.request.step == Step::Text);
    findings.extend(plain.filter_map(|exchange| {
        let (at, _) = exchange.stream()?.events().find(|(_, json)| fails_run(json))?;
        Some(Finding::new(Rule::PlainRunFails, Rule::PlainRunFails.summary(), Evidence::frame(exchange, at)))
    }));
    // Words are nothing that a server may refuse.
    let said = exchanges.iter().filter(|it| matches!(it.request.step, Step::Families | Step::Say));
    if has_runs(exchanges) {
        let refused = said.filter(|exchange| exchange.is_answered() && exchange.stream().is_none());
        findings.extend(refused.map(|exchange| {
            let message = format!("a run is answered by {}", exchange.head());
            Finding::new(Rule::RunFails, message, Evidence::head(exchange))
        }));
    }
    findings
}

/// The last run of an answer is the one that was asked for; those before it may be the thread's past.
fn other_ids(exchange: &Exchange) -> Option<Finding> {
    let input = exchange.request.input.as_ref()?;
    let starts =
        exchange.stream()?.events().filter(|(_, json)| type_of(json).as_deref() == Some("RUN_STARTED"));
    let (at, json) = starts.last()?;
    let event: Value = serde_json::from_str(json).ok()?;
    let differs =
        |name: &str| event[name].is_string() && input[name].is_string() && event[name] != input[name];
    let other: Vec<String> = ["threadId", "runId"]
        .into_iter()
        .filter(|name| differs(name))
        .map(|name| format!("{name} {} is answered with {}", input[name], event[name]))
        .collect();
    (!other.is_empty()).then(|| Finding::new(Rule::OtherIds, other.join(", "), Evidence::frame(exchange, at)))
}

/// What a failing run leaves open: kinds of things, by what begins and what ends them.
fn open_at_error(exchange: &Exchange) -> Option<Finding> {
    const PAIRS: [(&str, &str, &str, &str); 6] = [
        ("textmessagestart", "textmessageend", "messageId", "a text message"),
        ("toolcallstart", "toolcallend", "toolCallId", "a tool call"),
        ("reasoningmessagestart", "reasoningmessageend", "messageId", "a reasoning message"),
        ("reasoningstart", "reasoningend", "messageId", "a span of reasoning"),
        ("stepstarted", "stepfinished", "stepName", "a step"),
        ("subagentstarted", "subagentfinished", "subagentRunId", "a subagent"),
    ];
    let mut open: BTreeMap<(usize, String), &str> = BTreeMap::new();
    for (at, json) in exchange.stream()?.events() {
        let name = type_of(json).map(|name| letters(&name)).unwrap_or_default();
        let event: Value = serde_json::from_str(json).unwrap_or_default();
        for (kind, (starts, ends, id, what)) in PAIRS.into_iter().enumerate() {
            let key = || (kind, event[id].as_str().unwrap_or_default().to_owned());
            if name == starts {
                open.insert(key(), what);
            } else if name == ends || name == "subagenterror" && starts == "subagentstarted" {
                open.remove(&key());
            }
        }
        match &*name {
            "runstarted" => open.clear(),
            "runerror" if !open.is_empty() => {
                let what: Vec<String> = open.iter().map(|((_, id), what)| format!("{what} ({id})")).collect();
                let message = format!("RUN_ERROR comes while open: {}", what.join(", "));
                return Some(Finding::new(Rule::OpenAtRunError, message, Evidence::frame(exchange, at)));
            }
            _ => {}
        }
    }
    None
}
