//! What comes through, and how it ends.

use super::{FINISHED, STARTED, opened, played, rest, texts};
use bytes::Bytes;
use std::time::Duration;
use threadline_client::{EndpointOptions, ErrorKind, Form};
use threadline_testkit::upstream::{
    Signal, Step, answer, chunk, head, last_chunk, protobuf_answer, protobuf_body, sse_answer, sse_body,
};

const SSE: (&str, &str) = ("content-type", "text/event-stream");
const PROTOBUF: &str = "application/vnd.ag-ui.event+proto";
const CHUNKED: (&str, &str) = ("transfer-encoding", "chunked");

fn options() -> EndpointOptions {
    EndpointOptions::default()
}

#[tokio::test]
async fn the_data_of_sse_is_given_byte_for_byte() {
    let odd = [r#"{ "type" : "X",  "n": 1.0e0, "s": "\ud83d" }"#, "[DONE]", "", STARTED];
    let (events, error) = played(sse_answer(&odd), options()).await;
    assert_eq!((events, error), (odd.map(str::to_owned).to_vec(), None));

    // Not even UTF-8 is asked for.
    let body = b": ping\r\n\r\nid: 7\r\nevent: x\r\ndata: \xFF\r\ndata: b\r\n\r\n";
    let (_upstream, stream) = opened(answer("200 OK", "text/event-stream", body), options()).await;
    let (events, error) = rest(stream.unwrap()).await;
    assert!(error.is_none());
    assert_eq!(events.len(), 1);
    assert_eq!((&*events[0].bytes, events[0].form), (&b"\xFF\nb"[..], Form::Json));
}

#[tokio::test]
async fn protobuf_is_given_as_json_and_what_is_none_as_it_is() {
    let mut body = protobuf_body(&[STARTED]);
    // An arm that the schema does not have, and a frame that is no protobuf at all.
    body.extend_from_slice(b"\0\0\0\x04\xFA\x3F\x01x\0\0\0\x02\xFF\xFF\0\0\0\0");
    body.extend_from_slice(&protobuf_body(&[FINISHED]));
    let (_upstream, stream) = opened(answer("200 OK", PROTOBUF, body), options()).await;
    let (events, error) = rest(stream.unwrap()).await;
    assert!(error.is_none(), "{error:?}");
    let forms: Vec<_> = events.iter().map(|event| event.form).collect();
    let undecodable = Form::Undecodable;
    assert_eq!(forms, [Form::FromProtobuf, undecodable, undecodable, undecodable, Form::FromProtobuf]);
    let bytes: Vec<_> = events.iter().map(|event| &*event.bytes).collect();
    let expected: [&[u8]; 5] = [STARTED.as_bytes(), b"\xFA\x3F\x01x", b"\xFF\xFF", b"", FINISHED.as_bytes()];
    assert_eq!(bytes, expected);
}

#[tokio::test]
async fn how_a_body_is_cut_changes_nothing() {
    let events = [STARTED, FINISHED];
    for (content_type, body) in [("text/event-stream", sse_body(&events)), (PROTOBUF, protobuf_body(&events))]
    {
        for size in 1..=body.len() {
            let mut script = vec![head("200 OK", &[("content-type", content_type), CHUNKED])];
            script.extend(body.chunks(size).map(chunk));
            script.push(last_chunk());
            let (given, error) = played(script, options()).await;
            assert_eq!(
                (given, error),
                (events.map(str::to_owned).to_vec(), None),
                "{content_type} in {size}"
            );
        }
        // And byte by byte, head and all.
        let script = answer("200 OK", content_type, &body).into_iter().map(|step| match step {
            Step::Write(bytes) => Step::Trickle(bytes, Duration::ZERO),
            other => other,
        });
        let (given, error) = played(script.collect(), options()).await;
        assert_eq!((given, error), (events.map(str::to_owned).to_vec(), None), "{content_type}");
    }
}

#[tokio::test]
async fn events_are_given_as_soon_as_they_are_whole() {
    let more = Signal::default();
    let mut script = sse_answer(&[STARTED, FINISHED]);
    script.insert(2, Step::Wait(more.clone()));
    let (_upstream, stream) = opened(script, options()).await;
    let mut stream = stream.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap().bytes, STARTED);
    more.raise();
    let (events, error) = rest(stream).await;
    assert_eq!((texts(&events), error.is_none()), (vec![FINISHED.to_owned()], true));
}

#[tokio::test]
async fn a_frame_that_the_end_cuts_off_is_given_only_of_sse() {
    let cut = format!("data: {STARTED}\n\ndata: {{\"ty");
    let (events, error) = played(answer("200 OK", "text/event-stream", cut), options()).await;
    assert_eq!((events, error), (vec![STARTED.to_owned(), "{\"ty".to_owned()], None));

    let mut cut = protobuf_body(&[STARTED, FINISHED]);
    cut.pop();
    let (events, error) = played(answer("200 OK", PROTOBUF, cut), options()).await;
    assert_eq!((events, error), (vec![STARTED.to_owned()], Some(ErrorKind::Broken)));
}

#[tokio::test]
async fn the_end_of_the_connection_ends_a_body_without_length() {
    let script = vec![head("200 OK", &[SSE]), Step::Write(sse_body(&[STARTED]).into())];
    assert_eq!(played(script, options()).await, (vec![STARTED.to_owned()], None));
    // Nor does one of 204 have any.
    assert_eq!(played(vec![head("204 No Content", &[])], options()).await, (Vec::new(), None));
}

/// The bytes that a script writes.
fn written(script: &[Step]) -> Vec<u8> {
    let writes = script.iter().map(|step| match step {
        Step::Write(bytes) => bytes.to_vec(),
        other => panic!("{other:?} writes nothing"),
    });
    writes.collect::<Vec<_>>().concat()
}

#[tokio::test]
async fn a_connection_that_breaks_anywhere_is_never_a_clean_end() {
    let events = [STARTED, FINISHED];
    for script in [
        sse_answer(&events),
        protobuf_answer(&events),
        answer("200 OK", "text/event-stream", sse_body(&events)),
    ] {
        let whole = written(&script);
        for len in 0..whole.len() {
            let cut = Step::Write(Bytes::copy_from_slice(&whole[..len]));
            for script in [vec![cut.clone()], vec![cut.clone(), Step::Reset]] {
                let (given, error) = played(script, options()).await;
                assert_eq!(error, Some(ErrorKind::Broken), "after {len} bytes");
                assert_eq!(given, events[..given.len()], "after {len} bytes");
            }
        }
        assert_eq!(played(script, options()).await, (events.map(str::to_owned).to_vec(), None));
    }
}

#[tokio::test]
async fn what_is_no_http_is_malformed() {
    let malformed = (Vec::new(), Some(ErrorKind::Protocol));
    for garbage in
        ["\0\u{1}\u{2}garbage\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 abc\r\n\r\n", "data: x\n\n"]
    {
        let script = vec![Step::Write(garbage.into()), Step::UntilGone];
        assert_eq!(played(script, options()).await, malformed, "{garbage:?}");
    }
    // A head without end.
    let script = vec![Step::Write("HTTP/1.1 200 OK\r\nx: ".into()), Step::Repeat(vec![b'x'; 1024].into())];
    assert_eq!(played(script, options()).await, malformed);
    let script =
        vec![head("200 OK", &[SSE, CHUNKED]), chunk(sse_body(&[STARTED])), Step::Write("zz\r\n".into())];
    assert_eq!(played(script, options()).await, (vec![STARTED.to_owned()], Some(ErrorKind::Protocol)));
}
