//! Numbers by their value, whatever their spelling.

/// Longer spellings are not taken apart. It is far beyond what any producer's number type writes, and keeps the
/// cost of a comparison from growing with the document.
const SPELLING_BYTES_MAX: usize = 128;

/// Whether two texts of JSON numbers are the same number: `1`, `1.0` and `10e-1` are.
///
/// The comparison is exact, not one of doubles: 9007199254740993 is not 9007199254740992. Numbers of more than
/// 128 characters, or with an exponent beyond 64 bits, are the same only if they are spelled the same.
pub(super) fn is_same_number(left: &str, right: &str) -> bool {
    left == right || Decimal::of(left).is_some_and(|left| Decimal::of(right) == Some(left))
}

/// A number in its only normal form: `digits` times ten to the power of `exponent`.
#[derive(PartialEq, Eq)]
struct Decimal {
    negative: bool,
    /// Without zeros at either end; empty for zero.
    digits: String,
    exponent: i128,
}

impl Decimal {
    fn of(number: &str) -> Option<Self> {
        if number.len() > SPELLING_BYTES_MAX {
            return None;
        }
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let exponent = i128::from(exponent.parse::<i64>().ok()?);
        let (negative, magnitude) = mantissa.strip_prefix('-').map_or((false, mantissa), |rest| (true, rest));
        let (whole, fraction) = magnitude.split_once('.').unwrap_or((magnitude, ""));
        let digits = [whole, fraction].concat();
        let significant = digits.trim_end_matches('0');
        if significant.is_empty() {
            return Some(Self { negative: false, digits: String::new(), exponent: 0 });
        }
        let exponent = exponent + (digits.len() - significant.len()) as i128 - fraction.len() as i128;
        Some(Self { negative, digits: significant.trim_start_matches('0').to_owned(), exponent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spellings_of_one_number() {
        for spellings in [
            &["1", "1.0", "1e0", "1E+0", "10e-1", "0.1e1", "0.001e3", "1.000"][..],
            &["0", "-0", "0.0", "0e99999999999999", "-0.00e-7"],
            &["-120", "-1.2e2", "-1200E-1", "-120.0"],
            &["100000000000000000000000", "1e23"],
            &["1e9223372036854775807", "10e9223372036854775806"],
            &["9007199254740993", "9007199254740993.0"],
        ] {
            for left in spellings {
                for right in spellings {
                    assert!(is_same_number(left, right), "{left} {right}");
                }
            }
        }
    }

    #[test]
    fn different_numbers() {
        let long = "1".repeat(SPELLING_BYTES_MAX);
        let numbers = [
            "0",
            "1",
            "-1",
            "10",
            "0.1",
            "1.5",
            "9007199254740993",
            "9007199254740992",
            "1e400",
            "1e-400",
            "1e99999999999999999999",
            "1e99999999999999999998",
            &long,
            &format!("{long}.0"),
        ];
        for (at, left) in numbers.iter().enumerate() {
            for (other, right) in numbers.iter().enumerate() {
                assert_eq!(is_same_number(left, right), at == other, "{left} {right}");
            }
        }
    }

    proptest! {
        #[test]
        fn agrees_with_integers(left in -2000..2000_i64, right in -2000..2000_i64, zeros in 0..4_usize) {
            let spelled = format!("{left}{}e-{zeros}", "0".repeat(zeros));
            prop_assert_eq!(is_same_number(&spelled, &right.to_string()), left == right);
            prop_assert!(is_same_number(&spelled, &left.to_string()));
        }
    }
}
