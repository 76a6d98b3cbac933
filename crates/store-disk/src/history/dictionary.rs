//! What the frames of short threads had to say again and again, before [the one that all stores have](threadline_log::sealed::dictionary).
//!
//! Persisted, so must be kept stable to the byte: what was packed with one cannot be unpacked with another.

/// What comes before the frames of version 2 that have no other block before them: the names in facts and events.
pub(super) const NAMES: &[u8] = include_bytes!("dictionary-1.txt");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_as_it_is() {
        assert_eq!((NAMES.len(), crc32c::crc32c(NAMES)), (3371, 126_832_810));
    }
}
