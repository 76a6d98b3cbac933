//! Timing: several candidates over the same events, in turns.

use crate::corpus::{Corpus, Family};
use serde::Serialize;
use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The least that is read between two looks at the clock, so that small families are timed as exactly as large ones.
const SAMPLE_BYTES_MIN: usize = 1 << 20;

/// One way to do what is measured.
pub struct Candidate<'a> {
    name: &'static str,
    is_ours: bool,
    rounds_max: usize,
    work: Work<'a>,
}

/// Goes over events, given by their index. The loop is inside, so that a call costs nothing per event.
type Pass<'a> = Box<dyn Fn(&[usize]) + 'a>;

enum Work<'a> {
    Pass(Pass<'a>),
    /// Goes over all events once and says how long that took, for work that another process does or that has to be
    /// prepared each time.
    Timed(Box<dyn Fn() -> Duration + 'a>),
}

impl<'a> Candidate<'a> {
    /// Does `work` on one item for each event. What it returns is dropped within the time that is measured.
    pub fn each<T, R>(name: &'static str, items: &'a [T], work: impl Fn(&'a T) -> R + 'a) -> Self {
        let pass = move |events: &[usize]| {
            for &event in events {
                black_box(&work(black_box(&items[event])));
            }
        };
        Self::new(name, Work::Pass(Box::new(pass)))
    }

    /// Does `work` on all events together; cannot tell families apart.
    pub fn all<R>(name: &'static str, work: impl Fn() -> R + 'a) -> Self {
        let pass = move |_: &[usize]| {
            black_box(&work());
        };
        Self::new(name, Work::Pass(Box::new(pass)))
    }

    /// Lets `work` on all events together say how long it took.
    pub fn timed(name: &'static str, work: impl Fn() -> Duration + 'a) -> Self {
        Self::new(name, Work::Timed(Box::new(work)))
    }

    const fn new(name: &'static str, work: Work<'a>) -> Self {
        Self { name, is_ours: false, rounds_max: usize::MAX, work }
    }

    /// Says that this is Threadline's.
    #[must_use]
    pub fn ours(self) -> Self {
        Self { is_ours: true, ..self }
    }

    /// Takes part in the first rounds only: it takes too long for all of them.
    #[must_use]
    pub fn at_most(self, rounds_max: usize) -> Self {
        Self { rounds_max, ..self }
    }

    /// What it is called.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Goes over these events once.
    pub fn pass(&self, events: &[usize]) {
        match &self.work {
            Work::Pass(pass) => pass(events),
            Work::Timed(work) => {
                work();
            }
        }
    }

    /// How many seconds it takes to go over these events once.
    fn seconds(&self, events: &[usize], repeats: u32) -> f64 {
        let pass = match &self.work {
            Work::Pass(pass) => pass,
            Work::Timed(work) => return work().as_secs_f64(),
        };
        let start = Instant::now();
        for _ in 0..repeats {
            pass(events);
        }
        start.elapsed().as_secs_f64() / f64::from(repeats)
    }
}

impl fmt::Debug for Candidate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Candidate").field(&self.name).finish()
    }
}

/// Events out of the corpus, by index.
#[derive(Debug)]
pub struct Selection {
    /// What they have in common.
    pub name: &'static str,
    /// Which they are.
    pub events: Vec<usize>,
    /// The length of their JSON.
    pub bytes: usize,
}

impl Selection {
    /// Those that `keep` holds for.
    pub fn of(corpus: &Corpus, name: &'static str, keep: impl Fn(usize) -> bool) -> Self {
        let events: Vec<usize> = (0..corpus.samples.len()).filter(|&event| keep(event)).collect();
        let bytes = events.iter().map(|&event| corpus.samples[event].json.len()).sum();
        Self { name, events, bytes }
    }

    /// Those that `keep` holds for, family by family.
    pub fn by_family(corpus: &Corpus, keep: impl Fn(usize) -> bool) -> Vec<Self> {
        let of_family = |&family: &Family| {
            Self::of(corpus, family.name(), |event| corpus.samples[event].family == family && keep(event))
        };
        Family::ALL.iter().map(of_family).filter(|selection| !selection.events.is_empty()).collect()
    }
}

/// Something to measure.
#[derive(Debug)]
pub struct Plan<'a> {
    /// What.
    pub title: &'static str,
    /// What a reader should know of it.
    pub note: String,
    /// The ways to do it.
    pub candidates: Vec<Candidate<'a>>,
    /// The candidates that the others are compared with.
    pub baselines: &'static [&'static str],
    /// What should hold.
    pub aims: &'static [Aim],
    /// The events together, in the order they come.
    pub whole: Selection,
    /// The same by family, where that is measured.
    pub families: Vec<Selection>,
}

/// How long one candidate may take, in times of another one.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Aim {
    /// The one that should be fast.
    pub subject: &'static str,
    /// The one it is compared with.
    pub baseline: &'static str,
    /// At most this many times as long.
    pub ratio_max: f64,
}

/// What was measured.
#[derive(Debug, Serialize)]
pub struct Measurement {
    /// What.
    pub title: &'static str,
    /// What a reader should know of it.
    pub note: String,
    /// The candidates that the others are compared with.
    pub baselines: &'static [&'static str],
    /// What should hold.
    pub aims: &'static [Aim],
    /// Over the events together.
    pub whole: Row,
    /// By family.
    pub families: Vec<Row>,
}

/// What all candidates took for the same events.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The events.
    pub selection: &'static str,
    /// How many.
    pub events: usize,
    /// The length of their JSON.
    pub bytes: usize,
    /// In the order of the candidates.
    pub timings: Vec<Timing>,
}

/// What one candidate took.
#[derive(Debug, Serialize)]
pub struct Timing {
    /// The candidate.
    pub candidate: &'static str,
    /// Whether it is Threadline's.
    pub is_ours: bool,
    /// Nanoseconds for an event in the best round: what it costs when nothing else disturbs.
    pub best_ns: f64,
    /// The same in the median round; far from the best one, the machine was busy.
    pub median_ns: f64,
}

impl Row {
    /// What a candidate took.
    #[must_use]
    pub fn timing(&self, candidate: &str) -> &Timing {
        let found = self.timings.iter().find(|timing| timing.candidate == candidate);
        found.expect("baselines and aims name candidates")
    }

    /// How long one candidate took, in times of another one.
    #[must_use]
    pub fn ratio(&self, subject: &str, baseline: &str) -> f64 {
        self.timing(subject).best_ns / self.timing(baseline).best_ns
    }
}

/// Measures all candidates of a plan in turns, so that a change of the machine's speed hits all of them.
#[must_use]
pub fn measure(plan: &Plan<'_>, rounds: usize) -> Measurement {
    Measurement {
        title: plan.title,
        note: plan.note.clone(),
        baselines: plan.baselines,
        aims: plan.aims,
        whole: measure_row(&plan.candidates, &plan.whole, rounds),
        families: plan.families.iter().map(|family| measure_row(&plan.candidates, family, rounds)).collect(),
    }
}

fn measure_row(candidates: &[Candidate<'_>], selection: &Selection, rounds: usize) -> Row {
    let repeats = SAMPLE_BYTES_MIN.div_ceil(selection.bytes);
    let repeats = u32::try_from(repeats).expect("events have bytes");
    let mut taken = vec![Vec::new(); candidates.len()];
    for round in 0..rounds {
        for (candidate, taken) in candidates.iter().zip(&mut taken) {
            if round < candidate.rounds_max {
                taken.push(candidate.seconds(&selection.events, repeats));
            }
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    let per_event = |seconds: f64| seconds * 1e9 / selection.events.len() as f64;
    let timings = candidates.iter().zip(taken).map(|(candidate, mut taken)| {
        taken.sort_unstable_by(f64::total_cmp);
        Timing {
            candidate: candidate.name,
            is_ours: candidate.is_ours,
            best_ns: per_event(taken[0]),
            median_ns: per_event(taken[taken.len() / 2]),
        }
    });
    Row {
        selection: selection.name,
        events: selection.events.len(),
        bytes: selection.bytes,
        timings: timings.collect(),
    }
}
