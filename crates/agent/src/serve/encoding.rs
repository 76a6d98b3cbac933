//! In which form events are sent.

use axum::http::{HeaderMap, header};
use threadline_protocol::Limits;
use threadline_protocol::codec::{self, encode_frame, encode_prefixed};
use threadline_protocol::{Event, proto};

const SSE: &str = "text/event-stream";
const PROTO: &str = "application/vnd.ag-ui.event+proto";

/// In which form events are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// JSON in server-sent events.
    Sse,
    /// Protobuf with a length before each event.
    Proto,
}

/// Why an event has no binary form.
#[derive(Debug, thiserror::Error)]
pub(super) enum EncodingError {
    #[error(transparent)]
    Message(#[from] proto::EncodeError),
    #[error(transparent)]
    Frame(#[from] codec::EncodeError),
}

impl Encoding {
    /// The form that a request asks for. The binary form must be named: who accepts anything gets what everyone can read.
    #[must_use]
    pub fn requested(headers: &HeaderMap) -> Self {
        let (mut sse, mut proto) = (None, None);
        for accept in headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()) {
            for range in accept.split(',') {
                let (name, quality) = named(range);
                if name.eq_ignore_ascii_case(PROTO) {
                    proto = proto.max(Some(quality));
                } else if name.eq_ignore_ascii_case(SSE) {
                    sse = sse.max(Some(quality));
                }
            }
        }
        match proto {
            Some(proto) if proto > 0 && Some(proto) >= sse => Self::Proto,
            _ => Self::Sse,
        }
    }

    /// The media type. Readers of the binary form want it without parameters.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Sse => SSE,
            Self::Proto => PROTO,
        }
    }

    /// Appends an event, whose JSON is at hand.
    pub(super) fn encode(
        self,
        out: &mut Vec<u8>,
        event: &Event<'_>,
        json: &[u8],
    ) -> Result<(), EncodingError> {
        match self {
            Self::Sse => encode_frame(out, json, None),
            Self::Proto => encode_prefixed(out, &proto::encode(event)?.bytes, &Limits::default())?,
        }
        Ok(())
    }
}

/// A media range without its parameters, and its quality in thousandths.
fn named(range: &str) -> (&str, u16) {
    let mut parts = range.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let quality = parts.find_map(|parameter| parameter.strip_prefix("q=").or(parameter.strip_prefix("Q=")));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float that is no quality saturates"
    )]
    let thousandths = |quality: &str| quality.parse::<f32>().map_or(0, |quality| (quality * 1_000.0) as u16);
    (name, quality.map_or(1_000, thousandths))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_form_must_be_named() {
        for (accept, encoding) in [
            (&[][..], Encoding::Sse),
            (&["*/*"], Encoding::Sse),
            (&["application/*"], Encoding::Sse),
            (&["text/event-stream"], Encoding::Sse),
            (&["application/vnd.ag-ui.event+proto"], Encoding::Proto),
            (&["Application/Vnd.Ag-Ui.Event+Proto"], Encoding::Proto),
            (&["text/event-stream, application/vnd.ag-ui.event+proto"], Encoding::Proto),
            (&["text/event-stream", "application/vnd.ag-ui.event+proto;q=0.9"], Encoding::Sse),
            (&["text/event-stream;q=0.5, application/vnd.ag-ui.event+proto; q=0.9"], Encoding::Proto),
            (&["application/vnd.ag-ui.event+proto;q=0"], Encoding::Sse),
            (&["application/vnd.ag-ui.event+proto;q=x"], Encoding::Sse),
        ] {
            let mut headers = HeaderMap::new();
            for value in accept {
                headers.append(header::ACCEPT, value.parse().unwrap());
            }
            assert_eq!(Encoding::requested(&headers), encoding, "{accept:?}");
        }
    }
}
