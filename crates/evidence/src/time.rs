//! Times as the contract wants them: RFC 3339 with a zone, and no finer than every reader keeps.

use threadline_protocol::rfc3339;

/// A moment, in microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(i64);

const SECOND: i64 = 1_000_000;

/// Reads `2026-04-14T19:00:00Z`, with at most six digits of a second, and with `Z` or an offset. Nothing else: what one reader
/// takes for local time, another refuses, and a third cuts digits off.
pub(crate) fn parse(text: &str) -> Option<Moment> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"-:.+TZ".contains(&byte));
    // `-00:00` says that the zone is not known, and not every reader has leap seconds.
    if !is_plain || text.ends_with("-00:00") || text.get(17..19)? == "60" {
        return None;
    }
    let digits = text.get(19..)?.strip_prefix('.').unwrap_or_default();
    let digits = &digits[..digits.bytes().take_while(u8::is_ascii_digit).count()];
    if digits.len() > 6 {
        return None;
    }
    // What is finer than a millisecond.
    let micros: i64 = format!("{digits:0<6}").get(3..)?.parse().ok()?;
    let moment = rfc3339::parse_ms(text)?.checked_mul(1000)? + micros;
    // As UTC it must have a year of four digits, which is not 0.
    (FIRST..=LAST).contains(&moment).then_some(Moment(moment))
}

/// The first moment of year 1, and the last of year 9999.
const FIRST: i64 = -62_135_596_800 * SECOND;
const LAST: i64 = 253_402_300_800 * SECOND - 1;

/// A time in milliseconds since 1970, in whole seconds or with six digits.
pub(crate) fn write_millis(millis: i64) -> Option<String> {
    if !(FIRST..=LAST).contains(&millis.checked_mul(1000)?) {
        return None;
    }
    let (seconds, rest) = (millis.div_euclid(1000), millis.rem_euclid(1000));
    let (days, clock) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = rfc3339::date_of(days);
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    let fraction = if rest == 0 { String::new() } else { format!(".{rest:03}000") };
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_are_read_as_written_or_not_at_all() {
        let same = parse("2026-04-14T19:00:00Z").unwrap();
        assert_eq!(parse("2026-04-14T21:00:00+02:00"), Some(same));
        assert_eq!(parse("2026-04-14T13:30:00.000000-05:30"), Some(same));
        assert_eq!(parse("1970-01-01T00:00:00.5Z"), Some(Moment(500_000)));
        assert_eq!(parse("2024-02-29T00:00:00Z").map(|_| ()), Some(()));
        for bad in [
            "2026-04-14",
            "2026-04-14T19:00:00",
            "2026-04-14 19:00:00Z",
            "2026-04-14t19:00:00Z",
            "2026-04-14T19:00:00z",
            "2026-W16-2T19:00:00Z",
            "2026-04-14T19:00Z",
            "20260414T190000Z",
            "2026-04-14T19:00:00.1234567Z",
            "2026-04-14T19:00:00.Z",
            "2026-04-14T24:00:00Z",
            "2026-04-14T19:60:00Z",
            "2026-04-14T23:59:60Z",
            "2025-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "0000-01-01T00:00:00Z",
            "2026-04-14T19:00:00-00:00",
            "2026-04-14T19:00:00+24:00",
            "2026-04-14T19:00:00+0200",
            "0001-01-01T00:00:00+00:01",
            "9999-12-31T23:59:59-00:01",
            "2026-04-14T19:00:00Zx",
            " 2026-04-14T19:00:00Z",
            "+026-04-14T19:00:00Z",
            "",
            "Z",
            "T",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn whole_seconds_have_no_digits() {
        assert_eq!(write_millis(0).unwrap(), "1970-01-01T00:00:00Z");
        assert_eq!(write_millis(1_794_705_957_239).unwrap(), "2026-11-15T01:25:57.239000Z");
        assert_eq!(write_millis(-1).unwrap(), "1969-12-31T23:59:59.999000Z");
        assert_eq!(write_millis(i64::MAX), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(millis in FIRST / 1000..LAST / 1000) {
            let text = write_millis(millis).unwrap();
            prop_assert_eq!(parse(&text), Some(Moment(millis * 1000)));
        }

        #[test]
        fn nothing_crashes_it(text in "\\PC{0,32}") {
            let _ = parse(&text);
        }
    }
}
