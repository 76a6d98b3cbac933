//! A store that is away for a while.

use crate::harness::{Harness, kinds, request};
use axum::body::Body;
use axum::http::{Method, Request, header};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use threadline_server::{Settings, endpoints, keep_up};
use threadline_testkit::store::{Gate, GatedStore, SharedStore};
use tokio::time::{Instant, sleep, timeout};

const FINISHED: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r1"}"#;

/// Those that answer without the store.
const NEED_NO_STORE: &[&str] = &[
    "/agents",
    "/agents/{agent}/capabilities",
    "/capabilities",
    "/v1/tickets",
    "/metrics",
    "/openapi.json",
    "/healthz",
    "/",
    "/assets/{name}",
    // These are opened first, and then asked.
    "/agents/{agent}/ws",
    "/agui/ws",
];

/// A body that the route would take.
fn body(method: &Method, path: &str) -> (&'static str, String) {
    let json = |value: Value| ("application/json", value.to_string());
    match (method.as_str(), path) {
        ("PATCH", _) => json(json!({"name":"n"})),
        ("POST", "/v1/threads/{thread}/clone") => json(json!({"threadId":"clone"})),
        ("POST", "/v1/threads/{thread}/events") => {
            ("application/x-ndjson", r#"{"type":"CUSTOM","name":"n","value":1}"#.to_owned())
        }
        ("POST", "/v1/import") => ("application/x-ndjson", FINISHED.to_owned()),
        _ => json(request("r9", &json!([]))),
    }
}

#[tokio::test]
async fn whoever_asks_while_the_store_is_away_may_ask_again() {
    let store = Arc::<GatedStore>::default();
    let settings = Settings::default();
    let server = Harness::on(store.clone(), settings.clone());
    server.talk("t", "r1", "Hi", "Hello").await;
    store.set(Gate::Away);
    let mut asked = 0;
    for endpoint in endpoints(&settings) {
        if NEED_NO_STORE.contains(&endpoint.path.as_str()) {
            continue;
        }
        let path = endpoint.path.replace("{thread}", "t").replace("{run}", "r1").replace("{agent}", "puppet");
        let query = match (&endpoint.method, endpoint.path.as_str()) {
            (&Method::POST, "/v1/threads/{thread}/events") => "?run=r9",
            (&Method::POST, "/v1/import") => "?thread=new",
            _ => "",
        };
        let (media_type, body) = body(&endpoint.method, &endpoint.path);
        let asking = Request::builder()
            .method(endpoint.method.clone())
            .uri(format!("{path}{query}"))
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, media_type)
            .body(Body::from(body))
            .unwrap();
        let answer = server.send(asking).await;
        let place = format!("{} {}", endpoint.method, endpoint.path);
        assert_eq!(answer.status, 503, "{place}");
        if endpoint.path != "/readyz" {
            assert!(answer.headers.contains_key(header::RETRY_AFTER), "{place}");
            assert_eq!(answer.refusal().await.1, "store_unavailable", "{place}");
        }
        asked += 1;
    }
    assert!(asked > 20, "{asked}");
    store.set(Gate::Open);
    server.talk("t", "r2", "Hi", "Hello").await;
}

/// A run whose events cannot be kept is cut off where it is, and closed as abandoned when its lease is over.
#[tokio::test(start_paused = true)]
async fn a_run_that_the_store_was_away_from_is_abandoned() {
    for elsewhere in [false, true] {
        let shared = SharedStore::default();
        let second = Arc::new(shared.second());
        let store = Arc::new(GatedStore::before(Arc::new(shared)));
        let one = Harness::on(store.clone(), Settings::default());
        let two = one.beside(second, Settings::default());
        let agent = one.agent.next_run();
        let mut answer = one.post("/agui", &request("r1", &json!([]))).await;
        answer.next().await.unwrap();
        let mut reader =
            two.post("/agui/connect", &json!({"threadId":"t","runId":"c","protocolVersion":"1.0"})).await;
        reader.until("MESSAGES_SNAPSHOT").await;
        store.set(Gate::Away);
        agent.say(&json!({"type":"CUSTOM","name":"lost","value":1}));
        // No end is told that is not stored.
        answer.cut().await;
        agent.let_go().await;
        store.set(Gate::Open);
        let keeping_up = if elsewhere { &two } else { &one };
        let upkeep = tokio::spawn(keep_up(keeping_up.app.clone(), Duration::from_secs(1)));
        // It may be that its lease is not over yet: until then it is in the way.
        one.jump(Duration::from_secs(6));
        let listening = (!elsewhere).then(|| tokio::spawn(keep_up(two.app.clone(), Duration::from_hours(1))));
        let rest = reader.all().await;
        assert_eq!(kinds(&rest), ["RUN_ERROR"]);
        assert_eq!(rest[0].value()["code"], "abandoned");
        let records = two.get("/v1/threads/t/events", &[]).await.json().await;
        assert!(!records.to_string().contains("lost"), "{records}");
        let agent = one.agent.next_run();
        let answer = one.post("/agui", &request("r2", &json!([]))).await;
        agent.say_text(FINISHED);
        assert_eq!(kinds(&answer.all().await), ["RUN_STARTED", "RUN_FINISHED"]);
        upkeep.abort();
        if let Some(listening) = listening {
            listening.abort();
        }
    }
}

/// Though nobody follows a thread, and nothing is heard of any.
#[tokio::test(start_paused = true)]
async fn whoever_is_shown_a_list_where_the_store_is_away_is_cut_off() {
    let store = Arc::new(GatedStore::before(Arc::new(SharedStore::default())));
    let server = Harness::on(store.clone(), Settings::default());
    let upkeep = tokio::spawn(keep_up(server.app.clone(), Duration::from_secs(1)));
    let mut changes = server.get("/v1/changes", &[]).await;
    changes.until("listed").await;
    // Not if it is back soon.
    store.set(Gate::Away);
    sleep(Duration::from_secs(2)).await;
    store.set(Gate::Open);
    assert_eq!(changes.piece().await, ": keep-alive\n\n");
    store.set(Gate::Away);
    let away = Instant::now();
    timeout(Duration::from_secs(60), changes.cut()).await.expect("it is cut off");
    let took = away.elapsed();
    assert!(took >= Duration::from_secs(3) && took <= Duration::from_secs(5), "{took:?}");
    upkeep.abort();
}

/// A run whose agent says nothing meanwhile goes on, if the store is back before its lease is over.
#[tokio::test(start_paused = true)]
async fn a_silent_run_outlives_a_short_outage() {
    let store = Arc::<GatedStore>::default();
    let server = Harness::on(store.clone(), Settings::default());
    for (run, outage) in [("r1", 5), ("r2", 9)] {
        let agent = server.agent.next_run();
        let mut answer = server.post("/agui", &request(run, &json!([]))).await;
        answer.next().await.unwrap();
        store.set(Gate::Away);
        sleep(Duration::from_secs(outage)).await;
        store.set(Gate::Open);
        agent.say_text(FINISHED);
        match run {
            "r1" => assert_eq!(kinds(&answer.all().await), ["RUN_FINISHED"]),
            _ => answer.cut().await,
        }
    }
}
