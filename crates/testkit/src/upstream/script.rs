//! What a scripted agent does, and the bytes that are asked of it most often.

use bytes::Bytes;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use threadline_protocol::codec::encode_prefixed;
use threadline_protocol::event::Received;
use threadline_protocol::limits::Limits;
use threadline_protocol::proto;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Barrier, Notify};
use tokio::time::sleep;

/// One thing that a scripted agent does.
#[derive(Clone, Debug)]
pub enum Step {
    /// Writes bytes.
    Write(Bytes),
    /// Writes bytes one by one, and waits after each, by tokio's clock.
    Trickle(Bytes, Duration),
    /// Writes the same bytes again and again, until the client is gone.
    Repeat(Bytes),
    /// Does nothing for a while, by tokio's clock.
    Sleep(Duration),
    /// Does nothing until the test says so.
    Wait(Signal),
    /// Does nothing until as many connections have come this far as the barrier is for.
    Meet(Arc<Barrier>),
    /// Tells the test that the script has come this far.
    Raise(Signal),
    /// Does nothing until the client is gone.
    UntilGone,
    /// Breaks the connection off, so that the client sees an error instead of an end.
    Reset,
}

/// Something that one side waits for and the other says, once for each wait.
#[derive(Clone, Debug, Default)]
pub struct Signal(Arc<Notify>);

impl Signal {
    /// Lets one go on that waits or will wait.
    pub fn raise(&self) {
        self.0.notify_one();
    }

    /// Waits until it is raised.
    pub async fn wait(&self) {
        self.0.notified().await;
    }
}

pub(super) async fn play(tcp: &mut TcpStream, script: Vec<Step>) -> io::Result<()> {
    for step in script {
        match step {
            Step::Write(bytes) => tcp.write_all(&bytes).await?,
            Step::Trickle(bytes, pause) => {
                for byte in bytes {
                    tcp.write_all(&[byte]).await?;
                    sleep(pause).await;
                }
            }
            Step::Repeat(bytes) => loop {
                tcp.write_all(&bytes).await?;
            },
            Step::Sleep(duration) => sleep(duration).await,
            Step::Wait(signal) => signal.wait().await,
            Step::Meet(barrier) => {
                barrier.wait().await;
            }
            Step::Raise(signal) => signal.raise(),
            // However the client goes, it is gone.
            Step::UntilGone => while tcp.read(&mut [0; 1024]).await.is_ok_and(|len| len > 0) {},
            Step::Reset => return tcp.set_zero_linger(),
        }
    }
    Ok(())
}

/// The head of an answer.
#[must_use]
pub fn head(status: &str, headers: &[(&str, &str)]) -> Step {
    let mut text = format!("HTTP/1.1 {status}\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    Step::Write((text + "\r\n").into())
}

/// A piece of a body whose head says `transfer-encoding: chunked`.
#[must_use]
pub fn chunk(bytes: impl AsRef<[u8]>) -> Step {
    let bytes = bytes.as_ref();
    Step::Write([format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat().into())
}

/// The end of such a body.
#[must_use]
pub fn last_chunk() -> Step {
    Step::Write(Bytes::from_static(b"0\r\n\r\n"))
}

/// A whole answer with its length in the head.
#[must_use]
pub fn answer(status: &str, content_type: &str, body: impl AsRef<[u8]>) -> Vec<Step> {
    let body = body.as_ref();
    let length = body.len().to_string();
    let head = head(status, &[("content-type", content_type), ("content-length", &length)]);
    vec![head, Step::Write(Bytes::copy_from_slice(body))]
}

/// Events as the body of an SSE stream.
#[must_use]
pub fn sse_body(events: &[&str]) -> Vec<u8> {
    events.iter().flat_map(|event| format!("data: {event}\n\n").into_bytes()).collect()
}

/// Events as the body of a protobuf stream.
///
/// # Panics
/// If one of them has no protobuf form.
#[must_use]
pub fn protobuf_body(events: &[&str]) -> Vec<u8> {
    let mut body = Vec::new();
    for event in events {
        let event = Received::read(event).expect("an event");
        let encoded = proto::encode(event.event()).expect("an event that has a protobuf form");
        encode_prefixed(&mut body, &encoded.bytes, &Limits::default()).expect("an event within the limits");
    }
    body
}

/// Events as an SSE answer, a chunk each.
#[must_use]
pub fn sse_answer(events: &[&str]) -> Vec<Step> {
    stream("text/event-stream", events, sse_body)
}

/// Events as a protobuf answer, a chunk each.
///
/// # Panics
/// If one of them has no protobuf form.
#[must_use]
pub fn protobuf_answer(events: &[&str]) -> Vec<Step> {
    stream("application/vnd.ag-ui.event+proto", events, protobuf_body)
}

fn stream(content_type: &str, events: &[&str], body: fn(&[&str]) -> Vec<u8>) -> Vec<Step> {
    let mut script =
        vec![head("200 OK", &[("content-type", content_type), ("transfer-encoding", "chunked")])];
    script.extend(events.iter().map(|event| chunk(body(&[event]))));
    script.push(last_chunk());
    script
}
