//! Times as RFC 3339 writes them, and the calendar that they are in.

const DAYS_IN_400_YEARS: i64 = 146_097;
/// Since the first of March of year 0.
const DAYS_BEFORE_1970: i64 = 719_468;

/// A time as milliseconds since 1970, if the text is one. What is finer is left out.
#[must_use]
pub fn parse_ms(text: &str) -> Option<i64> {
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
    era * DAYS_IN_400_YEARS + day_of_era - DAYS_BEFORE_1970
}

/// The year, month and day of a day that is so many after 1970-01-01.
#[must_use]
pub const fn date_of(day_number: i64) -> (i64, i64, i64) {
    let days = day_number + DAYS_BEFORE_1970;
    let (era, day_of_era) = (days.div_euclid(DAYS_IN_400_YEARS), days.rem_euclid(DAYS_IN_400_YEARS));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400;
    (if month <= 2 { year + 1 } else { year }, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_are_read_to_the_millisecond() {
        assert_eq!(parse_ms("2026-11-03T01:30:00.5+01:30"), Some(1_793_664_000_500));
        assert_eq!(parse_ms("2026-11-03"), None);
    }

    proptest! {
        #[test]
        fn days_follow_each_other(year in 0_i64..9_999, month in 1_i64..=12) {
            let (after, then) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
            let last = day_number(year, month, days_in(year, month));
            prop_assert_eq!(day_number(after, then, 1), last + 1);
        }

        #[test]
        fn dates_and_days_are_the_same(day in -1_000_000_i64..4_000_000) {
            let (year, month, of_month) = date_of(day);
            prop_assert!((1..=12).contains(&month) && (1..=days_in(year, month)).contains(&of_month));
            prop_assert_eq!(day_number(year, month, of_month), day);
        }
    }
}
