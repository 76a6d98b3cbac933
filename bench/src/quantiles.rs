//! What most of something takes, and what the slowest does.

use std::time::Duration;

/// In microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantiles {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
}

impl Quantiles {
    /// Those of these times.
    ///
    /// # Panics
    /// If there are none.
    pub(crate) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |per_mille: usize| {
            let rank = (times.len() * per_mille).div_ceil(1000).max(1);
            times[rank - 1].as_secs_f64() * 1e6
        };
        Self { p50: at(500), p99: at(990), p999: at(999) }
    }

    /// In the order of the columns.
    pub(crate) const fn all(self) -> [f64; 3] {
        [self.p50, self.p99, self.p999]
    }
}

/// The one in the middle.
///
/// # Panics
/// If there are none.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_sorted_times() {
        let times = (1..=1000).rev().map(Duration::from_micros).collect();
        assert_eq!(Quantiles::of(times).all().map(f64::round), [500.0, 990.0, 999.0]);
        assert_eq!(Quantiles::of(vec![Duration::from_micros(7)]).all().map(f64::round), [7.0; 3]);
        assert_eq!(median([3.0, 1.0, 2.0]).to_bits(), 2.0_f64.to_bits());
    }
}
