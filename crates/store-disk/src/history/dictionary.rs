//! What the frames of short threads would have to say again and again: the names in facts and events.
//!
//! Persisted, so must be kept stable to the byte: what was packed with it cannot be unpacked with another. What is nearer to its end is
//! cheaper to repeat.

/// What comes before the frames that have no other block before them.
pub(super) const DICTIONARY: &[u8] = include_bytes!("dictionary-1.txt");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_as_it_is() {
        assert_eq!((DICTIONARY.len(), crc32c::crc32c(DICTIONARY)), (3371, 126_832_810));
    }
}
