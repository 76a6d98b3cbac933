//! The whole consumer, enforce to fold, ends where the reference ends and holds what it holds.

use crate::{as_javascript, cases, parse, with_lists};
use serde_json::{Value, json};
use std::path::Path;
use threadline_interop::peer::Peer;
use threadline_protocol::run::Interrupt;
use threadline_protocol::stages::compact::{Form, compact};
use threadline_protocol::stages::consumer::Consumer;
use threadline_protocol::stages::fold::{Fold, RunStatus};
use threadline_protocol::{Event, Json, Message, Received};
use threadline_testkit::random::Random;
use threadline_testkit::streams;

/// What a consumer has seen when the stream ends, or when it has to give up.
struct Consumed {
    delivered: Vec<Value>,
    failed_at: Option<u64>,
    fold: Fold,
    pending: Vec<Value>,
}

fn consume(events: &[String]) -> Consumed {
    let mut consumer = Consumer::new(Fold::new());
    let mut delivered = Vec::new();
    let mut pending = Vec::new();
    let mut failed_at = None;
    for json in events {
        let mut finished = false;
        let result = consumer.push(json, |event| {
            delivered.push(as_javascript(&with_lists(parse(&event.to_json()))));
            finished |= matches!(event, Event::RunFinished(_));
        });
        if finished {
            let run = consumer.fold().runs().last().expect("a run has finished");
            // The reference gives no list for runs that were interrupted or cancelled.
            let calls = run.pending_tool_calls.iter().filter(|_| run.status == RunStatus::Success);
            pending.push(calls.map(|id| Value::from(id.to_str().into_owned())).collect());
        }
        if let Err(stop) = result {
            failed_at = Some(stop.position);
            break;
        }
    }
    Consumed { delivered, failed_at, fold: consumer.fold().clone(), pending }
}

fn values(texts: impl Iterator<Item = String>) -> Value {
    texts.map(|text| as_javascript(&parse(&text))).collect()
}

fn assert_agreement(streams: &[Vec<Value>]) -> usize {
    let texts: Vec<Vec<String>> =
        streams.iter().map(|events| events.iter().map(Value::to_string).collect()).collect();
    let questions: Vec<Value> =
        texts.iter().map(|events| json!({"op": "consume", "events": events})).collect();
    let mut failed = 0;
    for (events, answer) in texts.iter().zip(Peer::Node.ask(&questions)) {
        assert_eq!(answer["ok"], true, "{answer}");
        let ours = consume(events);
        let stream = events.join("\n");
        let why = &answer["failure"];
        assert_eq!(json!(ours.failed_at), answer["failedAt"], "{why} in\n{stream}");
        failed += usize::from(ours.failed_at.is_some());
        assert_eq!(
            as_javascript(&json!(ours.delivered)),
            as_javascript(&answer["delivered"]),
            "delivered of\n{stream}"
        );
        assert_eq!(
            values(ours.fold.messages().map(Message::to_json)),
            as_javascript(&answer["messages"]),
            "\n{stream}"
        );
        assert_eq!(
            as_javascript(&parse(ours.fold.state().as_str())),
            as_javascript(&answer["state"]),
            "state of\n{stream}"
        );
        let interrupts = values(ours.fold.interrupts().iter().map(Interrupt::to_json));
        assert_eq!(interrupts, as_javascript(&answer["interrupts"]), "interrupts of\n{stream}");
        assert_eq!(json!(ours.pending), answer["pendingToolCalls"], "pending calls of\n{stream}");
    }
    failed
}

#[test]
fn valid_streams_are_consumed_alike() {
    let streams: Vec<Vec<Value>> =
        (0..cases() / 2).map(|seed| streams::valid(&mut Random::new(seed))).collect();
    assert_eq!(assert_agreement(&streams), 0, "a valid stream was refused by both");
}

/// The streams that the ADK middleware really sent.
#[test]
fn recorded_streams_are_consumed_alike() {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/cli/tests/data/adk");
    let mut streams = Vec::new();
    for version in ["0.6.0", "0.11.0"] {
        for entry in std::fs::read_dir(captures.join(version)).expect("the recorded streams") {
            let path = entry.expect("a file").path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                let text = std::fs::read_to_string(&path).expect("a recorded stream");
                streams.push(text.lines().map(parse).collect());
            }
        }
    }
    assert_eq!(streams.len(), 13);
    // Release 0.6.0 closes a failed run twice, which no client of 1.0 takes.
    assert_eq!(assert_agreement(&streams), 2);
}

fn compacted(stream: &[String], form: Form) -> Vec<String> {
    let events: Vec<Event<'_>> =
        stream.iter().map(|json| Received::read(json).expect("an event").into_event()).collect();
    let compacted = compact(&events, form, Some(&Json::EMPTY_OBJECT)).expect("chunks that can be expanded");
    compacted.iter().map(Event::to_json).collect()
}

/// Our compaction, read by the reference: accepted, and with the same result.
#[test]
fn compacted_streams_are_consumed_alike() {
    let streams: Vec<Vec<String>> = (0..cases() / 2)
        .map(|seed| streams::valid(&mut Random::new(seed)).iter().map(Value::to_string).collect())
        .collect();
    let question = |events: &Vec<String>| json!({"op": "consume", "events": events});
    let before = Peer::Node.ask(&streams.iter().map(question).collect::<Vec<_>>());
    for form in [Form::Stream, Form::Snapshot] {
        let compacted: Vec<Vec<String>> = streams.iter().map(|stream| compacted(stream, form)).collect();
        let after = Peer::Node.ask(&compacted.iter().map(question).collect::<Vec<_>>());
        let mut saved = 0;
        for (at, (before, after)) in before.iter().zip(&after).enumerate() {
            let shown = format!("{}\n\nbecame\n\n{}", streams[at].join("\n"), compacted[at].join("\n"));
            assert_eq!(after["failedAt"], Value::Null, "{} in\n{shown}", after["failure"]);
            for held in ["messages", "state", "interrupts", "pendingToolCalls"] {
                assert_eq!(after[held], before[held], "{held} of\n{shown}");
            }
            let delivered = |answer: &Value| answer["delivered"].as_array().map_or(0, Vec::len);
            saved += delivered(before).saturating_sub(delivered(after));
        }
        assert!(saved > streams.len(), "{form:?}: only {saved} events less in {} streams", streams.len());
    }
}

/// A client that has seen the stream may read its snapshot form, too: nothing is doubled.
#[test]
fn a_snapshot_form_can_be_read_by_who_holds_the_messages() {
    let streams: Vec<Vec<String>> = (0..cases() / 2)
        .map(|seed| streams::valid(&mut Random::new(seed)).iter().map(Value::to_string).collect())
        .collect();
    let question = |events: &Vec<String>| json!({"op": "consume", "events": events});
    let before = Peer::Node.ask(&streams.iter().map(question).collect::<Vec<_>>());
    let twice: Vec<Vec<String>> =
        streams.iter().map(|stream| [stream.clone(), compacted(stream, Form::Snapshot)].concat()).collect();
    let after = Peer::Node.ask(&twice.iter().map(question).collect::<Vec<_>>());
    for (at, (before, after)) in before.iter().zip(&after).enumerate() {
        let shown = twice[at].join("\n");
        assert_eq!(after["failedAt"], Value::Null, "{} in\n{shown}", after["failure"]);
        assert_eq!(after["messages"], before["messages"], "\n{shown}");
    }
}

#[test]
fn wild_streams_fail_at_the_same_event() {
    let streams: Vec<Vec<Value>> =
        (0..cases() / 2).map(|seed| streams::wild(&mut Random::new(seed))).collect();
    let failed = assert_agreement(&streams);
    assert!(failed > streams.len() / 4, "only {failed} of {} streams failed", streams.len());
}
