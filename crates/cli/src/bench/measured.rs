//! What a load came to.

use super::histogram::Histogram;
use std::time::Duration;

/// Everything that was measured.
#[derive(Clone, Debug)]
pub(super) struct Bench {
    pub(super) url: String,
    pub(super) message: String,
    pub(super) concurrency: usize,
    pub(super) runs: Measured,
    pub(super) followers: Option<Measured>,
    pub(super) history: Option<Measured>,
}

/// One stream that was read to its end, or why it was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    /// From the request to the first event.
    pub(super) first: Duration,
    /// From the request to the end.
    pub(super) whole: Duration,
    pub(super) events: u64,
    pub(super) bytes: u64,
}

/// Why a stream was not read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) why: String,
    pub(super) is_unreachable: bool,
}

/// What was measured of one kind of thing.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    pub(super) samples: Vec<Sample>,
    pub(super) failed: Vec<Failed>,
    /// How long all of it took.
    pub(super) took: Duration,
}

impl Bench {
    pub(super) fn has_failed(&self) -> bool {
        let others = [&self.followers, &self.history].into_iter().flatten();
        others.chain([&self.runs]).any(|measured| !measured.failed.is_empty())
    }
}

impl Measured {
    pub(super) fn add(&mut self, sample: Result<Sample, Failed>) {
        match sample {
            Ok(sample) => self.samples.push(sample),
            Err(failed) => self.failed.push(failed),
        }
    }

    /// Why nothing at all could be measured, if that is because nobody is there.
    pub(super) fn unreachable(&self) -> Option<&str> {
        let first = self.failed.first().filter(|failed| failed.is_unreachable && self.samples.is_empty())?;
        Some(&first.why)
    }

    pub(super) fn events(&self) -> u64 {
        self.samples.iter().map(|sample| sample.events).sum()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.samples.iter().map(|sample| sample.bytes).sum()
    }

    /// How many of something a second that is.
    #[expect(clippy::cast_precision_loss, reason = "a rate is not exact")]
    pub(super) fn rate(&self, count: u64) -> f64 {
        count as f64 / self.took.as_secs_f64().max(1e-9)
    }

    pub(super) fn first(&self) -> Histogram {
        self.samples.iter().map(|sample| sample.first).collect()
    }

    pub(super) fn whole(&self) -> Histogram {
        self.samples.iter().map(|sample| sample.whole).collect()
    }
}
