//! What an answer is, by its head.

use crate::ClientError;
use crate::exchange::Body;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, RETRY_AFTER};
use http::response;
use std::time::Duration;
use tokio::time::timeout;

/// How much of a refusal is kept.
const REFUSAL_BYTES_MAX: usize = 4 * 1024;

/// How long to wait for what a refusal says.
const REFUSAL_WAIT: Duration = Duration::from_secs(5);

/// How much of a foreign header is shown.
const SHOWN_CHARS_MAX: usize = 100;

pub(crate) const SSE: &str = "text/event-stream";
const PROTOBUF: &str = "application/vnd.ag-ui.event+proto";

/// How events are told apart in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Sse,
    Protobuf,
}

impl Framing {
    /// By the content type, whatever its parameters. An answer that names none is taken for SSE, as the reference client
    /// takes it; one that names another is not: it is most likely the page of a proxy or a login, and reading it as an
    /// empty run, as the reference does, would hide that.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, ClientError> {
        let Some(content_type) = headers.get(CONTENT_TYPE) else { return Ok(Self::Sse) };
        let essence = content_type.to_str().ok().and_then(|text| text.split(';').next()).map(str::trim);
        match essence {
            Some(essence) if essence.eq_ignore_ascii_case(SSE) => Ok(Self::Sse),
            Some(essence) if essence.eq_ignore_ascii_case(PROTOBUF) => Ok(Self::Protobuf),
            _ => Err(ClientError::ContentType { found: shown(headers, &CONTENT_TYPE) }),
        }
    }
}

/// Whether the body is plain, as it must be, since we named no encoding that we know.
pub(crate) fn expect_plain(headers: &HeaderMap) -> Result<(), ClientError> {
    let mut encodings = headers.get_all(CONTENT_ENCODING).iter();
    if encodings.all(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Ok(());
    }
    Err(ClientError::ContentEncoding { found: shown(headers, &CONTENT_ENCODING) })
}

fn shown(headers: &HeaderMap, name: &HeaderName) -> String {
    let value = headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    value.unwrap_or_default().chars().filter(|char| !char.is_control()).take(SHOWN_CHARS_MAX).collect()
}

/// When the server wants to be asked again, in seconds; a date is not understood.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// A refusal, with as much of its body as came soon.
pub(crate) async fn refusal(head: response::Parts, mut body: Body) -> ClientError {
    let mut text = Vec::new();
    let read = async {
        while text.len() < REFUSAL_BYTES_MAX
            && let Some(Ok(piece)) = body.next().await
        {
            text.extend_from_slice(piece.get(..REFUSAL_BYTES_MAX - text.len()).unwrap_or(&piece));
        }
    };
    // However it ended: the status is what counts.
    let _in_time = timeout(REFUSAL_WAIT, read).await;
    ClientError::Status {
        status: head.status,
        retry_after: retry_after(&head.headers),
        body: String::from_utf8_lossy(&text).into_owned(),
    }
}
