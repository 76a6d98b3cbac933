//! S4: what is secret is found nowhere: not in the log, however much it says, nor in figures, refusals or the store.

use super::client::Answer;
use super::process::Served;
use crate::store::on;
use crate::threadline;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use hyper::Request;
use hyper::http::request::Builder;
use ring::hmac;
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;
use threadline_testkit::upstream::{Upstream, answer, sse_answer};
use tokio::net::TcpStream;

const KEY: &str = "canary-of-a-key-that-signs-tokens-for-this-server";
const SETTING: &str = "canary-of-a-header-of-the-settings";
const FORWARDED: &str = "canary-of-a-header-that-is-passed-on";
const URL: &str = "canary-of-the-url-of-an-agent";
const WRONG: &str = "canary-of-a-token-that-is-none";
const COOKIE: &str = "canary-of-a-cookie";
const NO_TICKET: &str = "canary-of-a-ticket-that-is-none";
/// What proves who calls, or opens something elsewhere. It is nowhere.
const SECRETS: [&str; 7] = [KEY, SETTING, FORWARDED, URL, WRONG, COOKIE, NO_TICKET];

const USER: &str = "canary-said-by-the-user";
const AGENT: &str = "canary-said-by-the-agent";
const THREAD: &str = "canary-of-a-thread";
const REFUSAL: &str = "canary-of-a-refusal-of-an-agent";
/// What is said. It is in the store, and told to who may see it.
const SAID: [&str; 4] = [USER, AGENT, THREAD, REFUSAL];

#[tokio::test(flavor = "multi_thread")]
async fn s4_secrets_are_nowhere_and_what_is_said_is_in_the_store_alone() {
    let dir = TempDir::new().expect("a directory");
    let text =
        format!(r#"{{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"assistant","delta":"{AGENT}"}}"#);
    let good =
        Upstream::start([sse_answer(&[&text, r#"{"type":"RUN_FINISHED","threadId":"","runId":""}"#])]).await;
    let bad = Upstream::start([answer("500 Oh no", "text/plain", REFUSAL)]).await;
    let tokens = dir.path().join("tokens");
    let tokens = tokens.to_str().expect("a path");
    let made =
        threadline(&["token", "create", "--user", "ann", "--permission", "admin", "--tokens", tokens], "");
    let token = made.text().trim().to_owned();
    assert!(token.len() > 40, "{token:?}, {}", made.stderr);
    std::fs::write(dir.path().join("key"), KEY).expect("a file");
    let settings = format!(
        "[auth]\ntokens = \"tokens\"\n[auth.jwt]\nkey = \"key\"\nalgorithm = \"HS256\"\npermission = \"admin\"\n{}{}",
        agent("good", &good),
        agent("bad", &bad)
    );
    // All that there is to be said, by everybody.
    let served = Served::start_with_log(dir.path(), &settings, "trace");
    let (jwt, mut told) = (jwt(), String::new());
    for proof in [&token, &jwt] {
        let bearer = format!("Bearer {proof}");
        let ask = async |request: Builder, body: Value| {
            let request = request
                .header("authorization", &bearer)
                .header("x-secret", FORWARDED)
                .header("cookie", format!("session={COOKIE}"))
                .header("content-type", "application/json");
            ask(&served, request, body).await
        };
        for agent in ["good", "bad", "nobody"] {
            let body = json!({"threadId":THREAD,"runId":format!("{agent}-{}", proof.len()),"messages":[{"id":"u","role":"user","content":USER}]});
            let answer = ask(Request::post(format!("/agents/{agent}")), body).await;
            // What is said is told to who asks; errors are not to have it.
            assert!(answer.contains("RUN_") || answer.contains("agent_not_found"), "{answer}");
            let errors =
                answer.lines().filter(|line| line.contains("RUN_ERROR") || line.contains("\"error\""));
            told += &errors.collect::<String>();
        }
        let ticket = ask(Request::post("/v1/tickets"), json!({})).await;
        let ticket: Value = serde_json::from_str(&ticket).expect("JSON");
        let ticket = ticket["ticket"].as_str().expect("a ticket").to_owned();
        let with_ticket =
            |ticket: &str| Request::get(format!("/v1/threads/{THREAD}/messages?ticket={ticket}"));
        assert!(self::ask(&served, with_ticket(&ticket), Value::Null).await.contains(USER), "it opens once");
        // Refusals of all kinds.
        for ticket in [&ticket, NO_TICKET] {
            told += &self::ask(&served, with_ticket(ticket), Value::Null).await;
        }
        told += &self::ask(
            &served,
            Request::get("/v1/threads").header("authorization", format!("Bearer {WRONG}")),
            Value::Null,
        )
        .await;
        told += &ask(Request::get(format!("/v1/threads?after=nonsense&q={USER}")), Value::Null).await;
        told += &ask(Request::post("/agui"), json!({"threadId":THREAD,"runId":1,"messages":USER})).await;
        told += &ask(Request::post("/agui"), json!([USER])).await;
        told += &ask(Request::get("/metrics"), Value::Null).await;
        for secret in [&token, &jwt, &ticket] {
            assert_absent(&told, secret, "an answer");
            assert_absent(&served.log(), secret, "the log");
            assert_not_stored(dir.path(), secret);
        }
    }
    assert_eq!(
        good.requests()[0].header("authorization"),
        [format!("Bearer {SETTING}")],
        "the agent gets it"
    );
    assert_eq!(good.requests()[0].header("x-secret"), [FORWARDED], "the agent gets it");
    assert!(served.log().contains("answered"), "it is a log of everything");
    for secret in SECRETS.iter().chain(&SAID) {
        assert_absent(&told, secret, "an answer");
        assert_absent(&served.log(), secret, "the log");
    }
    let log = served.log();
    served.stop().await;
    for secret in SECRETS {
        assert_not_stored(dir.path(), secret);
    }
    let exported = on(&dir.path().join("store"), &["export", "--all"], "");
    assert!(exported.text().contains(USER) && exported.text().contains(AGENT), "what is said is kept");
    for secret in SECRETS.into_iter().chain([token.as_str(), &jwt]) {
        assert_absent(exported.text(), secret, "the export");
    }
    println!("{} bytes of log", log.len());
}

fn agent(name: &str, agent: &Upstream) -> String {
    let url = agent.url(&format!("/?key={URL}"));
    format!(
        "[agents.{name}]\nurl = \"{url}\"\nheaders = {{ authorization = \"Bearer {SETTING}\" }}\nforward_headers = [\"x-secret\"]\n"
    )
}

/// A token for the same user, signed with the key.
fn jwt() -> String {
    let part = |json: Value| BASE64.encode(json.to_string());
    let text =
        format!("{}.{}", part(json!({"alg":"HS256"})), part(json!({"sub":"ann","exp":4_000_000_000_u64})));
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, KEY.as_bytes()), text.as_bytes());
    format!("{text}.{}", BASE64.encode(signature))
}

/// What a server answers, all of it.
async fn ask(served: &Served, request: Builder, body: Value) -> String {
    let tcp = TcpStream::connect(served.client.address).await.expect("a connection");
    let body = if body.is_null() { String::new() } else { body.to_string() };
    Answer::over(tcp, request, body).await.expect("an answer").text().await
}

#[track_caller]
fn assert_absent(text: &str, secret: &str, place: &str) {
    if let Some(at) = text.find(secret) {
        panic!("{secret} is in {place}: {:?}", text.get(at.saturating_sub(200)..at + secret.len()));
    }
}

/// Whether no file of the store has a text in it.
#[track_caller]
fn assert_not_stored(dir: &Path, secret: &str) {
    let mut places = vec![dir.join("store")];
    while let Some(place) = places.pop() {
        if place.is_dir() {
            places.extend(
                std::fs::read_dir(&place).expect("a directory").map(|entry| entry.expect("an entry").path()),
            );
            continue;
        }
        let bytes = std::fs::read(&place).expect("a file");
        let is_there = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
        assert!(!is_there, "{secret} is in {}", place.display());
    }
}
