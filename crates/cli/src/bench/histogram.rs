//! Times, and how they are spread.

use std::time::Duration;

/// How wide the longest bar is.
const BAR_WIDTH: usize = 40;

/// Times, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Histogram {
    sorted: Vec<Duration>,
}

/// A few figures that stand for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Figures {
    pub(super) min: Duration,
    pub(super) p50: Duration,
    pub(super) p90: Duration,
    pub(super) p99: Duration,
    pub(super) max: Duration,
}

/// Times between one and another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bucket {
    /// Where it begins; it ends where the next one begins.
    pub(super) from: Duration,
    pub(super) count: usize,
}

impl FromIterator<Duration> for Histogram {
    fn from_iter<T: IntoIterator<Item = Duration>>(times: T) -> Self {
        let mut sorted: Vec<Duration> = times.into_iter().collect();
        sorted.sort_unstable();
        Self { sorted }
    }
}

impl Histogram {
    /// None if there are no times.
    pub(super) fn figures(&self) -> Option<Figures> {
        let (min, max) = (*self.sorted.first()?, *self.sorted.last()?);
        Some(Figures {
            min,
            p50: self.percentile(50)?,
            p90: self.percentile(90)?,
            p99: self.percentile(99)?,
            max,
        })
    }

    /// The time that so many of a hundred are not above: one of those that were measured.
    fn percentile(&self, percent: usize) -> Option<Duration> {
        let rank = (self.sorted.len() * percent).div_ceil(100);
        self.sorted.get(rank.saturating_sub(1)).copied()
    }

    /// Each twice as wide as the one before, from the first that has any to the last.
    pub(super) fn buckets(&self) -> Vec<Bucket> {
        let mut buckets: Vec<Bucket> = Vec::new();
        for time in &self.sorted {
            let from = floor(*time);
            while let Some(last) = buckets.last().copied()
                && last.from < from
            {
                let next = if last.from.is_zero() { Duration::from_micros(1) } else { last.from * 2 };
                buckets.push(Bucket { from: next, count: 0 });
            }
            match buckets.last_mut() {
                Some(last) => last.count += 1,
                None => buckets.push(Bucket { from, count: 1 }),
            }
        }
        buckets
    }

    /// A line a bucket: where it begins, a bar, and how many.
    pub(super) fn lines(&self) -> Vec<String> {
        let buckets = self.buckets();
        let most = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0).max(1);
        let line = |bucket: &Bucket| {
            // What is there is seen, however little it is.
            let width = (bucket.count * BAR_WIDTH).div_ceil(most);
            format!("{:>9} |{:<BAR_WIDTH$} {}", readable(bucket.from), "#".repeat(width), bucket.count)
        };
        buckets.iter().map(line).collect()
    }
}

/// The largest power of two of microseconds that is not above, or nothing.
fn floor(time: Duration) -> Duration {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    micros.checked_ilog2().map_or(Duration::ZERO, |power| Duration::from_micros(1 << power))
}

/// With three digits that count.
pub(super) fn readable(time: Duration) -> String {
    let (value, unit) = match time.as_micros() {
        0..1_000 => (time.as_secs_f64() * 1e6, "us"),
        1_000..1_000_000 => (time.as_secs_f64() * 1e3, "ms"),
        _ => (time.as_secs_f64(), "s"),
    };
    let digits = match value {
        ..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn micros(times: &[u64]) -> Histogram {
        times.iter().map(|micros| Duration::from_micros(*micros)).collect()
    }

    #[test]
    fn figures_are_times_that_were_measured() {
        let figures = micros(&(1..=200).rev().collect::<Vec<_>>()).figures().unwrap();
        let times = [figures.min, figures.p50, figures.p90, figures.p99, figures.max];
        assert_eq!(times.map(|time| time.as_micros()), [1, 100, 180, 198, 200]);
        assert_eq!(micros(&[]).figures(), None);
        let one = micros(&[7]).figures().unwrap();
        assert_eq!((one.min, one.p50, one.p99), (one.max, one.max, one.max));
    }

    #[test]
    fn bars_are_as_long_as_there_are_many() {
        let mut times = vec![1_100; 40];
        times.extend([5_000, 0]);
        let lines = micros(&times).lines();
        assert_eq!(
            lines.first().map(String::as_str),
            Some("  0.00 us |#                                        1")
        );
        assert_eq!(lines[11], format!("  1.02 ms |{} 40", "#".repeat(40)));
        assert_eq!(lines[12], format!("  2.05 ms |{} 0", " ".repeat(40)));
        assert_eq!(lines.len(), 14);
    }

    #[test]
    fn times_are_readable() {
        let readable = |micros| readable(Duration::from_micros(micros));
        assert_eq!(
            [0, 999, 1_000, 12_345, 123_456, 1_500_000, 61_000_000].map(readable),
            ["0.00 us", "999 us", "1.00 ms", "12.3 ms", "123 ms", "1.50 s", "61.0 s"]
        );
    }

    proptest! {
        #[test]
        fn every_time_is_in_one_bucket(times in prop::collection::vec(0_u64..10_000_000, 0..50)) {
            let histogram = micros(&times);
            let buckets = histogram.buckets();
            prop_assert_eq!(buckets.iter().map(|bucket| bucket.count).sum::<usize>(), times.len());
            for (at, bucket) in buckets.iter().enumerate() {
                let end = buckets.get(at + 1).map_or(Duration::MAX, |next| next.from);
                let inside = histogram.sorted.iter().filter(|time| (bucket.from..end).contains(*time)).count();
                prop_assert_eq!(inside, bucket.count);
            }
        }
    }
}
