//! Any bytes in any chunks are decoded the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use threadline_protocol::Limits;
use threadline_protocol::codec::InputDecoder;

fn decode<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> Vec<Result<Vec<u8>, String>> {
    let mut decoder = InputDecoder::new(Limits { event_bytes_max: 256, line_bytes_max: 272 });
    let mut items = Vec::new();
    for chunk in chunks.map(Some).chain([None]) {
        match chunk {
            Some(chunk) => decoder.push(chunk),
            None => decoder.finish(),
        }
        while let Some(item) = decoder.next_event() {
            items.push(item.map(|payload| payload.bytes.to_vec()).map_err(|error| error.to_string()));
        }
    }
    items
}

fuzz_target!(|input: (u8, &[u8])| {
    let (size, bytes) = input;
    assert_eq!(decode([bytes].into_iter()), decode(bytes.chunks(usize::from(size) + 1)));
});
