//! A server without connections, and clients of it.

use crate::openapi::Described;
use crate::puppet::Puppet;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;
use threadline_log::clock::{Clock, Ids};
use threadline_log::{Engine, Incarnation, MemoryStore, Options, Store, Timestamp};
use threadline_protocol::Event;
use threadline_protocol::Received;
use threadline_protocol::stages::fold::Fold;
use threadline_protocol::stages::verify::Verifier;
use threadline_server::{Agents, App, Settings, router};
use tokio::time::timeout;
use tower::ServiceExt;

/// Long enough for anything; tests wait for things themselves.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
struct Ticks(AtomicI64);

impl Clock for Ticks {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(1, Ordering::SeqCst))
    }
}

#[derive(Debug, Default)]
struct Counted(AtomicU64);

impl Ids for Counted {
    fn incarnation(&self) -> Incarnation {
        Incarnation(self.0.fetch_add(1, Ordering::SeqCst) + 7)
    }
}

/// A server with one agent, `puppet`, which is the default.
pub(crate) struct Harness {
    pub(crate) app: App,
    pub(crate) agent: Puppet,
    clock: Arc<Ticks>,
    ids: Arc<Counted>,
    router: Router,
    described: Described,
}

impl Harness {
    pub(crate) fn new() -> Self {
        Self::with(Settings::default())
    }

    pub(crate) fn with(settings: Settings) -> Self {
        Self::on(Arc::new(MemoryStore::new()), settings)
    }

    pub(crate) fn on(store: Arc<dyn Store>, settings: Settings) -> Self {
        Self::made(store, settings, |app| app)
    }

    /// With an app that is told more than its settings.
    pub(crate) fn made(store: Arc<dyn Store>, settings: Settings, make: impl FnOnce(App) -> App) -> Self {
        Self::timed(store, settings, Arc::default(), Arc::default(), make)
    }

    /// Another server, of the same time.
    pub(crate) fn beside(&self, store: Arc<dyn Store>, settings: Settings) -> Self {
        Self::timed(store, settings, Arc::clone(&self.clock), Arc::clone(&self.ids), |app| app)
    }

    fn timed(
        store: Arc<dyn Store>,
        settings: Settings,
        clock: Arc<Ticks>,
        ids: Arc<Counted>,
        make: impl FnOnce(App) -> App,
    ) -> Self {
        let engine = Engine::new(store, clock.clone(), ids.clone(), Options::default());
        let agent = Puppet::default();
        let agents = Agents::new().with("puppet", Arc::new(agent.clone()));
        let app = make(App::new(engine, agents, settings));
        Self { router: router(app.clone()), described: Described::new(&app), app, agent, clock, ids }
    }

    /// Sets the clock forward.
    pub(crate) fn jump(&self, time: Duration) {
        self.clock.0.fetch_add(i64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
    }

    /// Sends a request with a JSON body.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_with(path, &[], body.to_string()).await
    }

    pub(crate) async fn post_with(&self, path: &str, headers: &[(&str, &str)], body: String) -> Answer {
        let mut request = Request::post(path).header(header::HOST, "localhost");
        if !headers.iter().any(|(name, _)| *name == "content-type") {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::from(body)).unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut request = Request::get(path).header(header::HOST, "localhost");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::empty()).unwrap()).await
    }

    /// Sends a request of any method, with a body that is JSON if there is one.
    pub(crate) async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Answer {
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, "localhost");
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        self.send(request.body(body).unwrap()).await
    }

    /// A run from its beginning to its end, in which a user says something and the agent answers.
    pub(crate) async fn talk(&self, thread: &str, run: &str, said: &str, answered: &str) {
        let agent = self.agent.next_run();
        let mut body = request(run, &json!([user(&format!("{run}-u"), said)]));
        body["threadId"] = thread.into();
        let answer = self.post("/agui", &body).await;
        agent.say(&json!({"type":"TEXT_MESSAGE_CHUNK","messageId":format!("{run}-a"),"role":"assistant","delta":answered}));
        agent.say(&json!({"type":"RUN_FINISHED","threadId":thread,"runId":run}));
        answer.all().await;
    }

    /// Waits until a run of the thread `t` has ended.
    pub(crate) async fn end_of_run(&self) {
        let mut records = self.get("/v1/threads/t/events", &[("accept", "text/event-stream")]).await;
        while let Some(record) = records.next().await {
            if matches!(record.value()["event"]["type"].as_str(), Some("RUN_FINISHED" | "RUN_ERROR")) {
                return;
            }
        }
        panic!("the run did not end");
    }

    /// Whatever is asked, the answer is one that the server's description has.
    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let answer = timeout(PATIENCE, self.router.clone().oneshot(request)).await.expect("an answer");
        let (head, body) = answer.unwrap().into_parts();
        self.described.check(&method, &path, &head);
        Answer { status: head.status, headers: head.headers, body, rest: Vec::new() }
    }
}

/// A request for a run, as a client of 1.0 sends it.
pub(crate) fn request(run: &str, messages: &Value) -> Value {
    json!({
        "threadId": "t", "runId": run, "protocolVersion": "1.0", "state": {}, "messages": messages,
        "tools": [], "context": [], "forwardedProps": {},
    })
}

/// A user's words.
pub(crate) fn user(id: &str, content: &str) -> Value {
    json!({ "id": id, "role": "user", "content": content })
}

/// An answer, which may go on.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Body,
    rest: Vec<u8>,
}

/// One frame of an event stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) id: Option<String>,
    pub(crate) json: String,
}

impl Frame {
    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(&self.json).unwrap()
    }

    pub(crate) fn kind(&self) -> String {
        self.value()["type"].as_str().unwrap().to_owned()
    }
}

impl Answer {
    /// The next frame; none when the stream has ended as it should.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        loop {
            let end = self.rest.windows(2).position(|pair| pair == b"\n\n");
            if let Some(end) = end {
                let piece: Vec<u8> = self.rest.drain(..end + 2).collect();
                if let Some(frame) = frame(&piece) {
                    return Some(frame);
                }
                continue;
            }
            let more = timeout(PATIENCE, self.body.frame()).await.expect("a frame");
            let Some(more) = more else {
                assert_eq!(self.rest, b"", "half a frame");
                return None;
            };
            self.rest.extend_from_slice(&more.expect("a stream that is not cut").into_data().unwrap());
        }
    }

    /// The next piece as it comes.
    pub(crate) async fn piece(&mut self) -> String {
        let more = timeout(PATIENCE, self.body.frame()).await.expect("a frame").expect("more of the body");
        String::from_utf8(more.unwrap().into_data().unwrap().to_vec()).unwrap()
    }

    /// Waits until the stream is cut in the middle of the body.
    pub(crate) async fn cut(mut self) {
        while let Some(more) = timeout(PATIENCE, self.body.frame()).await.expect("a frame") {
            if more.is_err() {
                return;
            }
        }
        panic!("the stream has ended as it should");
    }

    /// Frames until the one of this type, that one included.
    pub(crate) async fn until(&mut self, kind: &str) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.next().await {
            let is_last = frame.kind() == kind;
            frames.push(frame);
            if is_last {
                return frames;
            }
        }
        panic!("no {kind} in {frames:#?}")
    }

    /// All frames to the end.
    pub(crate) async fn all(mut self) -> Vec<Frame> {
        if self.status != StatusCode::OK {
            panic!("{:?}", self.refusal().await);
        }
        let mut frames = Vec::new();
        while let Some(frame) = self.next().await {
            frames.push(frame);
        }
        frames
    }

    /// All of the body.
    pub(crate) async fn body(&mut self) -> Bytes {
        let body = timeout(PATIENCE, std::mem::take(&mut self.body).collect()).await.expect("a body");
        body.unwrap().to_bytes()
    }

    /// The body as JSON.
    pub(crate) async fn json(mut self) -> Value {
        serde_json::from_slice(&self.body().await).unwrap()
    }

    /// A refusal: its status and its code.
    pub(crate) async fn refusal(self) -> (u16, String, Value) {
        let status = self.status.as_u16();
        assert!(status >= 400, "{status}");
        let mut error = self.json().await["error"].take();
        (status, error["code"].as_str().unwrap().to_owned(), error["details"].take())
    }
}

fn frame(piece: &[u8]) -> Option<Frame> {
    let text = std::str::from_utf8(piece).unwrap();
    let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
    line("data: ").map(|json| Frame { id: line("id: "), json })
}

/// The types of frames.
pub(crate) fn kinds(frames: &[Frame]) -> Vec<String> {
    frames.iter().map(Frame::kind).collect()
}

/// What a client holds after these frames, whose strict pipeline accepts all of them.
pub(crate) fn folded(frames: &[Frame]) -> Fold {
    let mut verifier = Verifier::default();
    let mut expander = threadline_protocol::stages::expand::Expander::new();
    let mut fold = Fold::new();
    for frame in frames {
        let received = Received::read(&frame.json).unwrap();
        assert_eq!(received.departures(), [], "{}", frame.json);
        let events: Vec<Event<'_>> = expander.expand(received.event()).unwrap().iter().cloned().collect();
        for event in &events {
            let errors: Vec<_> = verifier.check(event).into_iter().filter(|one| one.is_error()).collect();
            assert!(errors.is_empty(), "{errors:?} at {} of {:#?}", frame.json, kinds(frames));
            // Valid streams may hold what clients warn of.
            let _ = fold.apply(event);
        }
    }
    fold
}

/// The messages of a fold, as JSON.
pub(crate) fn messages(fold: &Fold) -> Value {
    fold.messages().map(|message| serde_json::from_str::<Value>(&message.to_json()).unwrap()).collect()
}
