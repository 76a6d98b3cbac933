//! Zstd frames that were packed with something before them, which they may repeat.

use std::io;
use zstd::zstd_safe::{self, CCtx, CParameter, DCtx};

/// 7 percent smaller than by level 3, for a quarter more time to seal. Level 9 takes twice as long for another percent.
const ZSTD_LEVEL: i32 = 6;

/// The frame of these bytes, packed with others before them.
///
/// # Errors
///
/// If there is no memory for it.
pub fn pack(raw: &[u8], before: &[u8]) -> io::Result<Vec<u8>> {
    let failed = |code| io::Error::other(zstd_safe::get_error_name(code));
    // What is found as one piece of memory is packed in a seventh less of the time.
    let whole = [before, raw].concat();
    let (before, raw) = whole.split_at(before.len());
    let mut context = CCtx::try_create().ok_or(io::ErrorKind::OutOfMemory)?;
    context.set_parameter(CParameter::CompressionLevel(ZSTD_LEVEL)).map_err(failed)?;
    context.ref_prefix(before).map_err(failed)?;
    let mut frame = Vec::with_capacity(zstd_safe::compress_bound(raw.len()));
    context.compress2(&mut frame, raw).map_err(failed)?;
    Ok(frame)
}

/// What is in a frame, if that has so many bytes and was packed with these before it.
#[must_use]
pub fn unpack(frame: &[u8], raw_bytes: usize, before: &[u8]) -> Option<Vec<u8>> {
    // Nothing is set aside for what a frame does not claim to have.
    if zstd_safe::get_frame_content_size(frame).ok()?? != raw_bytes as u64 {
        return None;
    }
    let mut context = DCtx::try_create()?;
    context.ref_prefix(before).ok()?;
    let mut raw = Vec::with_capacity(raw_bytes);
    context.decompress(&mut raw, frame).ok()?;
    (raw.len() == raw_bytes).then_some(raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_unpacked_with_what_it_was_packed_with() {
        let raw: String = (0..400).map(|word| format!("{} ", word * word * 7919)).collect();
        let alone = pack(raw.as_bytes(), b"").unwrap();
        let before = raw.clone();
        let with = pack(raw.as_bytes(), before.as_bytes()).unwrap();
        assert!(with.len() * 10 < alone.len(), "{} {}", with.len(), alone.len());
        assert_eq!(unpack(&alone, raw.len(), b"").unwrap(), raw.as_bytes());
        assert_eq!(unpack(&with, raw.len(), before.as_bytes()).unwrap(), raw.as_bytes());
        assert_eq!(unpack(&with, raw.len(), b""), None);
        for bytes in [0, raw.len() - 1, raw.len() + 1, usize::MAX] {
            assert_eq!(unpack(&alone, bytes, b""), None);
        }
        assert_eq!(unpack(b"", 0, b""), None);
    }
}
