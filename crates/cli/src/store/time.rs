//! Times as people read them.

use threadline_log::Timestamp;
use threadline_protocol::rfc3339::date_of;

/// A time in UTC, to the second.
pub(crate) fn readable(time: Timestamp) -> String {
    let seconds = time.0.div_euclid(1_000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = date_of(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_others_write_them() {
        for (ms, expected) in [
            (0, "1970-01-01 00:00:00Z"),
            (-1, "1969-12-31 23:59:59Z"),
            (951_782_399_999, "2000-02-28 23:59:59Z"),
            (951_782_400_000, "2000-02-29 00:00:00Z"),
            (1_793_664_000_000, "2026-11-03 00:00:00Z"),
            (4_107_542_400_000, "2100-03-01 00:00:00Z"),
        ] {
            assert_eq!(readable(Timestamp(ms)), expected);
        }
    }
}
