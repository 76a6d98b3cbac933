use super::Normaliser;
use crate::stages::testing::{consumed, lines, read};
use crate::stages::verify::Options;
use proptest::prelude::*;
use serde_json::{Value, json};
use threadline_testkit::random::Random;
use threadline_testkit::streams;

fn normalised(stream: &[Value]) -> Vec<Value> {
    let mut normaliser = Normaliser::new();
    let json = lines(stream);
    let mut out = Vec::new();
    for event in &read(&json) {
        let normalised = normaliser.normalise(event);
        assert_eq!(normalised.removed.is_empty(), normalised.output.is_passed());
        out.extend(
            normalised.output.iter().map(|event| serde_json::from_str::<Value>(&event.to_json()).unwrap()),
        );
    }
    out
}

fn user(id: &str, content: &str) -> Value {
    json!({"role": "user", "id": id, "content": content})
}

/// A run that answers with a message of its own.
fn run(id: &str, parent: Option<&str>, messages: &[Value], answer: &str) -> Vec<Value> {
    let mut input = json!({"threadId": "t", "runId": id, "messages": messages});
    let mut started = json!({"type": "RUN_STARTED", "threadId": "t", "runId": id});
    if let Some(parent) = parent {
        started["parentRunId"] = parent.into();
        input["parentRunId"] = parent.into();
    }
    started["input"] = input;
    vec![
        started,
        json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": answer, "delta": answer}),
        json!({"type": "RUN_FINISHED", "threadId": "t", "runId": id}),
    ]
}

fn assistant(id: &str) -> Value {
    json!({"role": "assistant", "id": id, "content": id})
}

/// The ids of the messages of each run's input.
fn inputs(stream: &[Value]) -> Vec<Vec<String>> {
    let messages = stream.iter().filter_map(|event| event["input"]["messages"].as_array());
    messages
        .map(|all| all.iter().map(|message| message["id"].as_str().unwrap().to_owned()).collect())
        .collect()
}

#[test]
fn what_earlier_runs_hold_is_left_out() {
    let stream = [
        run("1", None, &[user("u1", "Hello")], "a1"),
        run("2", None, &[user("u1", "Hello"), assistant("a1"), user("u2", "And?")], "a2"),
        run("3", None, &[user("u1", "Hello"), assistant("a1"), user("u2", "And?"), assistant("a2")], "a3"),
    ]
    .concat();
    assert_eq!(inputs(&normalised(&stream)), [vec!["u1"], vec!["u2"], vec![]]);
}

#[test]
fn what_is_different_stays() {
    let stream = [
        run("1", None, &[user("u1", "Hello")], "a1"),
        run("2", Some("1"), &[user("u1", "Goodbye"), assistant("a1"), user("u2", "?")], "a2"),
    ]
    .concat();
    assert_eq!(inputs(&normalised(&stream)), [vec!["u1"], vec!["u1", "u2"]]);
}

#[test]
fn another_branch_is_no_ancestor() {
    // The second run is edited: the third begins where the first ended, with what only the second holds.
    let stream = [
        run("1", None, &[user("u1", "Hello")], "a1"),
        run("2", None, &[user("u1", "Hello"), assistant("a1"), user("u2", "And?")], "a2"),
        run("3", None, &[user("u1", "Hello"), assistant("a1"), user("u2", "And?")], "a3"),
        run(
            "4",
            Some("2"),
            &[user("u1", "Hello"), assistant("a1"), user("u2", "And?"), assistant("a2")],
            "a4",
        ),
    ]
    .concat();
    assert_eq!(inputs(&normalised(&stream)), [vec!["u1"], vec!["u2"], vec!["u2"], vec![]]);
    // One that goes back to the start has no ancestors at all.
    let again =
        [run("1", None, &[user("u1", "Hello")], "a1"), run("2", None, &[user("u1", "Hello")], "a2")].concat();
    assert_eq!(inputs(&normalised(&again)), [vec!["u1"], vec!["u1"]]);
}

#[test]
fn a_parent_that_the_thread_does_not_have_is_none() {
    let stream = [
        run("1", None, &[user("u1", "Hello")], "a1"),
        run("2", Some("elsewhere"), &[user("u1", "Hello"), assistant("a1"), user("u2", "And?")], "a2"),
    ]
    .concat();
    assert_eq!(inputs(&normalised(&stream)), [vec!["u1"], vec!["u2"]]);
}

#[test]
fn an_answer_goes_on_where_it_was_asked() {
    let mut first = run("1", None, &[user("u1", "Hello")], "a1");
    first[2]["outcome"] = json!({"type": "interrupt", "interrupts": [{"id": "i", "reason": "confirmation"}]});
    let mut answer = run("3", None, &[user("u1", "Hello")], "a3");
    answer[0]["input"]["resume"] = json!([{"interruptId": "i", "status": "resolved"}]);
    let stream = [first, run("2", None, &[], "a2"), answer].concat();
    assert_eq!(inputs(&normalised(&stream)), [vec!["u1"], vec![], vec![]]);
}

#[test]
fn what_is_left_does_not_look_like_another_branch() {
    // The first message is edited, and the run tried again: what is left of its input begins like no run.
    let input = [user("u1", "Goodbye"), assistant("a1"), user("u2", "?")];
    let mut retried = run("3", None, &input, "a3");
    retried.remove(1);
    let stream =
        [run("1", None, &[user("u1", "Hello")], "a1"), retried, run("4", None, &input, "a4")].concat();
    let once = normalised(&stream);
    assert_eq!(inputs(&once), [vec!["u1"], vec!["u1", "u2"], vec!["u1"]]);
    assert_eq!((&once[3]["parentRunId"], &once[5]["parentRunId"]), (&json!("1"), &json!("3")));
    assert_eq!(normalised(&once), once);
}

#[test]
fn who_reads_all_branches_as_one_misses_nothing_either() {
    let mut second = run("2", None, &[user("u", "Hi"), assistant("a"), user("v", "?")], "b");
    second[1] = json!({"type": "MESSAGES_SNAPSHOT", "messages": [user("u", "Hi"), user("v", "?")]});
    let stream = [
        run("1", None, &[user("u", "Hi")], "a"),
        second,
        run("3", None, &[user("u", "Hi"), assistant("a"), user("w", "!")], "c"),
    ]
    .concat();
    let once = normalised(&stream);
    // An ancestor holds it, but the snapshot on the other branch took it away.
    assert_eq!(inputs(&once), [vec!["u"], vec!["v"], vec!["a", "w"]]);
    assert_eq!(held(&once), held(&stream));
}

/// What a reader of the whole stream holds. Only which run is whose parent may be told better than before.
fn held(stream: &[Value]) -> Value {
    let json = lines(stream);
    let fold = consumed(&read(&json), Options::new()).unwrap();
    let mut held: Value = serde_json::from_str(&fold.checkpoint().to_json()).unwrap();
    for run in held["runs"].as_array_mut().unwrap() {
        run.as_object_mut().unwrap().remove("parentRunId");
    }
    held
}

proptest! {
    #[test]
    fn a_reader_of_the_whole_stream_misses_nothing(seed: u64) {
        let stream = streams::valid(&mut Random::new(seed));
        let once = normalised(&stream);
        prop_assert_eq!(held(&once), held(&stream));
        prop_assert_eq!(normalised(&once), once);
    }
}
