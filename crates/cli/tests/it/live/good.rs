//! An endpoint that does everything right, and one that does as little as it may.

use super::endpoint::{Asked, Endpoint, answer, refused, sse};
use super::{checked, report, rules};
use crate::run;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::Command;

/// The plainest run, with something in between.
pub(super) fn run_of(input: &Value, between: &[Value]) -> Vec<String> {
    let (thread, run) = (&input["threadId"], &input["runId"]);
    let mut events =
        vec![json!({"type": "RUN_STARTED", "threadId": thread, "runId": run, "protocolVersion": "1.0"})];
    events.extend_from_slice(between);
    events.push(json!({"type": "RUN_FINISHED", "threadId": thread, "runId": run}));
    events.iter().map(Value::to_string).collect()
}

pub(super) fn text(id: &str) -> Vec<Value> {
    vec![
        json!({"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"}),
        json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": "Hello."}),
        json!({"type": "TEXT_MESSAGE_END", "messageId": id}),
    ]
}

/// What a good endpoint does with anything but a run.
pub(super) fn aside(asked: &Asked) -> Option<Vec<u8>> {
    match (asked.method.as_str(), asked.path.as_str()) {
        ("POST", "/agent") => asked.valid_input().is_none().then(|| refused(422)),
        ("GET", "/agent/capabilities") => {
            let capabilities = json!({"identity": {"name": "good"}, "transport": {"streaming": true}});
            Some(answer(200, &[("content-type", "application/json")], capabilities.to_string()))
        }
        (_, "/agent") => Some(refused(405)),
        _ => Some(refused(404)),
    }
}

fn good(asked: &Asked) -> Vec<u8> {
    aside(asked).unwrap_or_else(|| sse(&run_of(&asked.valid_input().expect("an input"), &text("m"))))
}

#[test]
fn nothing_is_found_where_nothing_is_wrong_and_no_more_is_sent_than_announced() {
    let endpoint = Endpoint::start(good);
    let report = report(&endpoint.url("http"), &["--say", "one", "--say", "two"]);
    assert_eq!(rules(&report), BTreeSet::new(), "{report:#}");
    assert_eq!(report["verdict"], "conformant");
    let asked = endpoint.asked();
    assert_eq!(asked.len(), report["requests"].as_array().expect("requests").len());
    let said: Vec<&Asked> = asked.iter().filter(|asked| asked.body.contains("\"content\":\"two\"")).collect();
    assert_eq!(said.len(), 1);
    // Every run is a thread of its own, so that nothing gets into anything else.
    let inputs = asked.iter().filter_map(Asked::valid_input);
    let threads: Vec<String> = inputs.map(|input| input["threadId"].to_string()).collect();
    assert_eq!(threads.iter().collect::<BTreeSet<_>>().len(), threads.len());
}

#[test]
fn the_plan_says_how_much_is_sent_at_most() {
    let endpoint = Endpoint::start(good);
    let url = endpoint.url("http");
    let plan = checked(&url, &["--plan"]);
    assert_eq!((plan.code, endpoint.asked().len()), (0, 0));
    let max = |text: &str| -> usize {
        let line = text.lines().find_map(|line| line.strip_prefix("at most ")).expect("a sum");
        line.split(' ').next().and_then(|count| count.parse().ok()).expect("a number")
    };
    let max = max(plan.text());
    let ran = checked(&url, &[]);
    assert_eq!(ran.code, 0, "{}", ran.text());
    // What is said before is the same.
    assert!(ran.stderr.contains(plan.text().trim_end()), "{}", ran.stderr);
    assert!(endpoint.asked().len() <= max, "{max}");
    assert!(ran.text().contains("conformant: nothing wrong in "), "{}", ran.text());
}

#[test]
fn nobody_is_asked_but_this_machine_unless_it_is_said() {
    // An address for documentation, where nobody is.
    let ran = checked("http://192.0.2.1:9/agent", &[]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.ends_with("nothing was sent: the server is not on this machine, say --yes\n"),
        "{}",
        ran.stderr
    );
    assert!(ran.text().is_empty());
}

#[test]
fn headers_go_with_every_request() {
    let endpoint = Endpoint::start(good);
    let ran = checked(&endpoint.url("http"), &["--header", "Authorization: Bearer secret"]);
    assert_eq!(ran.code, 0);
    assert!(endpoint.asked().iter().all(|asked| asked.head.contains("authorization: Bearer secret")));
    assert!(!ran.stderr.contains("secret") && !ran.text().contains("secret"));
}

#[test]
fn an_endpoint_that_is_not_there_is_no_finding() {
    let url = Endpoint::start(good).url("http");
    let ran = checked(&url, &[]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("the endpoint cannot be asked: "), "{}", ran.stderr);
}

#[test]
fn what_is_for_urls_is_refused_for_files() {
    let ran = run(Command::new(env!("CARGO_BIN_EXE_threadline")).args(["check", "-", "--yes"]), "");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("for a URL"), "{}", ran.stderr);
}
