//! Any bytes are refused or decoded, and what was decoded can be encoded again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use threadline_protocol::proto::{Decoded, decode, encode};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(Decoded::Event { event, .. }) = decode(bytes) {
        let _ = encode(event.event());
    }
});
