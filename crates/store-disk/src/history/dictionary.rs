//! What frames of short threads would have to say again and again, beside [what all stores have](threadline_log::sealed::dictionary).
//!
//! Persisted, so must be kept stable to the byte: what was packed with one cannot be unpacked with another.

/// What comes before the frames of version 2 that have no other block before them: the names in facts and events.
pub(super) const NAMES: &[u8] = include_bytes!("dictionary-1.txt");

/// What comes before folded facts, behind the dictionary of all stores: facts and the checkpoint of a run, without ids and digests.
pub(super) const FACT_NAMES: &[u8] = include_bytes!("dictionary-facts.txt");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_stay_as_they_are() {
        assert_eq!((NAMES.len(), crc32c::crc32c(NAMES)), (3371, 126_832_810));
        assert_eq!((FACT_NAMES.len(), crc32c::crc32c(FACT_NAMES)), (1553, 2_149_465_841));
    }
}
