//! What a number of streams have put to the test.

use crate::parse;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use threadline_protocol::stages::enforce::{Verdict, enforce};
use threadline_protocol::stages::expand::{ExpandRule, Expander};
use threadline_protocol::stages::translate::Translator;
use threadline_protocol::stages::verify::{Options, Rule, Severity, Verifier, Violation};
use threadline_protocol::{EventType, Received, UnknownWords};

/// The events that 1.0 does not have and a 1.0 reader translates.
const THINKING: [&str; 5] = [
    "THINKING_START",
    "THINKING_TEXT_MESSAGE_START",
    "THINKING_TEXT_MESSAGE_CONTENT",
    "THINKING_TEXT_MESSAGE_END",
    "THINKING_END",
];

/// The rows of the verifier's table that can fail, and the ways in which each can. `null` stands for a value that the row
/// forbids and that enforcement refuses before. V7, V15 and V22 never fail.
const ROWS: &[(&str, &[&str])] = &[
    ("G1", &["after_run_error"]),
    ("G2", &["after_run_finished"]),
    ("G3", &["before_run_started"]),
    ("G4", &["run_still_active"]),
    ("G5", &["null"]),
    ("G6", &["null"]),
    ("G7", &["null"]),
    ("V1", &["text_already_open", "owner_mismatch"]),
    ("V2", &["text_not_open", "owner_mismatch"]),
    ("V3", &["text_not_open", "owner_mismatch"]),
    ("V4", &["call_already_open", "call_parent_mismatch", "owner_mismatch", "call_moved"]),
    ("V5", &["call_not_open", "owner_mismatch"]),
    ("V6", &["call_not_open", "owner_mismatch"]),
    ("V8", &["step_already_open"]),
    ("V9", &["step_not_open", "step_of_another"]),
    ("V10", &["span_already_open", "owner_mismatch"]),
    ("V11", &["reasoning_already_open", "owner_mismatch"]),
    ("V12", &["reasoning_not_open", "owner_mismatch"]),
    ("V13", &["span_not_open", "owner_mismatch"]),
    ("V14", &["owner_mismatch"]),
    ("V16", &["owner_mismatch"]),
    ("V17", &["null", "subagent_already_active", "subagent_reused", "subagent_parent_unknown"]),
    ("V18", &["null", "subagent_not_active"]),
    ("V19", &["null"]),
    ("V20", &["null"]),
    (
        "V21",
        &[
            "steps_left_open",
            "texts_left_open",
            "reasoning_left_open",
            "spans_left_open",
            "calls_left_open",
            "subagents_left_active",
        ],
    ),
    (
        "expand",
        &[
            "chunk_without_id",
            "chunk_without_tool_call_name",
            "chunk_ambiguous",
            "chunk_owner_mismatch",
            "chunk_conflict role",
            "chunk_conflict name",
            "chunk_conflict toolCallName",
            "chunk_conflict parentMessageId",
        ],
    ),
];

/// Something that can be said of a stream.
type Predicate = fn(&[Value]) -> bool;

/// What kinds of streams there are, and how each is told.
const KINDS: &[(&str, Predicate)] = &[
    ("several runs", |events| events.iter().filter(|event| event["type"] == "RUN_STARTED").count() > 1),
    ("interleaved", is_interleaved),
    ("subagents", |events| has_type(events, "SUBAGENT_")),
    ("chunks", |events| events.iter().any(|event| event["type"].as_str().is_some_and(is_chunk))),
    ("reasoning", |events| has_type(events, "REASONING_")),
    ("activities", |events| has_type(events, "ACTIVITY_")),
    ("interrupts", |events| events.iter().any(|event| event["outcome"]["type"] == "interrupt")),
    ("failed runs", |events| has_type(events, "RUN_ERROR")),
    ("0.x", |events| has_type(events, "THINKING_")),
];

fn has_type(events: &[Value], prefix: &str) -> bool {
    events.iter().any(|event| event["type"].as_str().is_some_and(|name| name.starts_with(prefix)))
}

fn is_chunk(event_type: &str) -> bool {
    event_type.ends_with("_CHUNK")
}

/// Whether two messages or calls are open at a time.
fn is_interleaved(events: &[Value]) -> bool {
    let mut open = HashSet::new();
    events.iter().any(|event| {
        let id = event.get("messageId").or_else(|| event.get("toolCallId")).map(Value::to_string);
        match (event["type"].as_str().unwrap_or_default(), id) {
            ("RUN_STARTED", _) => open.clear(),
            ("TEXT_MESSAGE_START" | "TOOL_CALL_START" | "REASONING_MESSAGE_START", Some(id)) => {
                open.insert(id);
            }
            ("TEXT_MESSAGE_END" | "TOOL_CALL_END" | "REASONING_MESSAGE_END", Some(id)) => {
                open.remove(&id);
            }
            _ => {}
        }
        open.len() > 1
    })
}

/// Counts. What is never seen is counted as 0.
pub(crate) struct Coverage {
    kinds: BTreeMap<&'static str, u64>,
    /// How often an event was read, and how often it was delivered.
    events: BTreeMap<&'static str, [u64; 2]>,
    /// How many streams ended so.
    failures: BTreeMap<(&'static str, String), u64>,
}

impl Coverage {
    pub(crate) fn new() -> Self {
        let types = EventType::ALL.iter().map(|event_type| event_type.as_str()).chain(THINKING);
        let rows =
            ROWS.iter().flat_map(|(row, rules)| rules.iter().map(|rule| ((*row, (*rule).to_owned()), 0)));
        Self {
            kinds: KINDS.iter().map(|(kind, _)| (*kind, 0)).collect(),
            events: types.map(|event_type| (event_type, [0, 0])).collect(),
            failures: rows.collect(),
        }
    }

    /// Counts a stream that both consumed alike, and held so in the end.
    pub(crate) fn add(&mut self, events: &[String], held: &Value) {
        let failure = failure(events);
        // The event at which a stream fails was read, too.
        let read = failure.as_ref().map_or(events.len(), |failure| failure.at + 1);
        let values: Vec<Value> = events[..read].iter().map(|json| parse(json)).collect();
        for (kind, is_kind) in KINDS {
            *self.kinds.entry(kind).or_default() += u64::from(is_kind(&values));
        }
        let delivered = held["delivered"].as_array().expect("a list");
        for (column, events) in [&values, delivered].into_iter().enumerate() {
            for event in events {
                if let Some(counts) = event["type"].as_str().and_then(|name| self.events.get_mut(name)) {
                    counts[column] += 1;
                }
            }
        }
        if let Some(Failure { row, rule, .. }) = failure {
            *self.failures.entry((row, rule)).or_default() += 1;
        }
    }

    /// What no stream has shown.
    pub(crate) fn missing(&self) -> Vec<String> {
        let kinds = self.kinds.iter().filter(|(_, count)| **count == 0).map(|(kind, _)| (*kind).to_owned());
        let events = self.events.iter().filter(|(event_type, [read, delivered])| {
            let is_delivered = !is_chunk(event_type) && !THINKING.contains(*event_type);
            *read == 0 || is_delivered && *delivered == 0
        });
        let failures = self.failures.iter().filter(|(_, count)| **count == 0);
        let failures = failures.map(|((row, rule), _)| format!("{row} {rule}"));
        kinds.chain(events.map(|(event_type, _)| (*event_type).to_owned())).chain(failures).collect()
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, _) in KINDS {
            writeln!(f, "{kind:<37} {:>8} streams", self.kinds[kind])?;
        }
        writeln!(f, "\n{:<37} {:>8} {:>9}", "event", "read", "delivered")?;
        for event_type in EventType::ALL.iter().map(|event_type| event_type.as_str()).chain(THINKING) {
            let [read, delivered] = self.events[event_type];
            writeln!(f, "{event_type:<37} {read:>8} {delivered:>9}")?;
        }
        writeln!(f, "\n{:<37} {:>8}", "rule", "broken")?;
        let mut failures: Vec<_> = self.failures.iter().collect();
        failures.sort_by_key(|((row, _), _)| ROWS.iter().position(|(other, _)| row == other));
        for ((row, rule), count) in failures {
            writeln!(f, "{row:<6} {rule:<30} {count:>8}")?;
        }
        Ok(())
    }
}

/// Which event ended a stream, and the row and the rule that it broke.
struct Failure {
    at: usize,
    row: &'static str,
    rule: String,
}

/// How a stream ends, stage by stage as in `Consumer`, which keeps only the rule's name.
fn failure(events: &[String]) -> Option<Failure> {
    let mut translator = Translator::new();
    let mut expander = Expander::new();
    let mut verifier = Verifier::new(Options::new());
    for (at, json) in events.iter().enumerate() {
        let null = || Some(Failure { at, row: null_row(&parse(json)), rule: "null".to_owned() });
        let Ok(translated) = Received::read(json).and_then(|received| translator.translate(received)) else {
            return null();
        };
        let event = match enforce(translated.event, UnknownWords::Refuse) {
            Verdict::Kept { event, .. } => event.into_event(),
            Verdict::Dropped => continue,
            Verdict::Refused(_) => return null(),
        };
        let expanded = match expander.expand(&event) {
            Ok(expanded) => expanded,
            Err(error) => {
                let rule = match error.rule {
                    ExpandRule::Conflict { field } => format!("{} {field}", error.rule.name()),
                    rule => rule.name().to_owned(),
                };
                return Some(Failure { at, row: "expand", rule });
            }
        };
        for event in expanded.iter() {
            if let Some(violation) = verifier.check(event).into_iter().find(Violation::is_error) {
                let row = violation.label().expect("errors are the reference's");
                return Some(Failure { at, row, rule: violation.rule.name().to_owned() });
            }
        }
    }
    None
}

/// The row about values that are none: all that generated streams are refused for before they are verified.
fn null_row(event: &Value) -> &'static str {
    let event_type = event["type"].as_str().unwrap_or_default();
    let lacks = |member: &str| !event[member].is_string();
    match event_type {
        _ if event.get("subagentRunId").is_some_and(Value::is_null) => "G5",
        "SUBAGENT_STARTED" if lacks("subagentRunId") || lacks("name") => "V17",
        "SUBAGENT_FINISHED" | "SUBAGENT_ERROR" if lacks("subagentRunId") => "V18",
        "SUBAGENT_ERROR" if lacks("message") => "V18",
        _ if event_type.starts_with("SUBAGENT_") => "G6",
        "RUN_FINISHED" => "G7",
        "MESSAGES_SNAPSHOT" => "V19",
        "RUN_STARTED" => "V20",
        _ => "malformed",
    }
}

#[test]
fn every_rule_has_its_row() {
    for rule in Rule::ALL.iter().filter(|rule| rule.severity() == Severity::Error) {
        assert!(ROWS.iter().any(|(_, rules)| rules.contains(&rule.name())), "{rule:?} is in no row");
    }
}

#[test]
fn what_is_never_seen_is_missing() {
    let mut coverage = Coverage::new();
    let before = coverage.missing().len();
    let event = r#"{"type":"CUSTOM","name":"n","value":1}"#.to_owned();
    let held = crate::consume::ours(std::slice::from_ref(&event));
    coverage.add(&[event], &held);
    let missing = coverage.missing();
    assert_eq!(missing.len(), before - 1, "the rule, but not the event, which was not delivered");
    assert!(missing.contains(&"CUSTOM".to_owned()));
    assert!(!missing.contains(&"G3 before_run_started".to_owned()));
}
