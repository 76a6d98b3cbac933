//! The options of trpc-agent-go's messages snapshot route, as docs/http.md maps them to settings: each at its default, changed,
//! and 0. A switch has no 0 but off.

use crate::harness::{Answer, Frame, Harness, folded, kinds, messages, request, user};
use crate::puppet::Strings;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use threadline_server::Settings;
use threadline_testkit::store::{Gate, GatedStore};
use tokio::time::{Instant, sleep};

/// A server as a configuration file makes it.
fn with(toml: &str) -> Harness {
    Harness::with(settings(toml))
}

fn settings(toml: &str) -> Settings {
    let settings: Settings = toml::from_str(toml).unwrap();
    settings.check().unwrap();
    settings
}

fn ask() -> Value {
    json!({"threadId":"t","runId":"h","protocolVersion":"1.0"})
}

fn finished() -> Value {
    json!({"type":"RUN_FINISHED","threadId":"t","runId":"r1"})
}

/// A run that has begun.
async fn begun(server: &Harness) -> (Strings, Answer) {
    let agent = server.agent.next_run();
    let mut answer = server.post("/agui", &request("r1", &json!([user("u", "hi")]))).await;
    answer.next().await.unwrap();
    (agent, answer)
}

/// A run from its start to its end.
async fn run(server: &Harness) {
    let (agent, answer) = begun(server).await;
    agent.say(&finished());
    answer.all().await;
}

#[test]
fn every_option_is_documented_with_its_setting_and_its_default() {
    let text = include_str!("../../../../docs/http.md");
    let (_, table) = text.split_once("Coming from trpc-agent-go's messages snapshot route:").unwrap();
    let (table, _) = table.split_once("\n\n###").unwrap();
    for (option, setting, default) in [
        ("WithMessagesSnapshotEnabled", "history.enabled", "true"),
        ("WithMessagesSnapshotPath", "paths.history", "/history"),
        ("WithAppName", "scope.app", "default"),
        ("WithAppNameResolver", "scope.app_header", "none"),
        ("WithUserIDResolver", "scope.user_header", "none"),
        ("WithSessionService", "--store", "threadline-data"),
        ("aggregator.WithEnabled", "runs.aggregate", "true"),
        ("WithAggregatorFactory", "App::with_aggregators", "merging"),
        ("WithFlushInterval", "runs.flush_interval", "1s"),
        ("WithPostRunFinalizationTimeout", "runs.finalization_timeout", "5s"),
        ("WithMessagesSnapshotRunLifecycleEventsEnabled", "history.lifecycle", "false"),
        ("WithMessagesSnapshotFollowEnabled", "history.follow", "false"),
        ("WithMessagesSnapshotFollowMaxDuration", "history.follow_max_duration", "1h"),
    ] {
        let row = table.lines().find(|line| line.contains(&format!("`{option}`"))).unwrap();
        assert!(row.contains(setting) && row.contains(default), "{option}: {row}");
    }
}

#[tokio::test]
async fn whether_there_is_a_history() {
    for (toml, status) in [("", 200), ("history.enabled = true", 200), ("history.enabled = false", 404)] {
        let server = with(toml);
        for path in ["/history", "/agents/puppet/history"] {
            assert_eq!(server.post(path, &ask()).await.status, status, "{toml}: {path}");
        }
    }
}

#[tokio::test]
async fn where_the_history_is() {
    let all = ["/history", "/past", "/agents/puppet/history"];
    for (toml, statuses) in [
        ("", [200, 404, 200]),
        ("paths.history = '/past'", [404, 200, 200]),
        // Without a name there is none, but by the name of its agent there is.
        ("paths.history = ''", [404, 404, 200]),
    ] {
        let server = with(toml);
        for (path, status) in all.into_iter().zip(statuses) {
            assert_eq!(server.post(path, &ask()).await.status, status, "{toml}: {path}");
        }
    }
}

/// Who is asked for decides what there is to tell; a resolver that names nobody leaves it at the default.
#[tokio::test]
async fn whose_history_it_is() {
    let headers = [("x-app", "a"), ("x-user", "v")];
    let props = json!({"appId":"a","userId":"v"});
    for (toml, is_told) in [
        // Same app and user for all.
        ("", true),
        ("scope.app = 'other'\nscope.user = 'another'", true),
        ("scope.app = ''\nscope.user = ''", true),
        ("scope.app_header = 'x-app'", false),
        ("scope.user_header = 'x-user'", false),
        ("scope.app_prop = 'appId'", false),
        ("scope.user_prop = 'userId'", false),
        ("scope.app_header = 'x-nobody'\nscope.user_prop = 'nobody'", true),
    ] {
        let server = with(toml);
        run(&server).await;
        let mut body = ask();
        body["forwardedProps"] = props.clone();
        let told = server.post_with("/history", &headers, body.to_string()).await.all().await;
        assert_eq!(messages(&folded(&told)).as_array().unwrap().len(), usize::from(is_told), "{toml}");
        let plain = server.post("/history", &ask()).await.all().await;
        assert_eq!(messages(&folded(&plain)), json!([user("u", "hi")]), "{toml}");
    }
    // An empty name is none.
    let server = with("scope.user_header = 'x-user'\nscope.user_prop = 'userId'");
    run(&server).await;
    let mut body = ask();
    body["forwardedProps"] = json!({"userId":""});
    let told = server.post_with("/history", &[("x-user", "")], body.to_string()).await.all().await;
    assert_eq!(messages(&folded(&told)), json!([user("u", "hi")]));
    body["forwardedProps"] = json!({"userId":5});
    let (status, code, details) = server.post("/history", &body).await.refusal().await;
    assert_eq!(
        (status, code.as_str(), &details["pointer"]),
        (400, "invalid_input", &json!("/forwardedProps/userId"))
    );
}

#[tokio::test(start_paused = true)]
async fn whether_pieces_are_merged() {
    for (toml, records) in [("", 4), ("runs.aggregate = true", 4), ("runs.aggregate = false", 6)] {
        let server = with(&format!("runs.mode = 'buffered'\n{toml}"));
        let (agent, answer) = begun(&server).await;
        agent.say(&json!({"type":"TEXT_MESSAGE_START","messageId":"a","role":"assistant"}));
        for delta in ["x", "y", "z"] {
            agent.say(&json!({"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":delta}));
        }
        agent.say(&finished());
        answer.all().await;
        let page = server.get("/v1/threads/t/events", &[]).await.json().await;
        assert_eq!(page["records"].as_array().unwrap().len(), records, "{toml}");
        let told = server.post("/history", &ask()).await.all().await;
        assert_eq!(messages(&folded(&told))[1]["content"], "xyz", "{toml}");
    }
}

#[tokio::test(start_paused = true)]
async fn how_often_it_is_stored() {
    for (toml, after) in [
        ("", Some(Duration::from_secs(1))),
        ("runs.flush_interval = '250ms'", Some(Duration::from_millis(250))),
        ("runs.flush_interval = '0'", None),
    ] {
        let server = with(&format!("runs.mode = 'buffered'\nruns.run_timeout = '0'\n{toml}"));
        let (agent, mut answer) = begun(&server).await;
        let start = Instant::now();
        let mut records = server.get("/v1/threads/t/events", &[("accept", "text/event-stream")]).await;
        records.next().await.unwrap();
        agent.say(&json!({"type":"CUSTOM","name":"n","value":1}));
        answer.until("CUSTOM").await;
        match after {
            Some(after) => {
                records.next().await.unwrap();
                // It was said within the first interval.
                assert_eq!(start.elapsed().as_millis(), after.as_millis(), "{toml}");
            }
            None => {
                sleep(Duration::from_hours(2)).await;
                let page = server.get("/v1/threads/t/events", &[]).await.json().await;
                assert_eq!(page["records"].as_array().unwrap().len(), 1, "{toml}");
            }
        }
        agent.say(&finished());
        answer.all().await;
        assert_eq!(server.get("/v1/threads/t/runs", &[]).await.json().await["runs"][0]["status"], "finished");
    }
}

#[tokio::test(start_paused = true)]
async fn how_long_the_end_may_take_to_be_stored() {
    for (toml, after) in [
        ("", Some(Duration::from_secs(5))),
        ("runs.finalization_timeout = '2s'", Some(Duration::from_secs(2))),
        ("runs.finalization_timeout = '0'", None),
    ] {
        let store = Arc::<GatedStore>::default();
        let server = Harness::on(store.clone(), settings(&format!("runs.mode = 'buffered'\n{toml}")));
        let (agent, mut answer) = begun(&server).await;
        store.set(Gate::Shut);
        agent.say(&finished());
        answer.until("RUN_FINISHED").await;
        let start = Instant::now();
        match after {
            Some(after) => {
                answer.cut().await;
                assert_eq!(start.elapsed().as_millis(), after.as_millis(), "{toml}");
            }
            None => {
                sleep(Duration::from_hours(2)).await;
                store.set(Gate::Open);
                assert_eq!(answer.all().await, [], "{toml}");
            }
        }
    }
}

#[tokio::test]
async fn whether_starts_and_ends_are_told() {
    for (toml, query, is_told) in [
        ("", "", false),
        ("history.lifecycle = true", "", true),
        ("history.lifecycle = false", "", false),
        ("", "?lifecycle=true", true),
        ("history.lifecycle = true", "?lifecycle=false", false),
    ] {
        let server = with(toml);
        run(&server).await;
        let told = server.post(&format!("/history{query}"), &ask()).await.all().await;
        assert_eq!(kinds(&told), ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
        let shown: Vec<Value> = messages(&folded(&told)).as_array().unwrap().clone();
        let roles: Vec<_> = shown.iter().map(|message| message["role"].as_str().unwrap()).collect();
        let expected: &[&str] = if is_told { &["activity", "user", "activity"] } else { &["user"] };
        assert_eq!(roles, expected, "{toml} {query}");
    }
}

#[tokio::test(start_paused = true)]
async fn whether_a_run_is_followed() {
    for (toml, query, is_followed) in [
        ("", "", false),
        ("history.follow = true", "", true),
        ("history.follow = false", "", false),
        ("", "?follow=true", true),
        ("history.follow = true", "?follow=false", false),
    ] {
        let server = with(toml);
        let (agent, answer) = begun(&server).await;
        let history = server.post(&format!("/history{query}"), &ask()).await;
        agent.say(&json!({"type":"CUSTOM","name":"n","value":1}));
        agent.say(&finished());
        answer.all().await;
        let told = kinds(&history.all().await);
        assert_eq!(told.contains(&"CUSTOM".to_owned()), is_followed, "{toml} {query}");
        // A run that is over is not.
        let told = server.post(&format!("/history{query}"), &ask()).await.all().await;
        assert_eq!(kinds(&told), ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"], "{toml} {query}");
    }
}

#[tokio::test(start_paused = true)]
async fn how_long_a_run_is_followed() {
    for (toml, after) in [
        ("", Some(Duration::from_hours(1))),
        ("history.follow_max_duration = '5s'", Some(Duration::from_secs(5))),
        ("history.follow_max_duration = '0'", None),
    ] {
        let server = with(&format!("history.follow = true\nruns.run_timeout = '0'\n{toml}"));
        let (agent, answer) = begun(&server).await;
        let start = Instant::now();
        let history = server.post("/history", &ask()).await;
        let told: Vec<Frame> = match after {
            Some(after) => {
                let told = history.all().await;
                assert_eq!(start.elapsed().as_millis(), after.as_millis(), "{toml}");
                assert_eq!(told.last().unwrap().value()["code"], "follow_timeout", "{toml}");
                told
            }
            None => {
                sleep(Duration::from_hours(48)).await;
                agent.say(&finished());
                history.all().await
            }
        };
        // The run goes on, or has ended by itself.
        agent.say(&finished());
        assert_eq!(kinds(&answer.all().await).last().unwrap(), "RUN_FINISHED", "{toml}");
        let end = if after.is_some() { "RUN_ERROR" } else { "RUN_FINISHED" };
        assert_eq!(kinds(&told), ["RUN_STARTED", "MESSAGES_SNAPSHOT", end], "{toml}");
    }
}
