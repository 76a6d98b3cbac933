//! What the frames of short threads would have to say again and again: the names in facts and events, and everyday words.
//!
//! Persisted, so must be kept stable to the byte: what was packed with one cannot be unpacked with another.

/// What comes before the frames of version 2 that have no other block before them.
pub(super) const NAMES: &[u8] = include_bytes!("dictionary-1.txt");

/// What comes before the frames of version 3: everyday English as agents write it, names, and templates of records.
pub(super) const DICTIONARY: &[u8] = include_bytes!("dictionary-2.txt");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_stay_as_they_are() {
        assert_eq!((NAMES.len(), crc32c::crc32c(NAMES)), (3371, 126_832_810));
        assert_eq!((DICTIONARY.len(), crc32c::crc32c(DICTIONARY)), (12065, 1_963_678_371));
    }
}
