//! Endpoints that do one thing wrong each.

use super::endpoint::{Asked, Endpoint, answer, held, refused, sse};
use super::good::{aside, run_of, text};
use super::{finding, report, rules};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What is found at an endpoint that is good but for this.
fn found(slip: impl Fn(&Asked) -> Option<Vec<u8>> + Send + Sync + 'static) -> Value {
    let endpoint = Endpoint::start(move |asked| {
        let good = || sse(&run_of(&asked.valid_input().expect("an input"), &text("m")));
        slip(asked).or_else(|| aside(asked)).unwrap_or_else(good)
    });
    report(&endpoint.url("http"), &["--say", "fail"])
}

fn is(report: &Value, rule: &str) {
    assert_eq!(rules(report), BTreeSet::from([rule]), "{report:#}");
    // The summary counts it where it belongs.
    let area = &finding(report, rule)["area"];
    let row = report["summary"].as_array().expect("rows").iter().find(|row| row["area"] == *area);
    let (v1, v0) = (&row.expect("a row")["1.0"], &row.expect("a row")["0.x"]);
    let count = |tally: &Value| {
        ["errors", "warnings", "notes"].iter().filter_map(|it| tally[it].as_u64()).sum::<u64>()
    };
    let affects = finding(report, rule)["affects"].as_array().expect("eras");
    assert_eq!(count(v1) > 0, affects.contains(&json!("1.0")), "{rule}");
    assert_eq!(count(v0) > 0, affects.contains(&json!("0.x")), "{rule}");
}

/// The run of an input, as bytes of server-sent events.
fn body(asked: &Asked) -> Option<(Value, String)> {
    let input = asked.valid_input()?;
    let events = run_of(&input, &text("m"));
    Some((input, events.iter().map(|event| format!("data: {event}\n\n")).collect()))
}

const SSE: (&str, &str) = ("content-type", "text/event-stream");

#[test]
fn discovery() {
    is(&found(|it| (it.method == "GET" && it.path == "/agent").then(|| refused(500))), "url_fails");
    is(&found(|it| (it.method == "GET").then(|| refused(404))), "no_capabilities");
    let capabilities = |document: &'static str| {
        move |it: &Asked| {
            (it.path == "/agent/capabilities")
                .then(|| answer(200, &[("content-type", "application/json")], document))
        }
    };
    is(&found(capabilities("[1]")), "capabilities_not_json");
    is(&found(capabilities(r#"{"multiAgent":{"subAgents":[]}}"#)), "capabilities_malformed");
    is(&found(capabilities(r#"{"tools":{"supported":"yes"}}"#)), "capabilities_malformed");
    is(&found(capabilities(r#"{"transport":{"httpBinary":true}}"#)), "capability_not_kept");
}

#[test]
fn framing() {
    let with = |change: fn(String) -> String, content_type: (&'static str, &'static str)| {
        found(move |it| body(it).map(|(_, body)| answer(200, &[content_type], change(body))))
    };
    is(&with(|body| body + "data: [DONE]\n\n", SSE), "sse_done_marker");
    is(&with(|body| format!("data:\n\n{body}"), SSE), "sse_empty_data");
    is(&with(|body| body.replace('\n', "\r\n"), SSE), "sse_line_ends");
    is(&with(|body| body, ("content-type", "application/json")), "content_type");
}

#[test]
fn a_body_that_breaks_or_is_empty() {
    let cut = found(|it| {
        let (_, body) = body(it)?;
        let whole = answer(200, &[SSE], body);
        Some(String::from_utf8_lossy(&whole).replace("content-length: ", "content-length: 9").into_bytes())
    });
    is(&cut, "body_cut");
    let empty = found(|it| it.valid_input().map(|_| answer(200, &[SSE], "")));
    assert!(rules(&empty).contains("no_events"), "{empty:#}");
    let page = found(|it| it.valid_input().map(|_| answer(200, &[("content-type", "text/html")], "<p>")));
    assert!(rules(&page).contains("no_run"), "{page:#}");
}

#[test]
fn requests_that_are_not_answered_or_answered_elsewhere() {
    // It goes away at what is no JSON, as a server does that crashes.
    let gone = found(|it| (it.method == "POST" && it.input().is_none()).then(Vec::new));
    is(&gone, "no_answer");
    let advice = |status: u16, headers: &'static [(&'static str, &'static str)]| {
        let report = found(move |it| (it.method == "POST").then(|| answer(status, headers, "")));
        finding(&report, "no_run")["advice"].as_str().expect("advice").to_owned()
    };
    assert!(advice(401, &[]).contains("--header"));
    assert!(advice(307, &[("location", "http://other/agent/")]).ends_with("http://other/agent/"));
}

#[test]
fn a_body_that_does_not_end() {
    let is_failing = |it: &Asked| it.body.contains("\"content\":\"fail\"");
    let open = found(move |it| {
        let input = it.valid_input().filter(|_| is_failing(it))?;
        Some(held(&run_of(&input, &text("m"))))
    });
    is(&open, "body_not_closed");
    let endpoint = Endpoint::start(move |it| match (aside(it), it.valid_input()) {
        (None, Some(input)) if is_failing(it) => held(&run_of(&input, &[])[..1]),
        (None, Some(input)) => sse(&run_of(&input, &[])),
        (refusal, _) => refusal.expect("an answer to what is no run"),
    });
    let silent = report(&endpoint.url("http"), &["--say", "fail", "--timeout", "1"]);
    assert_eq!(rules(&silent), BTreeSet::from(["run_not_ended", "silent_run"]), "{silent:#}");
}

#[test]
fn protobuf() {
    let with = |content_type: &'static str, bytes: &'static [u8]| {
        found(move |it| {
            (it.accepts("proto") && it.valid_input().is_some())
                .then(|| answer(200, &[("content-type", content_type)], bytes))
        })
    };
    // RUN_ERROR, whole, but for its type's parameter; and something that is no frame.
    let frame = b"\x00\x00\x00\x09\x72\x07\x0a\x02\x08\x0d\x1a\x01x";
    is(&with("application/vnd.ag-ui.event+proto; v=1", frame), "content_type_parameters");
    assert!(
        rules(&with("application/vnd.ag-ui.event+proto", b"data: {}\n\n")).contains("protobuf_mislabelled")
    );
    is(&found(|it| it.accepts("proto").then(|| refused(406))), "protobuf_refused");
}

#[test]
fn pages_of_others() {
    let cors = |headers: &'static [(&'static str, &'static str)]| {
        found(move |it| (it.method == "OPTIONS").then(|| answer(204, headers, "")))
    };
    is(
        &cors(&[("access-control-allow-origin", "*"), ("access-control-allow-methods", "POST")]),
        "cors_incomplete",
    );
    let any = &[
        ("access-control-allow-origin", "https://threadline-check.invalid"),
        ("access-control-allow-headers", "authorization, Content-Type"),
        ("access-control-allow-credentials", "true"),
    ];
    is(&cors(any), "cors_any_with_credentials");
    let fine = &[("access-control-allow-origin", "*"), ("access-control-allow-headers", "*")];
    assert_eq!(rules(&cors(fine)), BTreeSet::new());
    is(&found(|it| (it.method == "OPTIONS").then(|| refused(500))), "preflight_fails");
}

#[test]
fn input_that_must_be_refused() {
    let bad = |it: &Asked| it.method == "POST" && it.valid_input().is_none();
    is(&found(move |it| bad(it).then(|| refused(500))), "bad_input_fails");
    is(
        &found(move |it| bad(it).then(|| sse(&run_of(&json!({"threadId": "t", "runId": "r"}), &[])))),
        "bad_input_starts_run",
    );
    let error = json!({"type": "RUN_ERROR", "message": "no input"}).to_string();
    is(&found(move |it| bad(it).then(|| sse(std::slice::from_ref(&error)))), "bad_input_streams");
}

/// Refuses runs whose body has this.
fn without(what: &'static str) -> Value {
    found(move |it| (it.method == "POST" && it.body.contains(what)).then(|| refused(422)))
}

#[test]
fn input_that_must_be_taken() {
    is(&without("threadlineProbe"), "unknown_members_refused");
    is(&without("\"image\""), "parts_refused");
    is(&without("\"parameters\""), "tools_refused");
    is(&without("\"resume\""), "resume_refused");
    is(&without("\"reasoning\""), "missing_role");
    is(&without("17 times 23"), "run_fails");
    let legacy = found(|it| {
        it.valid_input().filter(|input| input.get("protocolVersion").is_none()).map(|_| refused(422))
    });
    is(&legacy, "legacy_refused");
}

#[test]
fn runs_that_go_on() {
    // It calls the tool it is offered, and does not want to know the result.
    let called = found(|it| {
        let input = it.valid_input().filter(|input| input["tools"] != json!([]))?;
        if it.body.contains("\"toolCallId\"") {
            return Some(refused(500));
        }
        Some(sse(&run_of(
            &input,
            &[
                json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": input["tools"][0]["name"]}),
                json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"}),
                json!({"type": "TOOL_CALL_END", "toolCallId": "c"}),
            ],
        )))
    });
    is(&called, "tool_result_refused");
    // It asks, and does not take an answer.
    let asks = found(|it| {
        let input = it.valid_input()?;
        if it.body.contains("\"interruptId\":\"i\"") {
            return Some(refused(409));
        }
        let is_asked = it.body.contains("approve");
        let (thread, run) = (&input["threadId"], &input["runId"]);
        let interrupts = json!({"type": "interrupt", "interrupts": [{"id": "i", "reason": "confirmation"}]});
        is_asked.then(|| {
            sse(&[
                json!({"type": "RUN_STARTED", "threadId": thread, "runId": run, "protocolVersion": "1.0"})
                    .to_string(),
                json!({"type": "RUN_FINISHED", "threadId": thread, "runId": run, "outcome": interrupts})
                    .to_string(),
            ])
        })
    });
    is(&asks, "answer_refused");
    assert_eq!(finding(&asks, "answer_refused")["evidence"][0]["request"], "answer");
}

#[test]
fn runs() {
    let other =
        found(|it| it.valid_input().map(|_| sse(&run_of(&json!({"threadId": "t", "runId": "r"}), &[]))));
    is(&other, "other_ids");
    let fails = found(|it| {
        let input = it.valid_input().filter(|_| it.body.contains("\"content\":\"fail\""))?;
        let mut events = run_of(&input, &text("m")[..2]);
        events.pop();
        events.push(json!({"type": "RUN_ERROR", "message": "gone"}).to_string());
        Some(sse(&events))
    });
    is(&fails, "open_at_run_error");
    assert!(
        finding(&fails, "open_at_run_error")["message"]
            .as_str()
            .expect("text")
            .ends_with("a text message (m)")
    );
    let fails = json!({"type": "RUN_ERROR", "message": "no model"}).to_string();
    let fails = found(move |it| it.valid_input().map(|_| sse(std::slice::from_ref(&fails))));
    is(&fails, "plain_run_fails");
    let undeclared = found(|it| {
        let events = run_of(&it.valid_input()?, &[]);
        Some(sse(&events
            .iter()
            .map(|event| event.replace("\"protocolVersion\":\"1.0\",", ""))
            .collect::<Vec<_>>()))
    });
    is(&undeclared, "version_undeclared");
}

#[test]
fn clients_of_0_x() {
    let legacy = |between: fn() -> Vec<Value>, outcome: fn() -> Value| {
        found(move |it| {
            let input = it.valid_input().filter(|input| input.get("protocolVersion").is_none())?;
            let mut events = run_of(&input, &between());
            let mut end: Value = serde_json::from_str(&events.pop().expect("an end")).expect("JSON");
            end["outcome"] = outcome();
            events.push(end.to_string());
            Some(sse(&events))
        })
    };
    let subagents = legacy(
        || {
            vec![
                json!({"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "n"}),
                json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "s"}),
            ]
        },
        || json!({"type": "success"}),
    );
    is(&subagents, "legacy_subagents");
    is(&legacy(Vec::new, || json!({"type": "cancelled"})), "legacy_outcome");
    is(&legacy(Vec::new, || json!({"type": "success", "pendingToolCallIds": []})), "legacy_outcome");
}
