//! A client that notices how an answer ends.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::handshake;
use hyper::http::request::Builder;
use hyper::{HeaderMap, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Long enough for anything; tests wait for things themselves.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Asks a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
}

/// An answer, which may go on.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    rest: Vec<u8>,
}

/// What a stream says next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Frame(Frame),
    /// It has ended as it should.
    Over,
    /// It was cut in the middle.
    Cut,
}

/// One frame of an event stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) id: Option<String>,
    pub(crate) json: String,
}

impl Frame {
    fn read(piece: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(piece).expect("text");
        let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        line("data: ").map(|json| Self { id: line("id: "), json })
    }

    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(&self.json).expect("JSON")
    }

    pub(crate) fn cursor(&self) -> &str {
        self.id.as_deref().expect("a frame with an id")
    }

    /// The type, and for errors the code.
    pub(crate) fn kind(&self) -> String {
        let value = self.value();
        match value["code"].as_str() {
            Some(code) => format!("{}:{code}", value["type"].as_str().expect("a type")),
            None => value["type"].as_str().expect("a type").to_owned(),
        }
    }
}

pub(crate) type Asked = Result<Answer, Box<dyn Error + Send + Sync>>;

/// The body of a request for a run.
pub(crate) fn request(thread: &str, run: &str) -> Value {
    json!({
        "threadId": thread, "runId": run, "protocolVersion": "1.0", "state": {}, "tools": [], "context": [],
        "messages": [{ "id": format!("{run}-u"), "role": "user", "content": "hello" }],
        "forwardedProps": {},
    })
}

impl Client {
    /// A run of an agent. An error if there is nobody who answers.
    pub(crate) async fn try_run(self, agent: &str, thread: &str, run: &str) -> Asked {
        self.post(&format!("/agents/{agent}"), &[], &request(thread, run)).await
    }

    /// The same, of a server that is there.
    pub(crate) async fn run(self, agent: &str, thread: &str, run: &str) -> Answer {
        self.try_run(agent, thread, run).await.expect("an answer")
    }

    /// Attaches to a thread, behind a cursor if there is one.
    pub(crate) async fn try_connect(self, agent: &str, thread: &str, after: Option<&str>) -> Asked {
        let headers: Vec<(&str, &str)> = after.map(|cursor| ("last-event-id", cursor)).into_iter().collect();
        let body = json!({ "threadId": thread, "protocolVersion": "1.0" });
        self.post(&format!("/agents/{agent}/connect"), &headers, &body).await
    }

    /// The same, of a server that is there.
    pub(crate) async fn connect(self, agent: &str, thread: &str, after: Option<&str>) -> Answer {
        self.try_connect(agent, thread, after).await.expect("an answer")
    }

    pub(crate) async fn get(self, path: &str) -> Answer {
        self.try_get(path).await.expect("an answer")
    }

    pub(crate) async fn try_get(self, path: &str) -> Asked {
        self.ask(Request::get(path), String::new()).await
    }

    /// Appends events, as lines of JSON, to a run that is executed here. The same with the same key lands once.
    pub(crate) async fn try_append(self, thread: &str, run: &str, key: &str, events: String) -> Asked {
        let request = Request::post(format!("/v1/threads/{thread}/events?run={run}"))
            .header("content-type", "application/x-ndjson")
            .header("idempotency-key", key);
        self.ask(request, events).await
    }

    /// The runs of a thread, and how they stand.
    pub(crate) async fn runs(self, thread: &str) -> Vec<(String, String)> {
        let runs = self.get(&format!("/v1/threads/{thread}/runs")).await.json().await;
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let runs = runs["runs"].as_array().expect("runs").iter();
        runs.map(|run| (text(&run["runId"]), text(&run["status"]))).collect()
    }

    pub(crate) async fn post(self, path: &str, headers: &[(&str, &str)], body: &Value) -> Asked {
        let mut request = Request::post(path).header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.ask(request, body.to_string()).await
    }

    pub(crate) async fn ask(self, request: Builder, body: String) -> Asked {
        let asked = async { Answer::over(TcpStream::connect(self.address).await?, request, body).await };
        timeout(PATIENCE, asked).await.expect("an answer in time")
    }
}

impl Answer {
    /// Over a connection that is there.
    pub(crate) async fn over(tcp: TcpStream, request: Builder, body: impl Into<Bytes>) -> Asked {
        let (mut sender, connection) = handshake(TokioIo::new(tcp)).await?;
        // How it ends is seen in the body.
        tokio::spawn(async { drop(connection.await) });
        let request = request.header("host", "localhost").body(Full::new(body.into()))?;
        let (head, body) = sender.send_request(request).await?.into_parts();
        Ok(Self { status: head.status, headers: head.headers, body, rest: Vec::new() })
    }

    /// What comes next. Comments that only keep the connection alive do not count.
    pub(crate) async fn next(&mut self) -> Next {
        timeout(PATIENCE, self.read_next()).await.expect("something in time")
    }

    async fn read_next(&mut self) -> Next {
        loop {
            if let Some(end) = self.rest.windows(2).position(|pair| pair == b"\n\n") {
                let piece: Vec<u8> = self.rest.drain(..end + 2).collect();
                match Frame::read(&piece) {
                    Some(frame) => return Next::Frame(frame),
                    None => continue,
                }
            }
            match self.body.frame().await {
                None if self.rest.is_empty() => return Next::Over,
                None | Some(Err(_)) => return Next::Cut,
                Some(Ok(more)) => self.rest.extend_from_slice(more.data_ref().expect("no trailers")),
            }
        }
    }

    /// The next frame, of a stream that goes on.
    pub(crate) async fn frame(&mut self) -> Frame {
        match self.next().await {
            Next::Frame(frame) => frame,
            end => panic!("{end:?}"),
        }
    }

    /// All frames, and how they ended.
    pub(crate) async fn rest(mut self) -> (Vec<Frame>, Next) {
        let mut frames = Vec::new();
        loop {
            match self.next().await {
                Next::Frame(frame) => frames.push(frame),
                end => return (frames, end),
            }
        }
    }

    /// All frames of a stream that ends as it should.
    pub(crate) async fn all(self) -> Vec<Frame> {
        if self.status != StatusCode::OK {
            panic!("{:?}", self.refusal().await);
        }
        let (frames, end) = self.rest().await;
        assert_eq!(end, Next::Over, "{frames:?}");
        frames
    }

    /// All of the body.
    pub(crate) async fn text(self) -> String {
        let body = timeout(PATIENCE, self.body.collect()).await.expect("a body in time");
        String::from_utf8(body.expect("a whole body").to_bytes().to_vec()).expect("text")
    }

    /// The body as JSON, if it comes whole.
    pub(crate) async fn try_json(self) -> Option<Value> {
        let body = timeout(PATIENCE, self.body.collect()).await.expect("an end in time").ok()?;
        Some(serde_json::from_slice(&body.to_bytes()).expect("JSON"))
    }

    /// The body as JSON.
    pub(crate) async fn json(self) -> Value {
        serde_json::from_str(&self.text().await).expect("JSON")
    }

    /// A refusal: its status and its code.
    pub(crate) async fn refusal(self) -> (u16, String) {
        let status = self.status.as_u16();
        let body = self.json().await;
        (status, body["error"]["code"].as_str().unwrap_or_default().to_owned())
    }
}
