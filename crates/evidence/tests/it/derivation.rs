//! From events to an artifact, or to the reasons why there is none.

use proptest::prelude::*;
use serde_json::{Value, json};
use threadline_evidence::artifact::Terminal;
use threadline_evidence::{Derived, Deriver, Reason, Refusal, Refused, Times, check};

fn started() -> Value {
    json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r", "timestamp": 1_776_193_200_000_i64})
}

fn snapshot(messages: Value) -> Value {
    let mut event = json!({"type": "MESSAGES_SNAPSHOT"});
    event["messages"] = messages;
    event
}

fn hello() -> Value {
    snapshot(json!([{"id": "m1", "role": "user", "content": "Hello"}]))
}

fn finished() -> Value {
    json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "timestamp": 1_776_193_200_250_i64})
}

fn failed() -> Value {
    json!({"type": "RUN_ERROR", "message": "it broke", "code": "E1", "timestamp": 1_776_193_200_250_i64})
}

fn derived(events: &[Value]) -> Result<Derived, Refused> {
    derived_by(Deriver::new(Times::OfEvents), events)
}

fn derived_by(mut deriver: Deriver, events: &[Value]) -> Result<Derived, Refused> {
    for (offset, event) in (0..).zip(events) {
        deriver.push(offset, Some(1_776_193_201_000), event.to_string().as_bytes());
    }
    deriver.finish()
}

fn reasons(events: &[Value]) -> Vec<Reason> {
    let refused = derived(events).expect_err("a refusal");
    refused.refusals().iter().map(|refusal| refusal.reason).collect()
}

#[test]
fn a_run_has_one_start_one_snapshot_and_one_end() {
    use Reason::*;
    assert_eq!(derived(&[started(), hello(), finished()]).unwrap().artifact.messages().len(), 1);
    assert_eq!(reasons(&[started(), finished()]), [NoSnapshot]);
    assert_eq!(reasons(&[started(), failed()]), [NoSnapshot]);
    assert_eq!(reasons(&[started(), hello(), hello(), finished()]), [SeveralSnapshots]);
    assert_eq!(reasons(&[started(), hello()]), [NoTerminal]);
    assert_eq!(reasons(&[hello(), finished()]), [OutsideRun, NoRunStarted]);
    assert_eq!(reasons(&[started(), started(), hello(), finished()]), [SeveralRunStarted]);
    assert_eq!(reasons(&[started(), hello(), failed(), finished()]), [DoubleTerminal]);
    assert_eq!(reasons(&[started(), hello(), finished(), failed()]), [DoubleTerminal]);
    assert_eq!(reasons(&[started(), hello(), finished(), finished()]), [DoubleTerminal]);
    assert_eq!(reasons(&[started(), finished(), hello()]), [OutsideRun]);
    assert_eq!(reasons(&[hello(), started(), finished()]), [OutsideRun]);
    let custom = json!({"type": "CUSTOM", "name": "n", "value": 1});
    assert_eq!(reasons(&[started(), hello(), finished(), custom.clone()]), [OutsideRun]);
    assert_eq!(reasons(&[custom, started(), hello(), finished()]), [OutsideRun]);
    assert_eq!(reasons(&[]), [NoRunStarted, NoSnapshot, NoTerminal]);
}

#[test]
fn a_failed_run_with_a_snapshot_is_derived_as_failed() {
    let derived = derived(&[started(), hello(), failed()]).unwrap();
    let expected = Terminal::Error { code: Some("E1".to_owned()), message: "it broke".to_owned() };
    assert_eq!(*derived.artifact.terminal(), expected);
    let mut long = failed();
    long["message"] = json!("x".repeat(201));
    assert_eq!(reasons(&[started(), hello(), long]), [Reason::TooLong]);
}

#[test]
fn what_v1_cannot_show_is_refused_by_name() {
    let ended = |outcome: Value| {
        let mut event = finished();
        event["outcome"] = outcome;
        derived(&[started(), hello(), event]).map_err(|refused| refused.refusals()[0].reason).map(drop)
    };
    let interrupt = json!({"type": "interrupt", "interrupts": [{"id": "i", "reason": "r"}]});
    assert_eq!(ended(interrupt), Err(Reason::InterruptOutcome));
    assert_eq!(ended(json!("interrupt")), Err(Reason::InterruptOutcome));
    assert_eq!(ended(json!({"type": "cancelled"})), Err(Reason::CancelledOutcome));
    assert_eq!(ended(json!({"type": "maybe"})), Err(Reason::UnknownOutcome));
    assert_eq!(ended(json!(7)), Err(Reason::UnknownOutcome));
    assert_eq!(ended(json!({"type": "success"})), Ok(()));
    assert_eq!(ended(Value::Null), Ok(()));
}

#[test]
fn messages_fit_as_a_whole_or_not_at_all() {
    use Reason::*;
    let of = |message: Value| {
        let plain = json!({"id": "m0", "role": "user", "content": "Hello"});
        derived(&[started(), snapshot(json!([plain, message])), finished()]).map(drop).map_err(|refused| {
            refused.refusals().iter().map(|one| (one.reason, one.path.clone())).collect::<Vec<_>>()
        })
    };
    let message = |member: &str, value: Value| {
        let mut message = json!({"id": "m1", "role": "assistant", "content": "Hi"});
        message[member] = value;
        message
    };
    let one = |reason, path: &str| Err(vec![(reason, format!("/messages/1{path}"))]);
    assert_eq!(of(message("toolCalls", json!([]))), one(ToolShaped, "/toolCalls"));
    assert_eq!(
        of(json!({"id": "m1", "role": "assistant", "toolCalls": [{}]})),
        one(ToolShaped, "/toolCalls")
    );
    assert_eq!(
        of(json!({"id": "m1", "role": "tool", "content": "x", "toolCallId": "c"})),
        one(ToolShaped, "/role")
    );
    assert_eq!(of(message("role", json!("reasoning"))), one(ReasoningRole, "/role"));
    assert_eq!(
        of(json!({"id": "m1", "role": "activity", "activityType": "a", "content": {}})),
        Err(vec![
            (ActivityRole, "/messages/1/role".to_owned()),
            (UnknownMember, "/messages/1/activityType".to_owned())
        ])
    );
    assert_eq!(
        of(message("content", json!([{"type": "text", "text": "Hi"}]))),
        one(ContentNotText, "/content")
    );
    assert_eq!(of(json!({"id": "m1", "role": "assistant"})), one(NoContent, "/content"));
    assert_eq!(of(message("encryptedValue", json!("x"))), one(EncryptedValue, "/encryptedValue"));
    assert_eq!(of(message("metadata", json!({}))), one(MessageMetadata, "/metadata"));
    assert_eq!(of(message("subagentRunId", json!("s"))), one(SubagentMessage, "/subagentRunId"));
    assert_eq!(of(message("vendor", json!(1))), one(UnknownMember, "/vendor"));
    assert_eq!(of(message("content", json!(" Hi"))), one(Padded, "/content"));
    assert_eq!(of(message("role", json!("robot"))), one(UnknownRole, "/role"));
    assert_eq!(of(message("name", Value::Null)), Ok(()));
    assert_eq!(of(message("name", json!("helper"))), Ok(()));
    assert_eq!(of(json!("Hi")), one(MalformedEvent, ""));
}

#[test]
fn what_is_wrong_is_told_together() {
    let messages = json!([
        {"id": "m1", "role": "user", "content": " padded"},
        {"id": "m2", "role": "reasoning", "content": "x"},
        {"id": "m3", "role": "user", "content": "x".repeat(401)},
    ]);
    let told = reasons(&[started(), snapshot(messages), failed(), finished()]);
    assert_eq!(told, [Reason::ReasoningRole, Reason::DoubleTerminal, Reason::Padded, Reason::TooLong]);
}

#[test]
fn ids_agree() {
    let mut other = finished();
    other["runId"] = json!("other");
    assert_eq!(reasons(&[started(), hello(), other]), [Reason::IdsDisagree]);
    let mut none = finished();
    none.as_object_mut().unwrap().remove("threadId");
    assert_eq!(reasons(&[started(), hello(), none]), [Reason::IdsDisagree]);
    let mut says = failed();
    says["threadId"] = json!("other");
    assert_eq!(reasons(&[started(), hello(), says]), [Reason::IdsDisagree]);
    let events = [started(), hello(), finished()];
    assert!(derived_by(Deriver::of_logged_run("t", "r"), &events).is_ok());
    assert!(derived_by(Deriver::of_logged_run("t", "other"), &events).unwrap_err().has(Reason::IdsDisagree));
    let mut address = started();
    address["threadId"] = json!("https://host/t");
    let mut end = finished();
    end["threadId"] = json!("https://host/t");
    assert_eq!(reasons(&[address, hello(), end]), [Reason::ResolvingRef]);
}

#[test]
fn a_parent_is_told_where_the_source_told_it() {
    let mut start = started();
    start["parentRunId"] = json!("r0");
    let artifact = derived(&[start.clone(), hello(), finished()]).unwrap().artifact;
    assert!(artifact.to_json().contains(r#""parent_run_id_ref": "r0""#));
    start["parentRunId"] = Value::Null;
    let artifact = derived(&[start, hello(), finished()]).unwrap().artifact;
    assert!(!artifact.to_json().contains("parent"));
}

#[test]
fn our_own_snapshots_are_not_the_integrations() {
    let mut ours = hello();
    ours["metadata"] = json!({"threadline": {"synthesised": true}});
    assert_eq!(reasons(&[started(), ours, finished()]), [Reason::SynthesisedSnapshot]);
    let mut theirs = hello();
    theirs["metadata"] = json!({"vendor": 1});
    let derived = derived(&[started(), theirs, finished()]).unwrap();
    assert_eq!(derived.dropped.members["MESSAGES_SNAPSHOT.metadata"], 1);
}

#[test]
fn times_are_of_a_named_clock() {
    let events = [started(), hello(), finished()];
    let times = |deriver: Deriver| {
        let derived = derived_by(deriver, &events).unwrap();
        let (started_at, finished_at) = derived.artifact.times();
        (derived.clock, started_at.to_owned(), finished_at.map(str::to_owned))
    };
    let text = |text: &str| text.to_owned();
    assert_eq!(
        times(Deriver::new(Times::OfEvents)),
        ("events", text("2026-04-14T19:00:00Z"), Some(text("2026-04-14T19:00:00.250000Z")))
    );
    assert_eq!(
        times(Deriver::of_logged_run("t", "r")),
        ("recorder", text("2026-04-14T19:00:01Z"), Some(text("2026-04-14T19:00:01Z")))
    );
    let given = Times::Given { started_at: text("2026-04-14T21:00:00+02:00"), finished_at: None };
    assert_eq!(times(Deriver::new(given)), ("given", text("2026-04-14T21:00:00+02:00"), None));
    let bad = Times::Given { started_at: text("yesterday"), finished_at: None };
    assert!(derived_by(Deriver::new(bad), &events).unwrap_err().has(Reason::BadTime));
    let mut start = started();
    start.as_object_mut().unwrap().remove("timestamp");
    assert_eq!(reasons(&[start, hello(), finished()]), [Reason::NoClock]);
}

#[test]
fn a_log_tells_what_it_did_not_keep() {
    let mut deriver = Deriver::of_logged_run("t", "r");
    deriver.push(3, Some(0), started().to_string().as_bytes());
    deriver.push(5, Some(0), hello().to_string().as_bytes());
    deriver.push_rejected(6, failed().to_string().as_bytes());
    deriver.push(8, Some(0), finished().to_string().as_bytes());
    deriver.push_rejected(9, b"nonsense");
    let range = deriver.clone().finish().unwrap().range;
    assert_eq!((range.first, range.last, range.count), (3, 8, 3));
    deriver.push_rejected(10, failed().to_string().as_bytes());
    deriver.refuse_source(Refusal::raw_not_kept("merged"));
    deriver.refuse_source(Refusal::raw_not_kept("merged"));
    let refused = deriver.finish().unwrap_err();
    let told: Vec<Reason> = refused.refusals().iter().map(|refusal| refusal.reason).collect();
    assert_eq!(told, [Reason::DoubleTerminal, Reason::RawNotKept]);
}

#[test]
fn events_are_strict_json_where_they_matter() {
    let with = |event: &str| {
        let mut deriver = Deriver::new(Times::OfEvents);
        deriver.push(0, None, started().to_string().as_bytes());
        deriver.push(1, None, event.as_bytes());
        deriver.push(2, None, finished().to_string().as_bytes());
        deriver.finish().unwrap_err().refusals()[0].clone()
    };
    let twice = with(r#"{"type":"MESSAGES_SNAPSHOT","messages":[],"messages":[]}"#);
    assert_eq!((twice.reason, twice.offset), (Reason::DuplicateKey, Some(1)));
    assert_eq!(with(r#"{"type":"MESSAGES_SNAPSHOT","messages":["\ud83d"]}"#).reason, Reason::LoneSurrogate);
    assert_eq!(with(r#"{"type":"MESSAGES_SNAPSHOT"}"#).reason, Reason::MalformedEvent);
    assert_eq!(with("[]").reason, Reason::MalformedEvent);
    assert_eq!(with("{").reason, Reason::MalformedEvent);
}

fn texts() -> impl Strategy<Value = Value> {
    prop_oneof![
        "[a-zA-Z0-9 .,!?]{0,40}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(Value::Null)
    ]
}

fn messages() -> impl Strategy<Value = Value> {
    let role =
        proptest::sample::select(vec!["user", "assistant", "system", "developer", "tool", "reasoning"]);
    let message = (0..9_u32, role, texts(), proptest::option::weighted(0.2, texts())).prop_map(
        |(id, role, content, name)| match name {
            Some(name) => json!({"id": format!("m{id}"), "role": role, "content": content, "name": name}),
            None => json!({"id": format!("m{id}"), "role": role, "content": content}),
        },
    );
    proptest::collection::vec(message, 1..4).prop_map(Value::from)
}

fn events() -> impl Strategy<Value = Vec<Value>> {
    let event = prop_oneof![
        4 => Just(started()),
        6 => messages().prop_map(snapshot),
        4 => Just(finished()),
        2 => (texts(), texts()).prop_map(|(message, code)| json!({"type": "RUN_ERROR", "message": message, "code": code})),
        1 => Just(json!({"type": "CUSTOM", "name": "n", "value": 1})),
    ];
    let any_order = proptest::collection::vec(event, 0..6);
    let a_run = (messages(), any::<bool>()).prop_map(|(messages, failed_it)| {
        vec![started(), snapshot(messages), if failed_it { failed() } else { finished() }]
    });
    prop_oneof![any_order, a_run]
}

proptest! {
    /// What is derived keeps to the contract, and is derived again byte for byte.
    #[test]
    fn every_artifact_that_is_derived_passes(events in events()) {
        if let Ok(one) = derived(&events) {
            let written = one.artifact.to_json();
            prop_assert_eq!(&check(written.as_bytes()).unwrap(), &one.artifact);
            prop_assert_eq!(derived(&events).unwrap(), one);
        }
    }

    #[test]
    fn no_bytes_crash_the_deriver(events in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..64), 0..4)) {
        let mut deriver = Deriver::new(Times::OfEvents);
        for (offset, event) in (0..).zip(&events) {
            deriver.push(offset, None, event);
        }
        prop_assert!(deriver.finish().is_err());
    }
}
