//! Properties that all decoders share, and what the unit tests need to drive them.

use proptest::prelude::*;

use super::*;
use crate::limits::Limits;

/// An event that outlives its decoder's buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnedFrame {
    pub(super) data: Vec<u8>,
    pub(super) id: Option<Vec<u8>>,
    pub(super) event: Option<Vec<u8>>,
    pub(super) place: Place,
}

impl From<Payload<'_>> for OwnedFrame {
    fn from(payload: Payload<'_>) -> Self {
        Self { data: payload.bytes.to_vec(), id: None, event: None, place: payload.place }
    }
}

impl From<SseFrame<'_>> for OwnedFrame {
    fn from(frame: SseFrame<'_>) -> Self {
        Self {
            data: frame.data.to_vec(),
            id: frame.id.map(<[u8]>::to_vec),
            event: frame.event.map(<[u8]>::to_vec),
            place: frame.place,
        }
    }
}

pub(super) type Item = Result<OwnedFrame, DecodeError>;

/// An expected event without id and event name.
pub(super) fn item(data: &str, place: Place) -> Item {
    Ok(OwnedFrame { data: data.as_bytes().to_vec(), id: None, event: None, place })
}

/// The shape that all decoders have.
pub(super) trait Decode {
    fn push(&mut self, chunk: &[u8]);
    fn finish(&mut self);
    fn next_item(&mut self) -> Option<Item>;
}

macro_rules! impl_decode {
    ($($decoder:ty),+) => {$(
        impl Decode for $decoder {
            fn push(&mut self, chunk: &[u8]) {
                self.push(chunk);
            }
            fn finish(&mut self) {
                self.finish();
            }
            fn next_item(&mut self) -> Option<Item> {
                self.next_event().map(|event| event.map(OwnedFrame::from))
            }
        }
    )+};
}

impl_decode!(ArrayDecoder, DocumentDecoder, InputDecoder, LineDecoder, PrefixedDecoder, SseDecoder);

impl<D: Decode + ?Sized> Decode for &mut D {
    fn push(&mut self, chunk: &[u8]) {
        (**self).push(chunk);
    }
    fn finish(&mut self) {
        (**self).finish();
    }
    fn next_item(&mut self) -> Option<Item> {
        (**self).next_item()
    }
}

/// Everything that `decoder` makes of the chunks.
pub(super) fn decode(
    mut decoder: impl Decode,
    chunks: impl IntoIterator<Item = impl AsRef<[u8]>>,
) -> Vec<Item> {
    let mut items = Vec::new();
    for chunk in chunks {
        decoder.push(chunk.as_ref());
        items.extend(std::iter::from_fn(|| decoder.next_item()));
    }
    decoder.finish();
    items.extend(std::iter::from_fn(|| decoder.next_item()));
    items
}

/// The data of everything that `decoder` makes of the chunks, which must be free of errors.
pub(super) fn decode_texts(
    decoder: impl Decode,
    chunks: impl IntoIterator<Item = impl AsRef<[u8]>>,
) -> Vec<String> {
    decode(decoder, chunks).into_iter().map(|item| String::from_utf8(item.unwrap().data).unwrap()).collect()
}

fn all_decoders(limits: Limits) -> [Box<dyn Decode>; 6] {
    [
        Box::new(ArrayDecoder::new(limits)),
        Box::new(DocumentDecoder::new(limits)),
        Box::new(InputDecoder::new(limits)),
        Box::new(LineDecoder::new(limits)),
        Box::new(PrefixedDecoder::new(limits)),
        Box::new(SseDecoder::new(limits)),
    ]
}

/// Cuts `input` into chunks of the given sizes, over and over. Each size is at least 1.
fn cut(mut input: &[u8], sizes: &[usize]) -> Vec<Vec<u8>> {
    let mut chunks = Vec::new();
    for size in sizes.iter().cycle() {
        if input.is_empty() {
            break;
        }
        let (chunk, rest) = input.split_at((*size).min(input.len()));
        chunks.push(chunk.to_vec());
        input = rest;
    }
    chunks
}

/// Bytes that mean something to some decoder far more often than random ones would.
fn meaningful_bytes() -> impl Strategy<Value = Vec<u8>> {
    const TOKENS: &[&[u8]] = &[
        b"\n",
        b"\n\n",
        b"\r",
        b"\r\n",
        b"\r\n\r\n",
        b" ",
        b"\t",
        b"\xEF\xBB\xBF",
        b"data",
        b"data:",
        b"data: ",
        b"id: ",
        b"id",
        b"event:",
        b"retry: 1",
        b":",
        b": ping",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b"\"",
        b"\\",
        b"\\\"",
        b"{\"a\":1}",
        b"[1, 2]",
        b"12",
        b"\0",
        b"\0\0\0\x02ab",
        b"\0\0\0\0",
        b"\0\0",
        b"\xFF",
        "é".as_bytes(),
    ];
    let token = prop_oneof![
        8 => prop::sample::select(TOKENS).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 1..20),
    ];
    prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

fn limits() -> impl Strategy<Value = Limits> {
    prop_oneof![
        Just(Limits::default()),
        (0..24_usize, 0..24_usize)
            .prop_map(|(event_bytes_max, line_bytes_max)| Limits { event_bytes_max, line_bytes_max }),
    ]
}

const CHUNK_BYTES_MAX: usize = 12;

fn chunk_sizes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1..=CHUNK_BYTES_MAX, 1..8)
}

proptest! {
    #[test]
    fn chunking_changes_nothing(input in meaningful_bytes(), sizes in chunk_sizes(), limits in limits()) {
        let whole = all_decoders(limits).map(|mut decoder| decode(&mut *decoder, [&input]));
        let cut = all_decoders(limits).map(|mut decoder| decode(&mut *decoder, cut(&input, &sizes)));
        prop_assert_eq!(whole, cut);
    }

    #[test]
    fn detection_is_never_revised(input in meaningful_bytes(), len in 0..100_usize) {
        let head = input.get(..len).unwrap_or(&input);
        if let Some(format) = detect(head, false) {
            prop_assert_eq!(detect(&input, false), Some(format));
            prop_assert_eq!(detect(&input, true), Some(format));
        }
        prop_assert!(detect(head, true).is_some());
    }

    #[test]
    fn memory_is_bounded(input in meaningful_bytes(), sizes in chunk_sizes(), max in 0..24_usize) {
        let limits = Limits { event_bytes_max: max, line_bytes_max: max };
        // Four buffers at most, each with as much again to spare.
        let bound = 8 * (max + CHUNK_BYTES_MAX) + 64;
        let input = input.repeat(50);
        for format in [Format::Jsonl, Format::JsonArray, Format::JsonDocument, Format::Sse, Format::Proto] {
            let mut decoder = InputDecoder::with_format(format, limits);
            for chunk in cut(&input, &sizes) {
                decoder.push(&chunk);
                while decoder.next_event().is_some() {}
                prop_assert!(decoder.held_bytes() <= bound, "{} holds {}", format, decoder.held_bytes());
            }
        }
    }

    #[test]
    fn sse_round_trip(
        events in prop::collection::vec((meaningful_bytes(), prop::option::of("[^\r\n\0]{0,8}")), 0..8),
        sizes in chunk_sizes(),
    ) {
        let mut out = Vec::new();
        let mut expected = Vec::new();
        for (json, id) in events {
            encode_comment(&mut out, &String::from_utf8_lossy(&json));
            encode_frame(&mut out, &json, id.clone().map(|id| SseId::new(id).unwrap()).as_ref());
            let data = json.into_iter().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte });
            expected.push((data.collect::<Vec<u8>>(), id.map(String::into_bytes)));
        }
        let decoded: Vec<_> = decode(SseDecoder::new(Limits::default()), cut(&out, &sizes))
            .into_iter()
            .map(|item| item.map(|frame| (frame.data, frame.id)).unwrap())
            .collect();
        prop_assert_eq!(decoded, expected);
    }

    #[test]
    fn prefixed_round_trip(
        messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8),
        sizes in chunk_sizes(),
    ) {
        let mut out = Vec::new();
        for message in &messages {
            encode_prefixed(&mut out, message, &Limits::default()).unwrap();
        }
        let decoded: Vec<_> = decode(PrefixedDecoder::new(Limits::default()), cut(&out, &sizes))
            .into_iter()
            .map(|item| item.map(|frame| frame.data).unwrap())
            .collect();
        prop_assert_eq!(decoded, messages);
    }
}
