//! How much an agent may send, to the byte.

use super::{STARTED, played};
use threadline_client::{EndpointOptions, ErrorKind};
use threadline_protocol::limits::Limits;
use threadline_testkit::upstream::{answer, protobuf_body, sse_body};

const TOO_LARGE: Option<ErrorKind> = Some(ErrorKind::TooLarge);

fn options(limits: Limits) -> EndpointOptions {
    EndpointOptions { limits, ..EndpointOptions::default() }
}

#[tokio::test]
async fn an_event_of_sse_may_be_as_large_as_the_limit() {
    let script = answer("200 OK", "text/event-stream", sse_body(&["first", STARTED, "last"]));
    let fits = Limits { event_bytes_max: STARTED.len(), ..Limits::default() };
    let all = vec!["first".to_owned(), STARTED.to_owned(), "last".to_owned()];
    assert_eq!(played(script.clone(), options(fits)).await, (all, None));
    let tight = Limits { event_bytes_max: STARTED.len() - 1, ..Limits::default() };
    assert_eq!(played(script, options(tight)).await, (vec!["first".to_owned()], TOO_LARGE));
}

#[tokio::test]
async fn a_line_may_be_as_long_as_the_limit() {
    let script = answer("200 OK", "text/event-stream", ": 12345678\n\ndata: a\n\n");
    let fits = Limits { line_bytes_max: 10, ..Limits::default() };
    assert_eq!(played(script.clone(), options(fits)).await, (vec!["a".to_owned()], None));
    let tight = Limits { line_bytes_max: 9, ..Limits::default() };
    assert_eq!(played(script, options(tight)).await, (Vec::new(), TOO_LARGE));
}

#[tokio::test]
async fn a_protobuf_frame_may_be_as_large_as_the_limit_and_so_may_its_json() {
    let protobuf = |body: &[u8]| answer("200 OK", "application/vnd.ag-ui.event+proto", body);
    let limited = |event_bytes_max| options(Limits { event_bytes_max, ..Limits::default() });
    // No event, which is given as it is, without its length.
    let frame = protobuf(b"\0\0\0\x04zzzz");
    assert_eq!(played(frame.clone(), limited(8)).await, (vec!["zzzz".to_owned()], None));
    assert_eq!(played(frame, limited(7)).await, (Vec::new(), TOO_LARGE));
    let event = protobuf(&protobuf_body(&[STARTED, STARTED]));
    assert_eq!(played(event.clone(), limited(STARTED.len())).await, (vec![STARTED.to_owned(); 2], None));
    assert_eq!(played(event, limited(STARTED.len() - 1)).await, (Vec::new(), TOO_LARGE));
}

#[tokio::test]
async fn a_body_may_be_as_large_as_the_limit_and_gives_what_is_within() {
    let body = sse_body(&["a", "b", "c"]);
    let script = answer("200 OK", "text/event-stream", &body);
    let all = ["a", "b", "c"].map(str::to_owned);
    for max in 0..=body.len() {
        let options = EndpointOptions { body_bytes_max: max as u64, ..EndpointOptions::default() };
        // Each is nine bytes long, and one that is cut off is not given.
        let error = if max == body.len() { None } else { TOO_LARGE };
        assert_eq!(played(script.clone(), options).await, (all[..max / 9].to_vec(), error), "{max}");
    }
}
