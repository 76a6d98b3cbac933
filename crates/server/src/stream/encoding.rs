//! The two forms of an event stream.

use axum::http::{HeaderMap, HeaderValue, header};
use threadline_protocol::codec::{SseId, encode_comment, encode_frame, encode_prefixed};
use threadline_protocol::proto::EncodeError;
use threadline_protocol::{Event, Limits, proto};

/// The media type of server-sent events.
pub(crate) const SSE: &str = "text/event-stream";
/// The media type of the binary form.
pub(crate) const PROTOBUF: &str = "application/vnd.ag-ui.event+proto";

/// How events are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// As server-sent events.
    Sse,
    /// As protobuf, each message behind its length.
    Protobuf,
}

/// An event that cannot be sent in this form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unfit;

impl Encoding {
    /// What a client asks for. Only who names protobuf gets it: a client that takes anything may not be able to read it.
    #[must_use]
    pub(crate) fn accepted(headers: &HeaderMap) -> Self {
        let ranges = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let names_protobuf = |range: &str| {
            let mut parts = range.split(';').map(str::trim);
            let is_named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(PROTOBUF));
            let quality = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
            is_named && quality.is_none_or(|quality| quality.parse().is_ok_and(|quality: f32| quality > 0.0))
        };
        match ranges.flat_map(|value| value.split(',')).any(|range| names_protobuf(range.trim())) {
            true => Self::Protobuf,
            false => Self::Sse,
        }
    }

    /// The `Content-Type` of an answer.
    #[must_use]
    pub(crate) const fn content_type(self) -> HeaderValue {
        match self {
            Self::Sse => HeaderValue::from_static(SSE),
            Self::Protobuf => HeaderValue::from_static(PROTOBUF),
        }
    }

    /// Appends an event.
    ///
    /// # Errors
    /// If it has no form that a client would read: numbers take up to five times the room in protobuf that they take in JSON, and
    /// nesting has a limit there. Nothing is appended.
    pub(crate) fn write(self, out: &mut Vec<u8>, event: &Event<'_>, id: Option<&SseId>) -> Result<(), Unfit> {
        match self {
            Self::Sse => encode_frame(out, event.to_json().as_bytes(), id),
            Self::Protobuf => match proto::encode(event) {
                Ok(encoded) => {
                    encode_prefixed(out, &encoded.bytes, &Limits::default()).map_err(|_large| Unfit)?;
                }
                // Its readers would leave it out.
                Err(EncodeError::UnknownType { .. }) => {}
                Err(_) => return Err(Unfit),
            },
        }
        Ok(())
    }

    /// Appends something that readers ignore. The binary form has nothing like it.
    pub(crate) fn write_comment(self, out: &mut Vec<u8>, text: &str) {
        if self == Self::Sse {
            encode_comment(out, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(accept: &[&str]) -> Encoding {
        let mut headers = HeaderMap::new();
        for value in accept {
            headers.append(header::ACCEPT, HeaderValue::from_str(value).unwrap());
        }
        Encoding::accepted(&headers)
    }

    #[test]
    fn protobuf_is_for_who_names_it() {
        for accept in [
            &[][..],
            &["*/*"],
            &["application/*"],
            &["text/event-stream"],
            &["application/vnd.ag-ui.event+proto;q=0"],
            &["application/vnd.ag-ui.event+proto; q=0.0, text/event-stream"],
            &["application/vnd.ag-ui.event+protocol"],
        ] {
            assert_eq!(accepted(accept), Encoding::Sse, "{accept:?}");
        }
        for accept in [
            &["application/vnd.ag-ui.event+proto"][..],
            &["text/event-stream, application/vnd.ag-ui.event+proto;q=0.5"],
            &["text/event-stream", "Application/Vnd.AG-UI.event+proto"],
        ] {
            assert_eq!(accepted(accept), Encoding::Protobuf, "{accept:?}");
        }
    }
}
