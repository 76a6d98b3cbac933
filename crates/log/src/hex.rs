//! Bytes as hexadecimal digits.

use std::fmt::Write;

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut digits, byte| {
        // Strings can be written to.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// The bytes, if the text is nothing but pairs of digits.
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    pairs.map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(from_hex(&to_hex(&bytes)), Some(bytes));
        assert_eq!(to_hex(&[0, 0xab]), "00ab");
        assert_eq!(from_hex("AB"), Some(vec![0xab]));
        assert_eq!(from_hex(""), Some(Vec::new()));
        for wrong in ["a", "+1", "0g", "0x00", "é"] {
            assert_eq!(from_hex(wrong), None, "{wrong}");
        }
    }
}
