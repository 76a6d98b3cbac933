//! Any segment is opened or refused, and so is whatever a group or an entry holds whose checksum is right.
#![no_main]

use libfuzzer_sys::fuzz_target;
use threadline_store_disk::fuzzing;

fuzz_target!(|input: (u8, u8, u64, u8, &[u8])| {
    let (kind, flags, first, count, bytes) = input;
    fuzzing::open(bytes.to_vec());
    fuzzing::group(u32::from(count), bytes);
    fuzzing::entry(kind, flags, first, u32::from(count), bytes);
});
