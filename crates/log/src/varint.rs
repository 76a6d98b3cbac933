//! Numbers in as few bytes as they need: LEB128, and zigzags where they may be negative.
//!
//! Persisted, so must be kept stable.

/// Appends a number.
#[inline]
pub fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
}

/// Appends a number that may be negative, as a zigzag.
pub fn put_signed(bytes: &mut Vec<u8>, value: i64) {
    put(bytes, zigzag(value));
}

fn zigzag(value: i64) -> u64 {
    (value.cast_unsigned() << 1) ^ (value >> 63).cast_unsigned()
}

/// How many bytes [`put`] appends.
#[inline]
#[must_use]
pub fn bytes(value: u64) -> usize {
    (u64::BITS - (value | 1).leading_zeros()).div_ceil(7) as usize
}

/// How many bytes [`put_signed`] appends.
#[must_use]
pub fn bytes_signed(value: i64) -> usize {
    bytes(zigzag(value))
}

/// Takes a number from the front of `bytes`; none if they are not one.
#[inline]
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Takes what [`put_signed`] has appended.
pub fn take_signed(bytes: &mut &[u8]) -> Option<i64> {
    let value = take(bytes)?;
    Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(value in any::<u64>(), bits in 0..64u32, signed in any::<i64>()) {
            let value = value >> bits;
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            put_signed(&mut bytes, signed);
            let mut rest = &bytes[..];
            prop_assert_eq!(take(&mut rest), Some(value));
            prop_assert_eq!(take_signed(&mut rest), Some(signed));
            prop_assert!(rest.is_empty());
            prop_assert_eq!(take(&mut &bytes[..0]), None);
        }
    }

    #[test]
    fn what_is_too_large_or_too_long_is_none() {
        assert_eq!(take(&mut &[0xff; 11][..]), None);
        assert_eq!(take(&mut &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2][..]), None);
        assert_eq!(take(&mut &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1][..]), Some(u64::MAX));
    }
}
