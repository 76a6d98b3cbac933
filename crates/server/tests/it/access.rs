//! Who may do what: every route, every kind of caller.

use crate::harness::{Answer, Harness, request};
use crate::puppet::Strings;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;
use threadline_log::names::Owner;
use threadline_log::{MemoryStore, Scope, Timestamp};
use threadline_server::access::tokens::{Token, mint};
use threadline_server::access::{Authority, Permission, watch};
use threadline_server::scope::{Asked, ScopeResolver};
use threadline_server::settings::AuthSettings;
use threadline_server::{App, Code, Endpoint, Refusal, Settings, endpoints};

/// A server whose callers need tokens.
pub(crate) struct Guarded {
    pub(crate) server: Harness,
    authority: Arc<Authority>,
    file: PathBuf,
    tokens: Vec<Token>,
    _dir: TempDir,
}

impl Guarded {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("tokens.jsonl");
        fs::write(&file, "").unwrap();
        let auth = AuthSettings { tokens: Some(file.clone()), jwt: None };
        let authority = Arc::new(Authority::open(&auth).unwrap());
        let settings = Settings { auth, ..Settings::default() };
        let server = Harness::made(Arc::new(MemoryStore::new()), settings, |app| {
            app.with_authority(Arc::clone(&authority))
        });
        Self { server, authority, file, tokens: Vec::new(), _dir: dir }
    }

    /// A token that the server knows.
    pub(crate) fn token(&mut self, user: &str, permission: Permission) -> String {
        let (text, id, sha256) = mint().unwrap();
        let user = Some(user.to_owned());
        let created = Timestamp(0);
        self.tokens.push(Token {
            id,
            sha256,
            app: None,
            user,
            permission,
            created,
            expires: None,
            note: None,
        });
        self.publish();
        text
    }

    pub(crate) fn revoke(&mut self, token: &str) {
        self.tokens.retain(|known| !token.contains(&known.id));
        self.publish();
    }

    fn publish(&self) {
        let lines: Vec<String> =
            self.tokens.iter().map(|token| serde_json::to_string(token).unwrap()).collect();
        fs::write(&self.file, lines.join("\n")).unwrap();
        assert!(self.authority.is_stale());
        self.authority.reload().unwrap();
        assert!(!self.authority.is_stale());
    }

    async fn ask(&self, method: &Method, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut request =
            Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, "application/json");
        if !headers.iter().any(|(name, _)| *name == "host") {
            request = request.header(header::HOST, "localhost");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.server.send(request.body(Body::from("{}")).unwrap()).await
    }

    /// A run of the thread `t`, which goes on until it is dropped.
    async fn run(&self, token: &str) -> Strings {
        let strings = self.server.agent.next_run();
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str())];
        let run = self.server.post_with("/agui", &headers, request("r", &json!([])).to_string()).await;
        assert_eq!(run.status, 200);
        strings
    }
}

/// The path of a route, with a thread in it.
fn path(endpoint: &Endpoint, thread: &str) -> String {
    endpoint.path.replace("{agent}", "puppet").replace("{thread}", thread).replace("{run}", "r")
}

#[tokio::test]
async fn every_route_asks_every_caller_who_it_is() {
    let mut guarded = Guarded::new();
    let tokens = [Permission::Read, Permission::Run, Permission::Admin]
        .map(|permission| (permission, guarded.token("ann", permission)));
    let gone = guarded.token("ann", Permission::Admin);
    guarded.revoke(&gone);
    let (most, last) = tokens[2].1.split_at(tokens[2].1.len() - 1);
    let wrong = format!("{most}{}", if last == "0" { "1" } else { "0" });
    let _run = guarded.run(&tokens[2].1).await;
    let all = endpoints(&Settings::default());
    assert!(all.len() >= 30, "{}", all.len());
    for endpoint in &all {
        let (method, path) = (&endpoint.method, path(endpoint, "t"));
        for strange in [
            vec![],
            vec![("authorization", "Bearer ".to_owned())],
            vec![("authorization", format!("Bearer {wrong}"))],
            vec![("authorization", format!("Bearer {gone}"))],
            vec![("authorization", format!("Basic {}", tokens[2].1))],
            vec![("authorization", tokens[2].1.clone())],
        ] {
            let headers: Vec<(&str, &str)> =
                strange.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let answer = guarded.ask(method, &path, &headers).await;
            let is_refused = answer.status == StatusCode::UNAUTHORIZED;
            assert_eq!(is_refused, endpoint.permission.is_some(), "{method} {path} {headers:?}");
            if is_refused {
                assert_eq!(answer.headers[header::WWW_AUTHENTICATE], "Bearer");
                assert_eq!(answer.refusal().await.1, "unauthorized");
            }
        }
        for (permission, token) in &tokens {
            let bearer = format!("Bearer {token}");
            let headers = [("authorization", bearer.as_str())];
            let status = guarded.ask(method, &path, &headers).await.status;
            let may = endpoint.permission.is_none_or(|needed| *permission >= needed);
            assert_eq!(status == StatusCode::FORBIDDEN, !may, "{method} {path} {permission}: {status}");
            assert_ne!(status, StatusCode::UNAUTHORIZED, "{method} {path}");
            assert!(!status.is_server_error(), "{method} {path}: {status}");
            for (name, value, code) in [
                ("host", "evil.example", "host_not_allowed"),
                ("origin", "https://evil.example", "origin_not_allowed"),
            ] {
                let headers = [headers[0], (name, value)];
                let refusal = guarded.ask(method, &path, &headers).await.refusal().await;
                assert_eq!((refusal.0, refusal.1.as_str()), (403, code), "{method} {path}");
            }
        }
    }
}

#[tokio::test]
async fn a_thread_of_others_is_not_there() {
    let mut guarded = Guarded::new();
    let ann = guarded.token("ann", Permission::Admin);
    let bob = format!("Bearer {}", guarded.token("bob", Permission::Admin));
    let _run = guarded.run(&ann).await;
    let mut of_threads = 0;
    for endpoint in endpoints(&Settings::default()).iter().filter(|one| one.path.contains("{thread}")) {
        of_threads += 1;
        let headers = [("authorization", bob.as_str())];
        let [foreign, missing] = ["t", "u"].map(|thread| path(endpoint, thread));
        let foreign = guarded.ask(&endpoint.method, &foreign, &headers).await;
        let missing = guarded.ask(&endpoint.method, &missing, &headers).await;
        assert_eq!(foreign.status, missing.status, "{} {}", endpoint.method, endpoint.path);
        let [foreign, missing]: [Value; 2] = [foreign.json().await, missing.json().await];
        let named = |value: &Value| value["error"]["message"].as_str().map(|text| text.replace("/u", "/t"));
        assert_eq!(named(&foreign), named(&missing), "{} {}", endpoint.method, endpoint.path);
        assert_eq!(foreign["error"]["code"], missing["error"]["code"]);
    }
    assert!(of_threads >= 4);
    let headers = [("authorization", bob.as_str())];
    let answer = guarded.server.post_with("/history", &headers, r#"{"threadId":"t"}"#.to_owned()).await;
    let frames = answer.all().await;
    assert_eq!(
        frames[1].value()["messages"],
        json!([]),
        "an empty history, as of a thread that is not there"
    );
}

#[tokio::test]
async fn streams_end_when_their_token_is_revoked() {
    let mut guarded = Guarded::new();
    let (ann, other) = (guarded.token("ann", Permission::Run), guarded.token("ann", Permission::Run));
    let run = guarded.run(&ann).await;
    let follow = async |token: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str()), ("accept", "text/event-stream")];
        let mut records = guarded.server.get("/v1/threads/t/events", &headers).await;
        assert!(records.next().await.is_some());
        records
    };
    let (cut, mut goes_on) = (follow(&ann).await, follow(&other).await);
    guarded.revoke(&ann);
    cut.cut().await;
    drop(run);
    while let Some(record) = goes_on.next().await {
        if record.value()["event"]["type"] == "RUN_ERROR" {
            return;
        }
    }
    panic!("the other stream has ended");
}

#[tokio::test]
async fn a_change_of_the_file_is_noticed_by_itself() {
    let mut guarded = Guarded::new();
    let ann = guarded.token("ann", Permission::Run);
    let _run = guarded.run(&ann).await;
    let bearer = format!("Bearer {ann}");
    let headers = [("authorization", bearer.as_str()), ("accept", "text/event-stream")];
    let mut records = guarded.server.get("/v1/threads/t/events", &headers).await;
    assert!(records.next().await.is_some());
    let watching = tokio::spawn(watch(Arc::clone(&guarded.authority)));
    fs::write(&guarded.file, "no token at all").unwrap();
    assert!(guarded.authority.reload().is_err());
    assert_eq!(guarded.server.get("/agents", &headers).await.status, 200, "a broken file changes nothing");
    fs::write(&guarded.file, "# nobody\n").unwrap();
    records.cut().await;
    assert_eq!(guarded.server.get("/agents", &headers).await.status, 401);
    watching.abort();
}

#[tokio::test]
async fn a_ticket_opens_one_stream_of_one_thread() {
    let mut guarded = Guarded::new();
    let ann = guarded.token("ann", Permission::Run);
    let _run = guarded.run(&ann).await;
    let bearer = format!("Bearer {ann}");
    let ticket = async || {
        let headers = [("authorization", bearer.as_str())];
        let answer =
            guarded.server.post_with("/v1/tickets", &headers, r#"{"threadId":"t"}"#.to_owned()).await;
        let ticket = answer.json().await;
        assert_eq!(ticket["expiresInMs"], 30_000);
        ticket["ticket"].as_str().unwrap().to_owned()
    };
    let first = ticket().await;
    let url = format!("/v1/threads/t/events?ticket={first}&limit=1");
    let headers = [("accept", "text/event-stream")];
    assert!(guarded.server.get(&url, &headers).await.next().await.is_some());
    assert_eq!(guarded.server.get(&url, &headers).await.refusal().await.0, 401, "it was used");
    let url = format!("/v1/threads/u/events?ticket={}", ticket().await);
    assert_eq!(guarded.server.get(&url, &[]).await.refusal().await.0, 404, "it is for another thread");
    let url = format!("/v1/threads/t/events?ticket={}", "0".repeat(64));
    assert_eq!(guarded.server.get(&url, &[]).await.refusal().await.0, 401);
}

#[tokio::test]
async fn settings_without_an_authority_let_nobody_in() {
    let auth = AuthSettings { tokens: Some("nowhere".into()), jwt: None };
    let server = Harness::with(Settings { auth, ..Settings::default() });
    assert_eq!(server.get("/agents", &[]).await.refusal().await.0, 401);
    assert_eq!(server.get("/healthz", &[]).await.status, 200);
}

#[tokio::test]
async fn pages_of_listed_origins_may_call_and_see_refusals() {
    let mut settings = Settings::default();
    settings.http.origins = vec!["https://chat.example".to_owned()];
    let server = Harness::with(settings);
    let preflight = Request::options("/agui")
        .header(header::HOST, "localhost")
        .header(header::ORIGIN, "https://chat.example")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "content-type,x-mine");
    let answer = server.send(preflight.body(Body::empty()).unwrap()).await;
    assert_eq!(answer.headers["access-control-allow-origin"], "https://chat.example");
    assert_eq!(answer.headers["access-control-allow-headers"], "content-type,x-mine");
    assert!(!answer.headers.contains_key("access-control-allow-credentials"));
    let origin = [("origin", "https://chat.example")];
    let refused = server.post_with("/agui", &origin, "{".to_owned()).await;
    assert_eq!(
        (refused.status.as_u16(), &refused.headers["access-control-allow-origin"]),
        (400, &"https://chat.example".parse().unwrap())
    );
    let foreign = server.post_with("/agui", &[("origin", "https://evil.example")], "{}".to_owned()).await;
    assert!(!foreign.headers.contains_key("access-control-allow-origin"));
    assert_eq!(foreign.refusal().await.1, "origin_not_allowed");
}

/// Whose a request is, by something that no setting can say.
#[derive(Debug)]
struct ByHost;

impl ScopeResolver for ByHost {
    fn scope(&self, asked: &Asked<'_>) -> Result<Scope, Refusal> {
        let host = asked.headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let owner = |name: &str| {
            Owner::new(name).map_err(|error| Refusal::new(Code::InvalidParameter, error.to_string()))
        };
        Ok(Scope { app: owner(host)?, user: owner("all")? })
    }
}

#[tokio::test]
async fn a_program_may_say_whose_a_request_is() {
    let server = Harness::made(Arc::new(MemoryStore::new()), Settings::default(), |app| {
        App::with_scopes(app.engine().clone(), app.agents().clone(), app.settings().clone(), Arc::new(ByHost))
    });
    let _run = server.agent.next_run();
    assert_eq!(server.post("/agui", &request("r", &json!([]))).await.status, 200);
    assert_eq!(server.get("/v1/threads/t", &[]).await.json().await["app"], "localhost");
    let elsewhere = Request::get("/v1/threads/t").header(header::HOST, "127.0.0.1").body(Body::empty());
    assert_eq!(server.send(elsewhere.unwrap()).await.status, 404);
}
