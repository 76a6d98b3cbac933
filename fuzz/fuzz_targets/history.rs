//! Any history file is searched for blocks, and whatever a block holds is decoded or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use threadline_store_disk::fuzzing;

fuzz_target!(|input: (bool, u8, &[u8])| {
    let (has_records, count, bytes) = input;
    fuzzing::history(bytes.to_vec());
    fuzzing::block(has_records, u32::from(count), bytes);
});
