//! Who arrives in the middle of a run, at each of its offsets, ends with what those hold who were there from the start.

use super::fixture::{Server, captures, is_on_several_instances, request, step_by_step};
use super::node::{Kind, Node};
use crate::{parse, text};
use http::HeaderMap;
use serde_json::{Value, json};
use threadline_client::{Endpoint, EndpointOptions, EventStream};
use threadline_protocol::Message;
use threadline_protocol::run::Interrupt;
use threadline_protocol::stages::consumer::Consumer;
use threadline_protocol::stages::fold::Fold;
use threadline_testkit::random::Random;
use threadline_testkit::streams;
use threadline_testkit::upstream::Signal;

/// How many generated streams are joined everywhere by our own client.
const GENERATED: u64 = 300;
/// How many, where every event goes through a database.
const GENERATED_ON_SEVERAL: u64 = 40;
/// Every so many of them are joined by the published clients, too.
const SAMPLED: usize = 50;

/// A run that is played event by event.
struct Play<'s> {
    server: &'s Server,
    thread: String,
    run: String,
    events: &'s [String],
    next: Signal,
}

impl Play<'_> {
    /// Lets the agent say the event at this place, and waits until it is stored.
    fn say(&self, place: usize) {
        self.next.raise();
        // The start that the server makes comes before all of them.
        self.server.wait_for_records(&self.thread, place as u64 + 2);
    }
}

/// The first run of a stream, if it has an end.
fn first_run(stream: &[String]) -> Option<&[String]> {
    let is_end = |json: &String| matches!(text(&parse(json)["type"]), "RUN_FINISHED" | "RUN_ERROR");
    let end = stream.iter().position(is_end)?;
    Some(&stream[..=end])
}

/// Plays the runs one after the other on one server, each on a thread of its own.
fn play_all(runs: &[&[String]], mut each: impl FnMut(usize, &Play<'_>)) {
    let signals: Vec<Signal> = runs.iter().map(|_| Signal::default()).collect();
    let server = Server::with_scripts(runs.iter().zip(&signals).map(|(run, next)| step_by_step(run, next)));
    for (number, (events, next)) in runs.iter().zip(signals).enumerate() {
        let run = parse(&events[0])["runId"].as_str().unwrap_or("run").to_owned();
        each(number, &Play { server: &server, thread: format!("thread {number}"), run, events, next });
    }
}

/// Joins at every place with a new agent of a published client.
fn join_everywhere(node: &mut Node, play: &Play<'_>, kind: Kind) {
    let url = play.server.url("/agui");
    let open = |node: &mut Node, name: &str| node.open(name, kind, &url, &play.thread);
    open(node, "first");
    node.begin("first", json!({"runId": play.run}));
    for place in 0..play.events.len() {
        let name = place.to_string();
        open(node, &name);
        node.attach(&name);
        play.say(place);
    }
    let whole = node.end("first").well();
    open(node, "late");
    node.attach("late");
    for place in (0..play.events.len()).map(|place| place.to_string()).chain(["late".to_owned()]) {
        let joined = node.end(&place).well();
        assert_eq!(joined.kept(), whole.kept(), "{kind:?} at {place} of {:#?}", play.events);
    }
}

fn lines(events: &[Value]) -> Vec<String> {
    events.iter().map(Value::to_string).collect()
}

/// Streams with everything that can be open.
fn open_things() -> Vec<Vec<String>> {
    let started = json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"});
    let finished = json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"});
    let bodies = [
        json!([
            {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "one "},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "two"},
            {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "m"},
            {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{\"a\""},
            {"type": "TEXT_MESSAGE_END", "messageId": "m"},
            {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": ":1}"},
            {"type": "TOOL_CALL_END", "toolCallId": "c"},
            {"type": "TOOL_CALL_RESULT", "messageId": "res", "toolCallId": "c", "content": "2"},
        ]),
        json!([
            {"type": "REASONING_START", "messageId": "span"},
            {"type": "REASONING_MESSAGE_START", "messageId": "th", "role": "reasoning"},
            {"type": "REASONING_MESSAGE_CONTENT", "messageId": "th", "delta": "let me "},
            {"type": "REASONING_MESSAGE_CONTENT", "messageId": "th", "delta": "see"},
            {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "th", "encryptedValue": "x"},
            {"type": "REASONING_MESSAGE_END", "messageId": "th"},
            {"type": "REASONING_END", "messageId": "span"},
        ]),
        json!([
            {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "one "},
            {"type": "TEXT_MESSAGE_CHUNK", "delta": "two "},
            {"type": "ACTIVITY_SNAPSHOT", "messageId": "act", "activityType": "PLAN", "content": {"n": 1}},
            {"type": "TEXT_MESSAGE_CHUNK", "delta": "three"},
            {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "f", "delta": "{"},
            {"type": "TOOL_CALL_CHUNK", "delta": "}"},
            {"type": "REASONING_MESSAGE_CHUNK", "messageId": "th", "delta": "hm"},
            {"type": "REASONING_MESSAGE_CHUNK", "delta": "m"},
            {"type": "ACTIVITY_DELTA", "messageId": "act", "activityType": "PLAN",
             "patch": [{"op": "replace", "path": "/n", "value": 2}]},
        ]),
        json!([
            {"type": "STEP_STARTED", "stepName": "s"},
            {"type": "SUBAGENT_STARTED", "subagentRunId": "outer", "name": "o"},
            {"type": "STEP_STARTED", "stepName": "s", "subagentRunId": "outer"},
            {"type": "SUBAGENT_STARTED", "subagentRunId": "inner", "name": "i", "parentSubagentRunId": "outer"},
            {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant", "subagentRunId": "inner"},
            {"type": "STEP_FINISHED", "stepName": "s", "subagentRunId": "outer"},
            {"type": "SUBAGENT_FINISHED", "subagentRunId": "outer"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "deep", "subagentRunId": "inner"},
            {"type": "TEXT_MESSAGE_END", "messageId": "m", "subagentRunId": "inner"},
            {"type": "TEXT_MESSAGE_CHUNK", "messageId": "n", "delta": "chunk", "subagentRunId": "inner"},
            {"type": "SUBAGENT_FINISHED", "subagentRunId": "inner"},
            {"type": "STEP_FINISHED", "stepName": "s"},
        ]),
        json!([
            {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a", "value": [1]}]},
            {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a/-", "value": 2}]},
            {"type": "STATE_SNAPSHOT", "snapshot": {"b": null}},
            {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/b", "value": 3}]},
        ]),
    ];
    let whole = bodies.map(|body| {
        let body = body.as_array().expect("events").clone();
        lines(&[vec![started.clone()], body, vec![finished.clone()]].concat())
    });
    whole.into()
}

#[test]
pub(super) fn published_clients_join_whatever_is_open() {
    let mut node = Node::start();
    let streams = open_things();
    for kind in Kind::ALL {
        let runs: Vec<&[String]> = streams.iter().map(Vec::as_slice).collect();
        play_all(&runs, |_, play| join_everywhere(&mut node, play, kind));
    }
}

#[test]
pub(super) fn published_clients_join_recorded_runs_anywhere() {
    let mut node = Node::start();
    let captures = captures();
    for kind in [Kind::Current, Kind::Old] {
        let runs: Vec<&[String]> = captures.iter().filter_map(|(_, events)| first_run(events)).collect();
        assert!(runs.len() > 10, "most of them have an end");
        play_all(&runs, |_, play| join_everywhere(&mut node, play, kind));
    }
}

#[test]
pub(super) fn generated_runs_are_joined_anywhere() {
    let mut node = Node::start();
    let generated = if is_on_several_instances() { GENERATED_ON_SEVERAL } else { GENERATED };
    let streams: Vec<Vec<String>> =
        (0..generated).map(|seed| lines(&streams::valid(&mut Random::new(seed)))).collect();
    let recorded = captures();
    let recorded = recorded.iter().map(|(_, events)| events);
    let runs: Vec<&[String]> =
        streams.iter().chain(recorded).filter_map(|events| first_run(events)).collect();
    let mut places = 0;
    play_all(&runs, |number, play| {
        if number % SAMPLED == 0 {
            join_everywhere(&mut node, play, Kind::Current);
        } else {
            join_everywhere_ourselves(play);
        }
        places += play.events.len() + 1;
    });
    println!("{} runs joined at {places} places", runs.len());
    let (expected, enough) = (generated * 5 / 6, 12 * runs.len());
    assert!(runs.len() as u64 > expected && places > enough, "{} runs, {places} places", runs.len());
}

/// The same with our own client and our own strict pipeline.
fn join_everywhere_ourselves(play: &Play<'_>) {
    let first = open(play, "/agui", &play.run);
    let mut joined: Vec<EventStream> = Vec::new();
    for place in 0..play.events.len() {
        joined.push(open(play, "/agui/connect", "c"));
        play.say(place);
    }
    let whole = held(play, first);
    joined.push(open(play, "/agui/connect", "c"));
    for (place, stream) in joined.into_iter().enumerate() {
        assert_eq!(held(play, stream), whole, "at {place} of {:#?}", play.events);
    }
}

fn open(play: &Play<'_>, path: &str, run: &str) -> EventStream {
    let endpoint = Endpoint::new(&play.server.url(path), EndpointOptions::default()).expect("a good URL");
    let body = request(&play.thread, run, &json!([])).to_string();
    play.server.wait_for(endpoint.run(body.into(), &HeaderMap::new())).expect("an answer")
}

/// What a client holds at the end of a stream that it took without complaint.
fn held(play: &Play<'_>, mut stream: EventStream) -> Value {
    let mut consumer = Consumer::new(Fold::new());
    while let Some(event) = play.server.wait_for(stream.next()) {
        let event = event.expect("a stream that is not cut");
        let json = std::str::from_utf8(&event.bytes).expect("JSON");
        consumer.push(json, |_| {}).unwrap_or_else(|stop| panic!("{stop:?} at {json}"));
    }
    let fold = consumer.fold();
    let values = |texts: &mut dyn Iterator<Item = String>| texts.map(|text| parse(&text)).collect::<Value>();
    json!({
        "messages": values(&mut fold.messages().map(Message::to_json)),
        "state": parse(fold.state().as_str()),
        "interrupts": values(&mut fold.interrupts().iter().map(Interrupt::to_json)),
    })
}
