//! Places in a thread, by offset or by time.

use serde::Deserialize;
use std::str::FromStr;
use thiserror::Error;
use threadline_log::Timestamp;

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
        time(text).map(|ms| Self::Time(Timestamp(ms))).ok_or(NotAMoment)
    }
}

impl TryFrom<String> for Moment {
    type Error = NotAMoment;

    fn try_from(text: String) -> Result<Self, NotAMoment> {
        text.parse()
    }
}

/// Milliseconds since 1970. What is finer is left out.
fn time(text: &str) -> Option<i64> {
    let (date, rest) = (text.get(..10)?, text.get(11..)?);
    if !matches!(text.as_bytes().get(10)?, b'T' | b't' | b' ') {
        return None;
    }
    let (clock, zone) = (rest.get(..8)?, rest.get(8..)?);
    let [year, month, day] = numbers(date, '-', &[4, 2, 2])?;
    let [hour, minute, second] = numbers(clock, ':', &[2, 2, 2])?;
    // A leap second is the first of the next minute.
    let is_right = (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !is_right {
        return None;
    }
    let (ms, zone) = fraction(zone)?;
    let seconds = day_number(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    Some((seconds - ahead(zone)?) * 1_000 + ms)
}

/// Numbers of so many digits each.
fn numbers<const N: usize>(text: &str, between: char, digits: &[usize; N]) -> Option<[i64; N]> {
    let mut parts = text.split(between);
    let mut numbers = [0; N];
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let part = parts.next()?;
        if part.len() != *digits || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(numbers)
}

/// The milliseconds of a fraction of a second, if there is one, and what follows it.
fn fraction(text: &str) -> Option<(i64, &str)> {
    let Some(digits) = text.strip_prefix('.') else { return Some((0, text)) };
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = digits.split_at(count);
    let ms: String = digits.chars().chain("00".chars()).take(3).collect();
    if digits.is_empty() { None } else { Some((ms.parse().ok()?, rest)) }
}

/// How many seconds a zone is ahead of UTC.
fn ahead(zone: &str) -> Option<i64> {
    let (sign, zone) = match zone.as_bytes() {
        b"Z" | b"z" => return Some(0),
        [b'-', ..] => (-1, zone.get(1..)?),
        // In a query, a plus that was not escaped is a space.
        [b'+' | b' ', ..] => (1, zone.get(1..)?),
        _ => return None,
    };
    let [hours, minutes] = numbers(zone, ':', &[2, 2])?;
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3_600 + minutes * 60))
}

const fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The days from 1970-01-01 to a date, in a calendar whose years begin in March, so that leap days come last.
const fn day_number(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let from_march = (month + 9) % 12;
    let day_of_year = (153 * from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
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

        #[test]
        fn days_follow_each_other(year in 0_i64..9_999, month in 1_i64..=12) {
            let (after, then) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
            let last = day_number(year, month, days_in(year, month));
            prop_assert_eq!(day_number(after, then, 1), last + 1);
        }
    }
}
