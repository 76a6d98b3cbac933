//! Coming back to a run.

use super::{FINISHED, STARTED, client, hasty};
use threadline_client::{ClientOptions, EndpointOptions, ErrorKind, Heard, RunEvents, ThreadError};
use threadline_protocol::RunAgentInput;
use threadline_testkit::upstream::{
    Request, Step, Upstream, answer, chunk, head, last_chunk, protobuf_answer, sse_answer,
};

const HELLO: &str = r#"{"type":"CUSTOM","name":"hello","value":1}"#;
const AGAIN: &str = r#"{"type":"CUSTOM","name":"again","value":2}"#;
const RESUMABLE: &str = r#"{"transport":{"resumable":true}}"#;

fn input() -> RunAgentInput<'static> {
    RunAgentInput::new("t", "r", Vec::new())
}

/// Frames with cursors, as much of them as there is, and then the connection breaks.
fn cut(frames: &[(&str, &str)]) -> Vec<Step> {
    let mut script = vec![begun()];
    script.extend(frames.iter().map(|frame| framed(*frame)));
    script.push(Step::Reset);
    script
}

fn whole(frames: &[(&str, &str)]) -> Vec<Step> {
    let mut script = vec![begun()];
    script.extend(frames.iter().map(|frame| framed(*frame)));
    script.push(last_chunk());
    script
}

fn begun() -> Step {
    head("200 OK", &[("content-type", "text/event-stream"), ("transfer-encoding", "chunked")])
}

fn framed((cursor, event): (&str, &str)) -> Step {
    chunk(format!("id: {cursor}\ndata: {event}\n\n"))
}

fn refusal(status: &str, code: &str) -> Vec<Step> {
    answer(status, "application/json", format!(r#"{{"error":{{"code":"{code}","message":"no"}}}}"#))
}

/// What was heard: events by their text, and words for the rest.
async fn heard(mut events: RunEvents) -> (Vec<String>, Option<ThreadError>) {
    let mut heard = Vec::new();
    loop {
        match events.next().await {
            None => return (heard, None),
            Some(Err(error)) => {
                assert!(events.next().await.is_none(), "nothing follows an error");
                return (heard, Some(error));
            }
            Some(Ok(Heard::Event(event))) => heard.push(event.json().to_owned()),
            Some(Ok(Heard::Restarted)) => heard.push("restarted".to_owned()),
            Some(Ok(Heard::Lost { .. })) => heard.push("lost".to_owned()),
            Some(Ok(other)) => panic!("{other:?}"),
        }
    }
}

/// What was heard of a run whose server plays scripts, and what was asked of it.
async fn played(
    scripts: Vec<Vec<Step>>,
    options: ClientOptions,
) -> (Vec<String>, Option<ThreadError>, Vec<Request>) {
    let upstream = Upstream::start(scripts).await;
    let (heard, error) = heard(client(&upstream, options).run(&input())).await;
    (heard, error, upstream.requests())
}

fn targets(requests: &[Request]) -> Vec<&str> {
    requests.iter().map(|request| request.target.as_str()).collect()
}

#[tokio::test]
async fn a_broken_run_goes_on_behind_its_last_event() {
    let scripts = vec![
        cut(&[("1", STARTED), ("2", HELLO)]),
        cut(&[]),
        // One that says what was heard already.
        cut(&[("2", HELLO), ("3", AGAIN)]),
        whole(&[("4", FINISHED)]),
    ];
    let (heard, error, requests) = played(scripts, hasty()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(heard, [STARTED, HELLO, "lost", "lost", AGAIN, "lost", FINISHED]);
    assert_eq!(
        targets(&requests),
        ["/agent", "/agent/connect?run=r", "/agent/connect?run=r", "/agent/connect?run=r"]
    );
    let cursors: Vec<_> = requests.iter().map(|request| request.header("last-event-id").join(",")).collect();
    assert_eq!(cursors, ["", "2", "2", "3"]);
    assert_eq!(requests[1].body, r#"{"messages":[],"protocolVersion":"1.0","runId":"r","threadId":"t"}"#);
}

#[tokio::test]
async fn an_answer_that_ends_before_its_run_is_no_end() {
    let scripts = vec![whole(&[("1", STARTED)]), whole(&[("2", FINISHED)])];
    let (heard, error, _) = played(scripts, hasty()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(heard, [STARTED, "lost", FINISHED]);
}

#[tokio::test]
async fn what_the_end_of_a_connection_leaves_of_an_event_is_none() {
    // Without a length, the end of the connection is that of the answer.
    let open = head("200 OK", &[("content-type", "text/event-stream")]);
    let first = format!("id: 1\ndata: {STARTED}\n\nid: 2\ndata: {{\"type\":\"CUSTOM\",\"value\":{{}}");
    let scripts = vec![vec![open, Step::Write(first.into())], whole(&[("2", HELLO), ("3", FINISHED)])];
    let (heard, error, requests) = played(scripts, hasty()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(heard, [STARTED, "lost", HELLO, FINISHED]);
    assert_eq!(requests[1].header("last-event-id"), ["1"]);
}

#[tokio::test]
async fn without_cursors_it_begins_anew_if_the_server_can_resume() {
    let mut broken = sse_answer(&[STARTED, HELLO]);
    broken.pop();
    broken.push(Step::Reset);
    let resumable = || answer("200 OK", "application/json", RESUMABLE);
    let scripts = vec![broken.clone(), resumable(), sse_answer(&[STARTED, AGAIN, FINISHED])];
    let (heard, error, requests) = played(scripts, hasty()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(heard, [STARTED, HELLO, "lost", "restarted", STARTED, AGAIN, FINISHED]);
    assert_eq!(targets(&requests), ["/agent", "/agent/capabilities", "/agent/connect?run=r"]);
    assert!(requests[2].header("last-event-id").is_empty());
    // The same in protobuf, which has no place for cursors.
    let mut options = hasty();
    options.endpoint.accept_protobuf = true;
    let mut broken = protobuf_answer(&[STARTED, HELLO]);
    broken.pop();
    broken.push(Step::Reset);
    let (heard, error, _) =
        played(vec![broken, resumable(), protobuf_answer(&[STARTED, FINISHED])], options).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(heard.len(), 6, "{heard:?}");
}

#[tokio::test]
async fn a_server_that_cannot_resume_is_left_alone() {
    let mut broken = sse_answer(&[STARTED]);
    broken.pop();
    broken.push(Step::Reset);
    for said in [
        answer("404 Not Found", "text/plain", "no"),
        answer("200 OK", "application/json", "{}"),
        answer("200 OK", "text/html", "<html>"),
        answer("500 Oops", "text/plain", "no"),
    ] {
        let (heard, error, requests) = played(vec![broken.clone(), said], hasty()).await;
        assert_eq!(heard, [STARTED]);
        let Some(ThreadError::NotResumable { source }) = error else { panic!("{error:?}") };
        assert_eq!(source.kind(), ErrorKind::Broken);
        assert_eq!(targets(&requests), ["/agent", "/agent/capabilities"], "and nothing is sent twice");
    }
}

#[tokio::test]
async fn a_run_that_may_have_begun_is_sent_again_only_if_it_has_not() {
    let resumable = answer("200 OK", "application/json", RESUMABLE);
    let scripts = vec![
        vec![Step::Reset],
        resumable.clone(),
        refusal("404 Not Found", "run_not_found"),
        whole(&[("1", STARTED), ("2", FINISHED)]),
    ];
    let (heard, error, requests) = played(scripts, hasty()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(heard, ["lost", "lost", STARTED, FINISHED]);
    assert_eq!(targets(&requests), ["/agent", "/agent/capabilities", "/agent/connect?run=r", "/agent"]);
    assert_eq!(requests[0].body, requests[3].body);
    // It had.
    let scripts = vec![vec![Step::Reset], resumable, whole(&[("1", STARTED), ("2", FINISHED)])];
    let (heard, error, _) = played(scripts, hasty()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(heard, ["lost", STARTED, FINISHED]);
}

#[tokio::test]
async fn a_server_that_is_busy_is_asked_again_and_one_that_refuses_is_not() {
    let busy = vec![head("503 Busy", &[("retry-after", "0"), ("content-length", "0")])];
    let (heard, error, _) = played(vec![busy, whole(&[("1", STARTED), ("2", FINISHED)])], hasty()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(heard, ["lost", STARTED, FINISHED]);
    let (heard, error, requests) = played(vec![refusal("409 Conflict", "run_active")], hasty()).await;
    assert!(matches!(error, Some(ThreadError::Failed { .. })), "{error:?}");
    assert_eq!((heard.len(), requests.len()), (0, 1));
}

#[tokio::test]
async fn it_is_not_tried_for_ever() {
    let (heard, error, requests) = played(vec![cut(&[("1", STARTED)]), cut(&[])], hasty()).await;
    let Some(ThreadError::Exhausted { source }) = error else { panic!("{error:?}") };
    assert_eq!(source.kind(), ErrorKind::Broken);
    assert_eq!((heard.len(), requests.len()), (9, 9));
}

#[tokio::test]
async fn what_comes_is_bounded_over_all_connections() {
    let frame = format!("id: 1\ndata: {STARTED}\n\n").len() as u64;
    let endpoint = EndpointOptions { body_bytes_max: 3 * frame, ..EndpointOptions::default() };
    let scripts = vec![cut(&[("1", STARTED), ("2", STARTED)]), cut(&[("3", STARTED), ("4", STARTED)])];
    let (heard, error, _) = played(scripts, ClientOptions { endpoint, ..hasty() }).await;
    let Some(ThreadError::Failed { source }) = error else { panic!("{error:?}") };
    assert_eq!(source.kind(), ErrorKind::TooLarge);
    assert_eq!(heard, [STARTED, STARTED, "lost", STARTED]);
}

#[tokio::test]
async fn a_server_that_goes_on_after_the_end_is_not_waited_for() {
    let upstream =
        Upstream::start([vec![begun(), framed(("1", STARTED)), framed(("2", FINISHED)), Step::UntilGone]])
            .await;
    let mut events = client(&upstream, hasty()).run(&input());
    for _ in 0..2 {
        assert!(matches!(events.next().await, Some(Ok(Heard::Event(_)))));
    }
    tokio::time::pause();
    assert!(events.next().await.is_none());
}
