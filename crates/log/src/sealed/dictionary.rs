//! What the frames of short threads would have to say again and again.
//!
//! Persisted, so must be kept stable to the byte: what was packed with one cannot be unpacked with another.

/// What comes before frames: everyday English as agents write it, names, and templates of records.
pub const DICTIONARY: &[u8] = include_bytes!("dictionary.txt");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_as_it_is() {
        assert_eq!((DICTIONARY.len(), crc32c::crc32c(DICTIONARY)), (12065, 1_963_678_371));
    }
}
