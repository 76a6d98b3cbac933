//! How much a scope may keep, and how many connections an address may have.

use crate::harness::{Answer, Harness, request};
use serde_json::{Value, json};
use threadline_server::{Settings, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

const LINES: (&str, &str) = ("content-type", "application/x-ndjson");

fn limited(limits: &str) -> Harness {
    let toml = format!("scope.user_header = 'x-user'\n[limits]\n{limits}");
    Harness::with(toml::from_str(&toml).unwrap())
}

async fn run(server: &Harness, user: &str, thread: &str, run: &str) -> Answer {
    let _strings = server.agent.next_run();
    let mut body = request(run, &json!([]));
    body["threadId"] = thread.into();
    server.post_with("/agui", &[("x-user", user)], body.to_string()).await
}

async fn append(server: &Harness, user: &str, thread: &str, run: &str, text: &str) -> Answer {
    let event = json!({"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"assistant","delta":text});
    let path = format!("/v1/threads/{thread}/events?run={run}");
    server.post_with(&path, &[LINES, ("x-user", user)], event.to_string()).await
}

async fn exceeded(answer: Answer) -> Value {
    assert_eq!(answer.headers.get("retry-after"), None, "waiting does not help");
    let (status, code, details) = answer.refusal().await;
    assert_eq!((status, code.as_str()), (403, "quota_exceeded"));
    details
}

#[tokio::test]
async fn a_scope_makes_so_many_threads_and_goes_on_with_those() {
    let server = limited("threads_per_scope_max = 2");
    run(&server, "ann", "a", "r1").await.all().await;
    assert_eq!(append(&server, "ann", "b", "r1", "").await.status, 200);
    let details = exceeded(run(&server, "ann", "c", "r1").await).await;
    assert_eq!(details, json!({"what":"threads","kept":2,"max":2}));
    exceeded(append(&server, "ann", "c", "r1", "").await).await;
    let clone = json!({"threadId":"c"}).to_string();
    exceeded(server.post_with("/v1/threads/a/clone", &[("x-user", "ann")], clone.clone()).await).await;
    let raw = async |thread: &str| {
        let path = format!("/v1/threads/{thread}/export");
        let mut answer = server.get(&path, &[("x-user", "ann")]).await;
        String::from_utf8(answer.body().await.to_vec()).unwrap()
    };
    let (a, b) = (raw("a").await, raw("b").await);
    let import = async |user: &str, lines: String| {
        server.post_with("/v1/import", &[LINES, ("x-user", user)], lines).await
    };
    exceeded(import("ann", a.replace("\"a\"", "\"c\"")).await).await;
    assert_eq!(server.get("/v1/threads/c", &[("x-user", "ann")]).await.status, 404, "nothing was stored");

    run(&server, "ann", "a", "r2").await.all().await;
    assert_eq!(append(&server, "ann", "b", "r1", "").await.status, 200);
    // Others are not touched, and have the same limit, within an import, too.
    run(&server, "bob", "z", "r1").await.all().await;
    let details = exceeded(import("bob", a.clone() + &b).await).await;
    assert_eq!(details["threadIds"], json!(["a"]), "those before it stay");
    assert_eq!(details["line"], a.lines().count() + 1);

    let mut delete = axum::http::Request::delete("/v1/threads/a").header("host", "localhost");
    delete = delete.header("x-user", "ann");
    assert_eq!(server.send(delete.body(axum::body::Body::empty()).unwrap()).await.status, 204);
    assert_eq!(server.post_with("/v1/threads/b/clone", &[("x-user", "ann")], clone).await.status, 201);
    exceeded(run(&server, "ann", "d", "r1").await).await;
}

#[tokio::test]
async fn a_scope_keeps_so_many_bytes_and_no_more() {
    let server = limited("bytes_per_scope_max = 2000");
    run(&server, "ann", "a", "r1").await.all().await;
    let text = "x".repeat(2_000);
    assert_eq!(append(&server, "ann", "a", "r2", &text).await.status, 200, "begun below the limit");
    for answer in [
        run(&server, "ann", "a", "r3").await,
        run(&server, "ann", "b", "r1").await,
        append(&server, "ann", "a", "r2", "").await,
        server
            .post_with("/v1/threads/a/clone", &[("x-user", "ann")], json!({"threadId":"c"}).to_string())
            .await,
        server.post_with("/v1/import", &[LINES, ("x-user", "ann")], String::new()).await,
    ] {
        let details = exceeded(answer).await;
        assert_eq!((&details["what"], &details["max"]), (&json!("bytes"), &json!(2_000)));
    }
    let again = run(&server, "ann", "a", "r1").await;
    assert_eq!(again.status, 200, "what is known can be asked for again");
    assert!(!again.all().await.is_empty());
    run(&server, "bob", "a", "r1").await.all().await;
    let figures = server.get("/metrics", &[]).await.body().await;
    let figures = String::from_utf8(figures.to_vec()).unwrap();
    assert!(figures.contains("threadline_refusals_total{code=\"quota_exceeded\"} 5\n"), "{figures}");
}

#[tokio::test]
async fn an_address_has_so_many_connections() {
    let settings: Settings = toml::from_str("http.connections_per_address_max = 2").unwrap();
    let server = Harness::with(settings);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let app = server.app.clone();
    let served = tokio::spawn(serve(listener, app, async { drop(stopped.await) }));
    let ask = async |stream: &mut TcpStream| {
        let mut head = [0; 12];
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await?;
        stream.read_exact(&mut head).await?;
        std::io::Result::Ok(String::from_utf8(head.to_vec()).unwrap())
    };
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        assert_eq!(ask(&mut stream).await.unwrap(), "HTTP/1.1 200");
        held.push(stream);
    }
    let mut refused = TcpStream::connect(address).await.unwrap();
    let mut told = String::new();
    refused.read_to_string(&mut told).await.unwrap();
    assert!(told.starts_with("HTTP/1.1 429 Too Many Requests\r\n"), "{told}");
    let (head, body) = told.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("retry-after: 1") && body.contains(r#""code":"too_many""#), "{told}");
    let figures = server.get("/metrics", &[]).await.body().await;
    let figures = String::from_utf8(figures.to_vec()).unwrap();
    assert!(figures.contains("threadline_refusals_total{code=\"too_many\"} 1\n"), "{figures}");
    // When one is gone there is a place again, soon.
    drop(held.pop());
    loop {
        let mut stream = TcpStream::connect(address).await.unwrap();
        if ask(&mut stream).await.is_ok_and(|head| head == "HTTP/1.1 200") {
            break;
        }
    }
    stop.send(()).unwrap();
    served.await.unwrap().unwrap();
}
