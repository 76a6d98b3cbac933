//! Packing much at once behind the writers.

use crate::priority::give_way;
use std::io::{self, Write};
use zstd::stream::write::Encoder;

/// How much is packed before others may go first: as much as zstd makes one block of.
const PIECE_BYTES: usize = 128 << 10;

/// Adds a frame with these bytes to others.
pub(crate) fn pack(bytes: &[u8], level: i32, packed: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut encoder = Encoder::new(packed, level)?;
    encoder.set_pledged_src_size(Some(bytes.len() as u64))?;
    for piece in bytes.chunks(PIECE_BYTES) {
        encoder.write_all(piece)?;
        give_way();
    }
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_in_pieces_is_one_frame_behind_others() {
        let bytes: Vec<u8> = (0_u32..).flat_map(u32::to_le_bytes).take(3 * PIECE_BYTES + 7).collect();
        for length in [0, 1, PIECE_BYTES, PIECE_BYTES + 1, bytes.len()] {
            let packed = pack(&bytes[..length], 1, b"before".to_vec()).unwrap();
            let frame = packed.strip_prefix(b"before").unwrap();
            let said = zstd::zstd_safe::get_frame_content_size(frame).unwrap();
            assert_eq!(said, Some(length as u64));
            assert_eq!(zstd::decode_all(frame).unwrap(), bytes[..length]);
        }
    }
}
