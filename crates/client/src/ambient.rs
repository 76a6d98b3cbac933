//! What a client takes from outside: time and chance.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// Time and chance, so that tests have their own.
pub trait Ambient: fmt::Debug + Send + Sync {
    /// Milliseconds since 1970.
    fn now_ms(&self) -> i64;
    /// A number of which every bit is random. Ids are made of it, and waits are spread by it.
    fn random(&self) -> u64;
}

/// The clock and the randomness of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Ambient for System {
    #[expect(clippy::disallowed_methods, reason = "the edge, where the time comes from")]
    fn now_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    fn random(&self) -> u64 {
        // Where the system has none to give, the time is unlike what it was.
        getrandom::u64().unwrap_or_else(|_| self.now_ms().unsigned_abs())
    }
}

/// A new id: a UUID of version 4, because some agents take nothing else.
pub(crate) fn new_id(ambient: &dyn Ambient) -> String {
    let (high, low) = (ambient.random(), ambient.random());
    let variant = (low >> 48) & 0x3fff | 0x8000;
    format!(
        "{:08x}-{:04x}-4{:03x}-{variant:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        low & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Fixed(u64);

    impl Ambient for Fixed {
        fn now_ms(&self) -> i64 {
            0
        }

        fn random(&self) -> u64 {
            self.0
        }
    }

    #[test]
    fn ids_are_uuids() {
        assert_eq!(new_id(&Fixed(u64::MAX)), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(new_id(&Fixed(0)), "00000000-0000-4000-8000-000000000000");
        assert_ne!(new_id(&System), new_id(&System));
    }
}
