//! Threads: what a client holds, and what its subscriber sees.

use super::{FINISHED, STARTED, client, hasty};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use threadline_client::{Cancelled, InterruptError, Progress, Quiet, Subscriber, Thread, ThreadError, Turn};
use threadline_protocol::json::{Json, JsonNonNull};
use threadline_protocol::run::Tool;
use threadline_protocol::stages::consumer::Notice;
use threadline_protocol::stages::fold::{Changes, Fold, RunStatus};
use threadline_protocol::{Event, Message};
use threadline_testkit::upstream::{Signal, Step, Upstream, answer, chunk, head, last_chunk, sse_answer};

const TEXT: &str = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"Hel"}"#;
const MORE: &str = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"lo"}"#;
const STATE: &str = r#"{"type":"STATE_SNAPSHOT","snapshot":{"n":1}}"#;
const ASKED: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"confirmation","expiresAt":"2026-11-03T11:00:00Z"}]}}"#;

/// Writes down what it sees.
#[derive(Debug, Default)]
struct Scribe(Vec<String>);

impl Subscriber for Scribe {
    fn event(&mut self, event: &Event<'_>) {
        self.0.push(event.event_type().map_or("?", |it| it.as_str()).to_owned());
    }

    fn changed(&mut self, changes: &Changes<'_>, held: &Fold) {
        let ids: Vec<_> = changes.messages.iter().filter_map(|it| it.id()).map(ToString::to_string).collect();
        let state = if changes.state { held.state().as_str().to_owned() } else { String::new() };
        self.0.push(format!("changed {}{state}", ids.join(",")));
    }

    fn notice(&mut self, notice: &Notice) {
        self.0.push(notice.message.clone());
    }
}

fn texts(held: &Fold) -> Vec<String> {
    held.messages().map(Message::to_json).collect()
}

#[tokio::test]
async fn events_become_messages_and_state() {
    let unknown = r#"{"type":"NEWS","x":1}"#;
    let upstream = Upstream::start([sse_answer(&[STARTED, TEXT, MORE, STATE, unknown, FINISHED])]).await;
    let client = client(&upstream, hasty());
    let (mut thread, mut scribe) = (Thread::new(&client, "t"), Scribe::default());
    let turn =
        Turn::say("hi").with_tools(vec![Tool::new("tell", "Tells.")]).with_run_id("r").with_parent("p");
    let end = thread.run(turn).unwrap().finish(&mut scribe).await.unwrap();
    assert_eq!((end.status, end.run_id.as_deref()), (RunStatus::Success, Some("r")));
    let user = r#"{"role":"user","id":"00000000-0000-4000-8000-000000000001","content":"hi"}"#;
    assert_eq!(texts(thread.held()), [user, r#"{"role":"assistant","id":"m","content":"Hello"}"#]);
    assert_eq!(thread.held().state().as_str(), r#"{"n":1}"#);
    assert_eq!(
        scribe.0,
        [
            "RUN_STARTED",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "changed m",
            "TEXT_MESSAGE_CONTENT",
            "changed m",
            "TEXT_MESSAGE_END",
            "STATE_SNAPSHOT",
            r#"changed m{"n":1}"#,
            "unknown event, dropped. type=NEWS",
            "RUN_FINISHED",
        ]
    );
    let sent: serde_json::Value = serde_json::from_slice(&upstream.requests()[0].body).unwrap();
    assert_eq!(
        sent,
        serde_json::json!({
            "threadId": "t", "runId": "r", "protocolVersion": "1.0", "parentRunId": "p", "state": {}, "context": [],
            "messages": [serde_json::from_str::<serde_json::Value>(user).unwrap()], "forwardedProps": {},
            "tools": [{"name": "tell", "description": "Tells."}],
        })
    );
    // The next run says it all again.
    thread
        .run(Turn::new().with_result("c", "done").with_failure("d", "broke"))
        .unwrap()
        .finish(&mut Quiet)
        .await
        .unwrap();
    let sent: serde_json::Value = serde_json::from_slice(&upstream.requests()[1].body).unwrap();
    let roles: Vec<_> =
        sent["messages"].as_array().unwrap().iter().map(|it| it["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool"]);
    assert_eq!(sent["messages"][2]["toolCallId"], "c");
    assert_eq!(
        (&sent["messages"][3]["content"], &sent["messages"][3]["error"]),
        (&"broke".into(), &"broke".into())
    );
    assert_eq!(sent["state"], serde_json::json!({"n": 1}));
}

#[tokio::test]
async fn a_stream_that_breaks_the_rules_is_refused() {
    let content = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"x","delta":"y"}"#;
    for wrong in [content, "no json", r#"{"type":"TEXT_MESSAGE_START"}"#] {
        let upstream = Upstream::start([sse_answer(&[STARTED, wrong, FINISHED])]).await;
        let client = client(&upstream, hasty());
        let mut thread = Thread::new(&client, "t");
        let error = thread.run(Turn::new()).unwrap().finish(&mut Quiet).await.unwrap_err();
        assert!(matches!(error, ThreadError::Stop(_)), "{error}");
        assert_eq!(upstream.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_failed_run_says_so() {
    let failed = r#"{"type":"RUN_ERROR","message":"no","code":"c"}"#;
    let upstream = Upstream::start([sse_answer(&[STARTED, failed])]).await;
    let client = client(&upstream, hasty());
    let end = Thread::new(&client, "t").run(Turn::new()).unwrap().finish(&mut Quiet).await.unwrap();
    assert_eq!(
        (end.status, end.message.as_deref(), end.code.as_deref()),
        (RunStatus::Failed, Some("no"), Some("c"))
    );
}

#[tokio::test]
async fn questions_must_be_answered_in_time() {
    let upstream = Upstream::start([sse_answer(&[STARTED, ASKED]), sse_answer(&[STARTED, FINISHED])]).await;
    let client = client(&upstream, hasty());
    let mut thread = Thread::new(&client, "t");
    let end = thread.run(Turn::new()).unwrap().finish(&mut Quiet).await.unwrap();
    assert_eq!((end.status, thread.held().interrupts().len()), (RunStatus::Interrupted, 1));
    let answer = JsonNonNull::try_from(Json::from(serde_json::json!(true))).unwrap();
    let refused = |turn: Turn, thread: &mut Thread| thread.run(turn).map(drop).unwrap_err();
    assert_eq!(refused(Turn::say("x"), &mut thread), InterruptError::Uncovered(vec!["i".to_owned()]));
    let late = refused(Turn::new().with_answer("i", answer), &mut thread);
    assert!(matches!(late, InterruptError::Expired { .. }), "{late}");
    thread.run(Turn::new().without_answer("i")).unwrap().finish(&mut Quiet).await.unwrap();
    let sent: serde_json::Value = serde_json::from_slice(&upstream.requests()[1].body).unwrap();
    assert_eq!(sent["resume"], serde_json::json!([{"interruptId": "i", "status": "cancelled"}]));
    assert!(thread.held().interrupts().is_empty());
}

#[tokio::test]
async fn a_run_is_stopped_by_its_id() {
    let signal = Signal::default();
    let stopped = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"cancelled"}}"#;
    let mut going = vec![
        head("200 OK", &[("content-type", "text/event-stream"), ("transfer-encoding", "chunked")]),
        chunk(format!("data: {STARTED}\n\n")),
        Step::Wait(signal.clone()),
        chunk(format!("data: {stopped}\n\n")),
    ];
    going.push(last_chunk());
    let mut told = vec![Step::Raise(signal)];
    told.extend(answer("200 OK", "application/json", r#"{"threadId":"t","runId":"r","status":"cancelled"}"#));
    let upstream = Upstream::start([going, told]).await;
    let client = client(&upstream, hasty());
    let mut thread = Thread::new(&client, "t");
    let mut run = thread.run(Turn::new().with_run_id("r")).unwrap();
    assert_eq!(run.advance(&mut Quiet).await.unwrap(), Progress::Going);
    let Cancelled::Told(answer) = run.cancel().await.unwrap() else { panic!() };
    assert_eq!((answer.run_id.as_deref(), answer.status.as_deref()), (Some("r"), Some("cancelled")));
    assert_eq!(run.finish(&mut Quiet).await.unwrap().status, RunStatus::Cancelled);
    let asked = &upstream.requests()[1];
    assert_eq!(
        (asked.target.as_str(), &asked.body[..]),
        ("/agent/cancel", &br#"{"runId":"r","threadId":"t"}"#[..])
    );
}

#[tokio::test]
async fn where_nobody_can_be_told_the_connection_is_closed() {
    let gone = Signal::default();
    let going = vec![
        head("200 OK", &[("content-type", "text/event-stream"), ("transfer-encoding", "chunked")]),
        chunk(format!("data: {STARTED}\n\n")),
        Step::UntilGone,
        Step::Raise(gone.clone()),
    ];
    let upstream = Upstream::start([going, answer("404 Not Found", "text/plain", "no")]).await;
    let client = client(&upstream, hasty());
    let mut thread = Thread::new(&client, "t");
    let mut run = thread.run(Turn::new()).unwrap();
    run.advance(&mut Quiet).await.unwrap();
    assert_eq!(run.cancel().await.unwrap(), Cancelled::Closed);
    gone.wait().await;
    let Progress::Over(end) = run.advance(&mut Quiet).await.unwrap() else { panic!() };
    assert_eq!(end.status, RunStatus::Running);
    drop(run);
    assert!(thread.resume().is_none(), "it was given up");
}

#[tokio::test]
async fn a_run_that_was_left_is_come_back_to() {
    let going = vec![
        head("200 OK", &[("content-type", "text/event-stream"), ("transfer-encoding", "chunked")]),
        chunk(format!("id: 1\ndata: {STARTED}\n\n")),
        Step::UntilGone,
    ];
    let upstream = Upstream::start([going, sse_answer(&[TEXT, FINISHED])]).await;
    let client = client(&upstream, hasty());
    let mut thread = Thread::new(&client, "t");
    thread.run(Turn::new()).unwrap().advance(&mut Quiet).await.unwrap();
    let end = thread.resume().unwrap().finish(&mut Quiet).await.unwrap();
    assert_eq!((end.status, thread.held().messages().len()), (RunStatus::Success, 1));
    assert_eq!(upstream.requests()[1].header("last-event-id"), ["1"]);
    assert!(thread.resume().is_none());
    // One of which nothing was sent is not lost either.
    drop(thread.run(Turn::new()).unwrap());
    assert!(thread.resume().is_some());
}

#[tokio::test]
async fn dropping_what_is_waited_for_loses_nothing_and_sends_nothing_twice() {
    let mut script = sse_answer(&[STARTED, TEXT, MORE, FINISHED]);
    for at in (0..script.len()).rev() {
        script.insert(at, Step::Sleep(std::time::Duration::from_millis(2)));
    }
    let upstream = Upstream::start([script]).await;
    let client = client(&upstream, hasty());
    let mut thread = Thread::new(&client, "t");
    let mut run = thread.run(Turn::new()).unwrap();
    let (mut polls, mut over) = (0, None);
    while over.is_none() {
        polls += 1;
        // Polled once, and dropped if it is not ready.
        let now = {
            let mut quiet = Quiet;
            let mut advance = pin!(run.advance(&mut quiet));
            poll_fn(|cx| Poll::Ready(advance.as_mut().poll(cx))).await
        };
        match now {
            Poll::Pending => tokio::task::yield_now().await,
            Poll::Ready(progress) => {
                if let Progress::Over(end) = progress.unwrap() {
                    over = Some(end);
                }
            }
        }
    }
    assert!(polls > 10, "{polls}");
    drop(run);
    assert_eq!(texts(thread.held()), [r#"{"role":"assistant","id":"m","content":"Hello"}"#]);
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn a_thread_begins_with_what_the_server_has() {
    let messages = r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"user","id":"u","content":"hi"}]}"#;
    let idle = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","metadata":{"threadline":{"runId":"q","status":"failed"}}}"#;
    let upstream = Upstream::start([sse_answer(&[STARTED, STATE, messages, idle])]).await;
    let client = client(&upstream, hasty());
    let mut thread = Thread::new(&client, "t");
    let end = thread.connect(Some("q")).finish(&mut Quiet).await.unwrap();
    assert_eq!((end.status, end.run_id.as_deref()), (RunStatus::Failed, Some("q")));
    let history = client.history("t", Some("q 1")).await.unwrap();
    assert_eq!(texts(&history), texts(thread.held()));
    assert_eq!(history.state(), thread.held().state());
    let targets: Vec<_> = upstream.requests().into_iter().map(|request| request.target).collect();
    assert_eq!(targets, ["/agent/connect?run=q", "/agent/history?state=true&run=q%201"]);
    let none = Upstream::start([answer("404 Not Found", "text/plain", "no")]).await;
    let client = super::client(&none, hasty());
    let error = Thread::new(&client, "t").connect(None).finish(&mut Quiet).await.unwrap_err();
    assert!(matches!(error, ThreadError::NotResumable { .. }), "{error}");
    assert!(matches!(client.history("t", None).await, Err(ThreadError::NotResumable { .. })));
}

#[tokio::test]
async fn capabilities_are_typed() {
    let document = r#"{"identity":{"name":"x"},"transport":{"resumable":true}}"#;
    let upstream = Upstream::start([answer("200 OK", "application/json", document)]).await;
    let capabilities = client(&upstream, hasty()).capabilities().await.unwrap().unwrap();
    assert_eq!(capabilities.transport.unwrap().resumable, Some(true));
    assert_eq!(capabilities.identity.unwrap().name.unwrap(), "x");
}
