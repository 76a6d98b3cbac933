//! Places in a thread, by offset or by time.

use serde::Deserialize;
use std::str::FromStr;
use thiserror::Error;
use threadline_log::Timestamp;
use threadline_protocol::rfc3339;

/// An offset, or a time as RFC 3339 writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum Moment {
    Offset(u64),
    Time(Timestamp),
}

/// A text that is neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected an offset, or a time such as 2026-01-31T12:00:00Z")]
pub(crate) struct NotAMoment;

impl FromStr for Moment {
    type Err = NotAMoment;

    fn from_str(text: &str) -> Result<Self, NotAMoment> {
        if let Ok(offset) = text.parse() {
            return Ok(Self::Offset(offset));
        }
        rfc3339::parse_ms(text).map(|ms| Self::Time(Timestamp(ms))).ok_or(NotAMoment)
    }
}

impl TryFrom<String> for Moment {
    type Error = NotAMoment;

    fn try_from(text: String) -> Result<Self, NotAMoment> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_are_read_as_others_write_them() {
        for (text, ms) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01t00:00:00z", 0),
            ("1969-12-31T23:59:59.999Z", -1),
            ("2000-02-29T00:00:00Z", 951_782_400_000),
            ("2026-11-03T00:00:00.5Z", 1_793_664_000_500),
            ("2026-11-03T00:00:00.0019Z", 1_793_664_000_001),
            ("2026-11-03T01:30:00+01:30", 1_793_664_000_000),
            ("2026-11-03T01:30:00 01:30", 1_793_664_000_000),
            ("2026-11-02T19:00:00-05:00", 1_793_664_000_000),
            ("2016-12-31T23:59:60Z", 1_483_228_800_000),
            ("2100-03-01T00:00:00Z", 4_107_542_400_000),
            ("0000-01-01T00:00:00Z", -62_167_219_200_000),
        ] {
            assert_eq!(text.parse(), Ok(Moment::Time(Timestamp(ms))), "{text}");
        }
        assert_eq!("17".parse(), Ok(Moment::Offset(17)));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "-1",
            "1.5",
            "2026-11-03",
            "2026-11-03T00:00:00",
            "2026-11-03T00:00Z",
            "2026-02-29T00:00:00Z",
            "2100-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-11-00T00:00:00Z",
            "2026-11-31T00:00:00Z",
            "2026-11-03T24:00:00Z",
            "2026-11-03T00:60:00Z",
            "2026-11-03T00:00:61Z",
            "2026-11-03T00:00:00.Z",
            "2026-11-03T00:00:00+1:00",
            "2026-11-03T00:00:00+24:00",
            "2026-11-03T00:00:00ZZ",
            "+026-11-03T00:00:00Z",
            "2026-11-03T00:00:0éZ",
            "18446744073709551616",
        ] {
            assert_eq!(text.parse::<Moment>(), Err(NotAMoment), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[0-9TZ:.+ é-]{0,30}") {
            let _ = text.parse::<Moment>();
        }
    }
}
