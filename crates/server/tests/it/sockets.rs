//! WebSocket: the same as over HTTP, many at once over one connection.

use crate::access::Guarded;
use crate::harness::{Harness, request, user};
use axum::http::{HeaderName, HeaderValue};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;
use threadline_protocol::proto::{self, Decoded};
use threadline_server::access::Permission;
use threadline_server::{App, Settings, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_websockets::{ClientBuilder, CloseCode, Message, WebSocketStream};

/// Long enough for anything; tests wait for things themselves.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that listens.
struct Listening {
    address: SocketAddr,
    stop: CancellationToken,
    server: JoinHandle<()>,
}

async fn listen(app: &App) -> Listening {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
    let (app, stopped) = (app.clone(), stop.clone());
    let server = tokio::spawn(async move { serve(listener, app, stopped.cancelled()).await.unwrap() });
    Listening { address, stop, server }
}

/// A client's end of a socket.
struct Socket(WebSocketStream<TcpStream>);

impl Socket {
    async fn open(address: SocketAddr) -> Self {
        Self::open_at(address, "/agui/ws", &[]).await.unwrap()
    }

    /// Opens a socket; else the status of the answer.
    async fn open_at(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Result<Self, u16> {
        let stream = TcpStream::connect(address).await.unwrap();
        let mut builder = ClientBuilder::new().uri(&format!("ws://{address}{path}")).unwrap();
        for (name, value) in headers {
            let name = HeaderName::try_from(*name).unwrap();
            builder = builder.add_header(name, HeaderValue::from_str(value).unwrap()).unwrap();
        }
        match builder.connect_on(stream).await {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(tokio_websockets::Error::Upgrade(
                tokio_websockets::upgrade::Error::DidNotSwitchProtocols(status),
            )) => Err(status),
            Err(error) => panic!("{error}"),
        }
    }

    async fn say(&mut self, message: &Value) {
        self.0.send(Message::text(message.to_string())).await.unwrap();
    }

    async fn ask(&mut self, id: &str, kind: &str, input: &Value) {
        self.say(&json!({ "id": id, "type": kind, "input": input })).await;
    }

    /// The next message as it comes; none when the socket is closed.
    async fn message(&mut self) -> Option<Message> {
        loop {
            let message = timeout(PATIENCE, self.0.next()).await.expect("a message")?.unwrap();
            if !message.is_ping() {
                return Some(message);
            }
        }
    }

    async fn next(&mut self) -> Value {
        let message = self.message().await.expect("an open socket");
        serde_json::from_str(message.as_text().expect("text")).unwrap()
    }

    /// The events of the only request, to its end.
    async fn events(&mut self, id: &str) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let next = self.next().await;
            assert_eq!(next["id"], id);
            match next["type"].as_str().unwrap() {
                "event" => events.push(next),
                "end" => return events,
                _ => panic!("{next}"),
            }
        }
    }

    /// Why the socket is closed, which it must be.
    async fn closed(&mut self) -> CloseCode {
        let mut told = Vec::new();
        while let Some(message) = self.message().await {
            if let Some((code, _)) = message.as_close() {
                return code;
            }
            told.push(message);
        }
        panic!("no reason. told={told:?}");
    }
}

fn said(run: &str) -> Value {
    json!({"type":"TEXT_MESSAGE_CHUNK","messageId":format!("{run}-m"),"role":"assistant","delta":"Hi"})
}

fn finished(run: &str) -> Value {
    json!({"type":"RUN_FINISHED","threadId":"t","runId":run})
}

fn of(thread: &str, run: &str) -> Value {
    let mut body = request(run, &json!([user("u", "Hello")]));
    body["threadId"] = thread.into();
    body
}

#[tokio::test]
async fn a_run_is_told_as_over_http() {
    let server = Harness::new();
    let listening = listen(&server.app).await;
    let mut socket = Socket::open(listening.address).await;
    let agent = server.agent.next_run();
    socket.ask("1", "run", &of("t", "r1")).await;
    agent.say(&said("r1"));
    agent.say(&finished("r1"));
    let told = socket.events("1").await;
    let cursor = told[0]["cursor"].as_str().unwrap();
    let over_http = server.post(&format!("/agui/connect?after={cursor}"), &of("t", "r1")).await.all().await;
    assert_eq!(told.len(), over_http.len() + 1);
    for (told, frame) in told[1..].iter().zip(&over_http) {
        assert_eq!(told["event"], frame.value());
        assert_eq!(told["cursor"].as_str(), frame.id.as_deref());
    }
    // Going on from a cursor, over the same socket, and under the name that was used before.
    socket.say(&json!({"id":"1","type":"connect","input":of("t","c"),"after":cursor})).await;
    assert_eq!(socket.events("1").await, told[1..]);
}

#[tokio::test]
async fn many_runs_share_a_socket() {
    let server = Harness::new();
    let listening = listen(&server.app).await;
    let mut socket = Socket::open_at(listening.address, "/agents/puppet/ws", &[]).await.unwrap();
    let mut agents = Vec::new();
    for number in 0..20 {
        let agent = server.agent.next_run();
        let id = number.to_string();
        socket.ask(&id, "run", &of(&id, "r")).await;
        let started = socket.next().await;
        assert_eq!((&started["id"], &started["event"]["type"]), (&json!(id), &json!("RUN_STARTED")));
        agents.push(agent);
    }
    // The last one first: nobody waits for another.
    for (number, agent) in agents.iter().enumerate().rev() {
        let id = number.to_string();
        agent.say(&json!({"type":"RUN_FINISHED","threadId":id,"runId":"r"}));
        assert_eq!(socket.events(&id).await.last().unwrap()["event"]["threadId"], id);
    }
}

#[tokio::test]
async fn a_run_can_be_stopped_and_left_alone() {
    let server = Harness::new();
    let listening = listen(&server.app).await;
    let mut socket = Socket::open(listening.address).await;
    let _agent = server.agent.next_run();
    socket.ask("a", "run", &of("t", "r1")).await;
    socket.next().await;
    socket.ask("b", "cancel", &json!({"threadId":"t","runId":"r1"})).await;
    let mut told = Vec::new();
    while told.len() < 3 {
        told.push(socket.next().await);
    }
    let result = told.iter().find(|message| message["id"] == "b").unwrap();
    assert_eq!((&result["type"], &result["result"]["runId"]), (&json!("result"), &json!("r1")));
    let end: Vec<&str> =
        told.iter().filter(|told| told["id"] == "a").map(|told| told["type"].as_str().unwrap()).collect();
    assert_eq!(end, ["event", "end"], "{told:?}");

    // Nobody hears of it any more, and it goes on.
    let agent = server.agent.next_run();
    socket.ask("c", "run", &of("t", "r2")).await;
    socket.next().await;
    socket.say(&json!({"id":"c","type":"detach"})).await;
    assert_eq!(socket.next().await, json!({"id":"c","type":"detached"}));
    agent.say(&said("r2"));
    agent.say(&finished("r2"));
    server.end_of_run().await;
    socket.ask("c", "connect", &of("t", "c2")).await;
    let events = socket.events("c").await;
    assert!(events.iter().any(|told| told["event"].to_string().contains("r2-m")), "{events:?}");
}

#[tokio::test]
async fn events_come_as_protobuf_to_who_asks() {
    let server = Harness::new();
    let listening = listen(&server.app).await;
    let mut socket = Socket::open(listening.address).await;
    let agent = server.agent.next_run();
    socket.say(&json!({"id":"p","type":"run","encoding":"protobuf","input":of("t","r1")})).await;
    agent.say(&said("r1"));
    agent.say(&finished("r1"));
    let mut types = Vec::new();
    loop {
        let message = socket.message().await.unwrap();
        if message.is_text() {
            assert_eq!(serde_json::from_str::<Value>(message.as_text().unwrap()).unwrap()["type"], "end");
            break;
        }
        let bytes = message.into_payload().to_vec();
        let (len, rest) = bytes.split_first_chunk().unwrap();
        let (head, event) = rest.split_at(u32::from_be_bytes(*len) as usize);
        assert_eq!(serde_json::from_slice::<Value>(head).unwrap(), json!({"id":"p","type":"event"}));
        let Decoded::Event { event, .. } = proto::decode(event).unwrap() else { panic!("an event") };
        types.push(event.event().type_name().to_string());
    }
    assert_eq!(types, ["RUN_STARTED", "TEXT_MESSAGE_CHUNK", "RUN_FINISHED"]);
}

#[tokio::test]
async fn what_is_wrong_is_refused_as_over_http_and_the_socket_goes_on() {
    let mut settings = Settings::default();
    settings.http.request_bytes_max = 2_000;
    let server = Harness::with(settings);
    let listening = listen(&server.app).await;
    let mut socket = Socket::open(listening.address).await;
    let large = of("t", &"r".repeat(3_000));
    for (kind, path, input) in [
        ("run", "/agui", json!({})),
        ("run", "/agui", json!([])),
        ("run", "/agui", large),
        ("cancel", "/cancel", json!({"threadId":"nobody's"})),
        ("connect", "/agui/connect?run=none", json!({"threadId":"t"})),
    ] {
        let mut message = json!({"id":"1","type":kind,"input":input});
        if path.contains('?') {
            message["run"] = "none".into();
        }
        socket.say(&message).await;
        let refused = socket.next().await;
        let over_http = server.post(path, &input).await;
        assert_eq!((&refused["id"], &refused["type"]), (&json!("1"), &json!("error")));
        assert_eq!(refused["status"], over_http.status.as_u16());
        assert_eq!(refused["error"], over_http.json().await["error"]);
    }
    for (text, id) in [("{", Value::Null), (r#"{"id":"7","type":"fly"}"#, json!("7"))] {
        socket.0.send(Message::text(text.to_owned())).await.unwrap();
        let refused = socket.next().await;
        assert_eq!((&refused["id"], &refused["status"]), (&id, &json!(400)), "{refused}");
        assert_eq!(refused["error"]["code"], "invalid_input");
    }
    socket.0.send(Message::binary(vec![0])).await.unwrap();
    assert_eq!(socket.next().await["status"], 400);
    // A name that is taken.
    let agent = server.agent.next_run();
    socket.ask("1", "run", &of("t", "r1")).await;
    socket.next().await;
    socket.ask("1", "run", &of("t", "r2")).await;
    assert_eq!(socket.next().await["error"]["code"], "invalid_input");
    agent.say(&finished("r1"));
    assert_eq!(socket.events("1").await.len(), 1);
}

#[tokio::test]
async fn a_socket_has_only_so_many_requests_at_once() {
    let server = Harness::new();
    let listening = listen(&server.app).await;
    let mut socket = Socket::open(listening.address).await;
    let _agent = server.agent.next_run();
    socket.ask("run", "run", &of("t", "r1")).await;
    socket.next().await;
    for number in 1..128 {
        socket.ask(&number.to_string(), "connect", &of("t", "c")).await;
    }
    socket.ask("one more", "connect", &of("t", "c")).await;
    loop {
        let next = socket.next().await;
        if next["id"] == "one more" {
            assert_eq!((&next["status"], &next["error"]["code"]), (&json!(429), &json!("too_many")));
            break;
        }
        assert_eq!(next["type"], "event");
    }
    // There is room again when somebody leaves.
    socket.say(&json!({"id":"7","type":"detach"})).await;
    socket.ask("one more", "connect", &of("t", "c")).await;
    while socket.next().await["id"] != "one more" {}
}

#[tokio::test]
async fn a_message_that_is_far_too_large_ends_the_socket() {
    let mut settings = Settings::default();
    settings.http.request_bytes_max = 2_000;
    let server = Harness::with(settings);
    let listening = listen(&server.app).await;
    let mut socket = Socket::open(listening.address).await;
    let sent = socket.0.send(Message::text("x".repeat(1_000_000))).await;
    let end = timeout(PATIENCE, socket.0.next()).await.expect("an end");
    assert!(sent.is_err() || matches!(end, None | Some(Err(_))) || end.unwrap().unwrap().is_close());
    // Others are not harmed.
    Socket::open(listening.address).await;
}

#[tokio::test]
async fn callers_may_do_over_a_socket_what_they_may_do_without() {
    let mut guarded = Guarded::new();
    let (run, read) = (guarded.token("ann", Permission::Run), guarded.token("ann", Permission::Read));
    let (run, read) = (format!("Bearer {run}"), format!("Bearer {read}"));
    let listening = listen(&guarded.server.app).await;
    let address = listening.address;
    assert_eq!(Socket::open_at(address, "/agui/ws", &[]).await.err(), Some(401));
    let foreign = [("authorization", run.as_str()), ("origin", "https://evil.example")];
    assert_eq!(Socket::open_at(address, "/agui/ws", &foreign).await.err(), Some(403));

    let mut runner = Socket::open_at(address, "/agui/ws", &[("authorization", &run)]).await.unwrap();
    let agent = guarded.server.agent.next_run();
    runner.ask("1", "run", &of("t", "r1")).await;
    assert_eq!(runner.next().await["event"]["type"], "RUN_STARTED");

    let mut reader = Socket::open_at(address, "/agui/ws", &[("authorization", &read)]).await.unwrap();
    for kind in ["run", "cancel"] {
        reader.ask("1", kind, &of("t", "r2")).await;
        assert_eq!(reader.next().await["error"]["code"], "forbidden", "{kind}");
    }
    reader.ask("2", "connect", &of("t", "c")).await;
    assert_eq!(reader.next().await["event"]["type"], "RUN_STARTED");

    // A ticket is for one thread, and for one socket.
    let ask = json!({"threadId":"t"}).to_string();
    let ticket = guarded.server.post_with("/v1/tickets", &[("authorization", &read)], ask).await.json().await;
    let path = format!("/agui/ws?ticket={}", ticket["ticket"].as_str().unwrap());
    let mut ticketed = Socket::open_at(address, &path, &[]).await.unwrap();
    assert_eq!(Socket::open_at(address, &path, &[]).await.err(), Some(401));
    for _ in 0..2 {
        ticketed.ask("1", "connect", &of("t", "c")).await;
        assert_eq!(ticketed.next().await["event"]["type"], "RUN_STARTED");
        ticketed.say(&json!({"id":"1","type":"detach"})).await;
        while ticketed.next().await["type"] != "detached" {}
    }
    ticketed.ask("2", "connect", &of("other", "c")).await;
    assert_eq!(ticketed.next().await["error"]["code"], "thread_not_found");

    guarded.revoke(run.trim_start_matches("Bearer "));
    assert_eq!(runner.closed().await, CloseCode::POLICY_VIOLATION);
    // The run goes on, and who may still see it sees its end.
    agent.say(&finished("r1"));
    while reader.next().await["type"] != "end" {}
}

#[tokio::test]
async fn a_server_that_stops_says_so_on_its_sockets() {
    let server = Harness::new();
    let listening = listen(&server.app).await;
    let mut idle = Socket::open(listening.address).await;
    let mut socket = Socket::open(listening.address).await;
    let _agent = server.agent.next_run();
    socket.ask("1", "run", &of("t", "r1")).await;
    assert_eq!(socket.next().await["event"]["type"], "RUN_STARTED");
    listening.stop.cancel();
    // The run is closed, and its end told.
    assert_eq!(socket.next().await["event"]["type"], "RUN_ERROR");
    assert_eq!(socket.next().await["type"], "end");
    assert_eq!(socket.closed().await, CloseCode::GOING_AWAY);
    assert_eq!(idle.closed().await, CloseCode::GOING_AWAY);
    timeout(PATIENCE, listening.server).await.expect("the server ends").unwrap();
}

#[tokio::test]
async fn a_socket_has_a_place_among_the_connections_until_it_ends() {
    let mut settings = Settings::default();
    settings.http.connections_max = 1;
    let server = Harness::with(settings);
    let listening = listen(&server.app).await;
    let socket = Socket::open(listening.address).await;
    let mut waiting = TcpStream::connect(listening.address).await.unwrap();
    waiting.write_all(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let early = timeout(Duration::from_millis(100), waiting.read_buf(&mut answer)).await;
    assert!(early.is_err(), "{}", String::from_utf8_lossy(&answer));
    drop(socket);
    timeout(PATIENCE, waiting.read_to_end(&mut answer)).await.expect("an answer").unwrap();
    assert!(answer.starts_with(b"HTTP/1.0 200"), "{}", String::from_utf8_lossy(&answer));
}

#[tokio::test]
async fn a_route_for_sockets_tells_others_what_it_is() {
    let server = Harness::new();
    let answer = server.get("/agui/ws", &[]).await;
    assert_eq!(answer.headers["upgrade"], "websocket");
    let (status, code, _) = answer.refusal().await;
    assert_eq!((status, code.as_str()), (426, "upgrade_required"));

    let mut settings = Settings::default();
    settings.http.websocket = false;
    let server = Harness::with(settings);
    for path in ["/agui/ws", "/agents/puppet/ws"] {
        assert_eq!(server.get(path, &[]).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn messages_count_as_requests() {
    let mut settings = Settings::default();
    settings.limits.requests_per_scope_per_second = 2;
    let server = Harness::with(settings);
    let listening = listen(&server.app).await;
    let mut socket = Socket::open(listening.address).await;
    let mut codes = Vec::new();
    for number in 0..5 {
        socket.ask(&number.to_string(), "cancel", &json!({"threadId":"t"})).await;
        codes.push(socket.next().await["error"]["code"].as_str().unwrap().to_owned());
    }
    assert!(codes.contains(&"thread_not_found".to_owned()), "{codes:?}");
    assert!(codes.contains(&"rate_limited".to_owned()), "{codes:?}");
}
