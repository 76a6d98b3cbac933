//! Durations as people write them: `250ms`, `5s`, `10m`, `1h`, `30d`, `0`.

use serde::{Deserialize, Deserializer, de};
use std::time::Duration;

/// Reads a duration: a number and a unit, or 0.
///
/// # Errors
/// If it is neither.
pub fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let error = || format!("a duration is a number and ms, s, m, h or d, such as 5s. duration={text}");
    let number: u64 = number.parse().map_err(|_not_a_number| error())?;
    let millis = match unit {
        "" if number == 0 => 0,
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(error()),
    };
    number.checked_mul(millis).map(Duration::from_millis).ok_or_else(error)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse(&text).map_err(de::Error::custom)
}

/// The same, where 0 is none.
pub(crate) mod optional_duration {
    use super::{Deserializer, Duration};

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        super::deserialize(deserializer).map(|duration| Some(duration).filter(|duration| !duration.is_zero()))
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use std::time::Duration;

    #[test]
    fn a_number_and_a_unit() {
        for (text, millis) in [
            ("0", 0),
            ("0s", 0),
            ("250ms", 250),
            ("5s", 5_000),
            ("10m", 600_000),
            ("1h", 3_600_000),
            ("1d", 86_400_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in
            ["", "5", "s", "-1s", "1.5s", "1 s", "1w", "99999999999999999999s", "18446744073709551615h"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
