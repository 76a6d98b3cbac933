//! An endpoint with every deviation of a drift analysis, over HTTP and over a WebSocket alone.

use super::endpoint::{Asked, Endpoint, answer, refused, sse};
use super::{checked, finding, report, rules};
use serde_json::{Value, json};

/// A run in the words of the dialect.
fn run(session: &str) -> Vec<String> {
    let call = json!({"id": "call-1", "name": "search", "arguments": {"query": "weather"}});
    let events = [
        json!({"type": "lifecycle.start", "sessionId": session}),
        json!({"type": "typingStart", "agentId": "a"}),
        json!({"type": "messageDelta", "messageId": "m-1", "delta": {"type": "text", "text": "Hello"}}),
        json!({"type": "messageDelta", "messageId": "m-1", "delta": {"type": "text", "text": ", world"}}),
        json!({"type": "typingStop", "agentId": "a"}),
        json!({"type": "toolCall", "toolCallId": "call-1", "name": "search", "arguments": {"query": "weather"}}),
        json!({"type": "toolResult", "toolCallId": "call-1", "result": "sunny"}),
        json!({"type": "stateSnapshot", "eventId": "e-1", "snapshot": {"count": 1}}),
        json!({"type": "stateDelta", "eventId": "e-2", "patch": [{"op": "replace", "path": "/count", "value": 2}]}),
        json!({"type": "messagesSnapshot", "eventId": "e-3", "messages": [
            {"id": "u-1", "role": "user", "content": "What is the weather?"},
            {"id": "m-1", "role": "assistant", "content": "Hello, world", "toolCalls": [call]},
        ]}),
        json!({"type": "taskSubmitted", "taskId": "t-1"}),
        json!({"type": "agentConfigSnapshot", "config": {}}),
        json!({"type": "budgetStatusUpdate", "spent": 0.25}),
        json!({"type": "lifecycle.end", "reason": "completed"}),
    ];
    events.iter().map(Value::to_string).collect()
}

/// The roles that the dialect has.
const ROLES: [&str; 3] = ["user", "assistant", "system"];

fn over_http(asked: &Asked) -> Vec<u8> {
    if (asked.method.as_str(), asked.path.as_str()) != ("POST", "/agent") {
        return refused(404);
    }
    let Some(input) = asked.valid_input() else { return refused(400) };
    let is_known = |message: &Value| ROLES.iter().any(|role| message["role"] == *role);
    if !input["messages"].as_array().expect("messages").iter().all(is_known) {
        return answer(
            400,
            &[("content-type", "text/plain")],
            "unknown variant, expected one of user, assistant, system",
        );
    }
    sse(&run("s-1"))
}

/// What it says over a WebSocket, where it listens to words of its own only.
fn over_socket(message: &str) -> Vec<String> {
    let message: Value = serde_json::from_str(message).unwrap_or_default();
    match message["type"].as_str() {
        Some("connect") => vec![json!({"type": "chatOpen", "sessionId": message["sessionId"]}).to_string()],
        Some("userMessage") => run(message["sessionId"].as_str().expect("a session")),
        _ => vec![
            json!({"type": "lifecycle.error", "code": "parse", "message": "missing field `type`"})
                .to_string(),
        ],
    }
}

/// The deviations of the analysis that are in the events, whatever they travel over.
const OF_EVENTS: [&str; 16] = [
    "arguments_not_text",
    "camel_case_types",
    "configuration_event",
    "custom_event",
    "end_reason",
    "event_id",
    "flat_tool_call",
    "lifecycle_names",
    "message_delta",
    "missing_role",
    "no_capabilities",
    "patch_for_delta",
    "session_id",
    "task_event",
    "tool_call_at_once",
    "typing_event",
];

fn assert_all_named(report: &Value) {
    let found = rules(report);
    for rule in OF_EVENTS {
        assert!(found.contains(rule), "{rule} is not in {found:?}");
    }
    assert_eq!(report["verdict"], "severe");
    for finding in report["findings"].as_array().expect("findings") {
        for member in ["message", "specification", "advice"] {
            assert!(finding[member].as_str().is_some_and(|text| !text.is_empty()), "{finding}");
        }
        let evidence = finding["evidence"].as_array().expect("evidence");
        assert!(
            evidence.iter().any(|it| it["text"].as_str().is_some_and(|text| !text.is_empty())),
            "{finding}"
        );
    }
    let advice = |rule| finding(report, rule)["advice"].as_str().expect("advice").to_owned();
    assert!(advice("typing_event").contains("ACTIVITY_SNAPSHOT"));
    assert!(advice("task_event").contains("STEP_STARTED"));
    assert!(advice("configuration_event").contains("STATE_SNAPSHOT"));
    assert!(advice("custom_event").contains("\"CUSTOM\", \"name\": \"vendor."), "{}", advice("custom_event"));
    assert_eq!(
        finding(report, "event_id")["types"],
        json!(["stateSnapshot", "stateDelta", "messagesSnapshot"])
    );
    let evidence = finding(report, "patch_for_delta")["evidence"][0]["text"].as_str().expect("a frame");
    assert!(evidence.contains("\"patch\":["), "{evidence}");
}

#[test]
fn every_deviation_is_named_over_http() {
    let endpoint = Endpoint::start(over_http);
    let report = report(&endpoint.url("http"), &[]);
    assert_all_named(&report);
    assert!(!rules(&report).contains("websocket_only"));
    // Those roles are missing that are, and only those.
    let findings = report["findings"].as_array().expect("findings").iter();
    let roles: Vec<&str> = findings
        .filter(|finding| finding["code"] == "missing_role")
        .filter_map(|finding| finding["message"].as_str()?.strip_prefix("a history with the role "))
        .filter_map(|rest| rest.split(' ').next())
        .collect();
    assert_eq!(roles, ["developer", "tool", "reasoning"]);
}

#[test]
fn every_deviation_is_named_over_a_websocket_alone() {
    for scheme in ["http", "ws"] {
        let endpoint = Endpoint::with_socket(|_| refused(404), over_socket);
        let report = report(&endpoint.url(scheme), &[]);
        assert_all_named(&report);
        let found = rules(&report);
        assert!(found.contains("websocket_only") && found.contains("no_run_agent_input"), "{found:?}");
        let evidence = &finding(&report, "websocket_only")["evidence"];
        assert!(evidence[1]["text"].as_str().expect("a text").contains("101"), "{evidence}");
        // Nothing is asked that needs runs over HTTP.
        assert!(endpoint.asked().iter().filter(|asked| asked.method == "POST").count() == 1);
    }
}

#[test]
fn the_report_is_written_for_people_and_for_programs() {
    let endpoint = Endpoint::start(over_http);
    let url = endpoint.url("http");
    let text = checked(&url, &[]);
    assert_eq!(text.code, 1);
    for line in
        ["severe: ", "for clients of 0.x", "[patch_for_delta]", "-> write delta", "AG-UI (1.0 and 0.x): "]
    {
        assert!(text.text().contains(line), "{line}: {}", text.text());
    }
    let markdown = checked(&url, &["--format", "markdown"]);
    for line in ["# AG-UI drift report: `http", "| transport |", "### error: `message_delta`", "- to do: "] {
        assert!(markdown.text().contains(line), "{line}: {}", markdown.text());
    }
    let sarif: Value = serde_json::from_str(checked(&url, &["--format", "sarif"]).text()).expect("JSON");
    let run = &sarif["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    let results = run["results"].as_array().expect("results");
    assert!(!results.is_empty());
    for result in results {
        assert!(rules.iter().any(|rule| rule["id"] == result["ruleId"]), "{result}");
        assert!(matches!(result["level"].as_str(), Some("error" | "warning" | "note")));
        assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], url.as_str());
    }
}
