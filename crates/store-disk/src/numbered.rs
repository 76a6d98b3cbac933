//! Maps by the numbers and names of threads.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use threadline_log::ThreadKey;

/// By the number of a thread.
pub(crate) type ByNumber<V> = HashMap<u64, V, BuildHasherDefault<NumberHasher>>;

/// By the name of a thread, which brings a hash that nobody can foresee.
pub(crate) type ByName<V> = HashMap<ThreadKey, V, BuildHasherDefault<NumberHasher>>;

/// For numbers that this store gives out, and hashes: nobody can choose them so that they collide, which is what the default hasher is
/// slow for.
#[derive(Debug, Default)]
pub(crate) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0 ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        // 2^64 over the golden ratio; its high bits depend on all of the number, and maps use the low ones too.
        self.0 = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn numbers_in_a_row_spread_over_high_and_low_bits() {
        for shift in [0, 57] {
            let hashes = (0..128_u64).map(|number| {
                let mut hasher = NumberHasher::default();
                hasher.write_u64(number);
                (hasher.finish() >> shift) & 127
            });
            assert!(hashes.collect::<HashSet<_>>().len() > 64, "shift={shift}");
        }
    }
}
