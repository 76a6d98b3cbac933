//! What a run found, for people and for programs.

use crate::corpus::Corpus;
use crate::fidelity::Fidelity;
use crate::machine::Machine;
use crate::measure::{Aim, Measurement, Row, Selection, Timing};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Everything that a run found.
#[derive(Debug, Serialize)]
pub struct Report {
    machine: Machine,
    rounds: usize,
    corpus: Vec<Part>,
    fidelity: Vec<Fidelity>,
    measurements: Vec<Measurement>,
    verdicts: Vec<Verdict>,
}

/// A part of the corpus.
#[derive(Debug, Serialize)]
struct Part {
    name: &'static str,
    events: usize,
    bytes: usize,
}

/// Whether an aim was reached.
#[derive(Debug, Serialize)]
struct Verdict {
    measurement: &'static str,
    #[serde(flatten)]
    aim: Aim,
    ratio: f64,
    is_reached: bool,
    /// Where families are measured.
    worst: Option<Worst>,
}

/// The family that is the furthest from an aim.
#[derive(Debug, Serialize)]
struct Worst {
    family: &'static str,
    ratio: f64,
}

impl Report {
    /// Puts together what was found, and judges it.
    #[must_use]
    pub fn new(
        corpus: &Corpus,
        rounds: usize,
        fidelity: Vec<Fidelity>,
        measurements: Vec<Measurement>,
    ) -> Self {
        let mut parts = Selection::by_family(corpus, |_| true);
        parts.push(Selection::of(corpus, "all", |_| true));
        let part = |part: Selection| Part { name: part.name, events: part.events.len(), bytes: part.bytes };
        let verdicts = measurements.iter().flat_map(verdicts).collect();
        let corpus = parts.into_iter().map(part).collect();
        Self { machine: Machine::current(), rounds, corpus, fidelity, measurements, verdicts }
    }

    /// How much longer than the best round the median one took, on average.
    fn noise(&self) -> f64 {
        let rows = self.measurements.iter().flat_map(|measurement| &measurement.whole.timings);
        let ratios: Vec<f64> = rows.map(|timing| timing.median_ns / timing.best_ns).collect();
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
        let count = ratios.len() as f64;
        ratios.iter().sum::<f64>() / count
    }
}

fn verdicts(measurement: &Measurement) -> impl Iterator<Item = Verdict> {
    measurement.aims.iter().map(|&aim| {
        let ratio_of = |row: &Row| row.ratio(aim.subject, aim.baseline);
        let ratio = ratio_of(&measurement.whole);
        let families =
            measurement.families.iter().map(|row| Worst { family: row.selection, ratio: ratio_of(row) });
        let worst = families.max_by(|one, other| one.ratio.total_cmp(&other.ratio));
        Verdict { measurement: measurement.title, aim, ratio, is_reached: ratio <= aim.ratio_max, worst }
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn per(total: usize, count: usize) -> f64 {
    total as f64 / count as f64
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { machine, rounds, .. } = self;
        writeln!(f, "Machine: {machine}.\n")?;
        writeln!(
            f,
            "Times are the best of {rounds} rounds; the median round took {:.2} times as long.",
            self.noise()
        )?;
        writeln!(f, "Bold is ours. Less is better, except MB/s.\n")?;
        write_corpus(f, &self.corpus)?;
        if !self.fidelity.is_empty() {
            write_fidelity(f, &self.fidelity)?;
        }
        for measurement in &self.measurements {
            write_measurement(f, measurement)?;
        }
        write_verdicts(f, &self.verdicts)
    }
}

fn write_corpus(f: &mut fmt::Formatter<'_>, parts: &[Part]) -> fmt::Result {
    writeln!(f, "## Corpus\n\n| family | events | bytes | bytes/event |\n|---|--:|--:|--:|")?;
    for Part { name, events, bytes } in parts {
        writeln!(f, "| {name} | {events} | {bytes} | {:.0} |", per(*bytes, *events))?;
    }
    Ok(())
}

fn write_fidelity(f: &mut fmt::Formatter<'_>, readers: &[Fidelity]) -> fmt::Result {
    writeln!(f, "\n## What is read and given back\n")?;
    writeln!(f, "| reader | reads | writes the same value | loses something | refuses | lost members |")?;
    writeln!(f, "|---|--:|--:|--:|---|---|")?;
    for Fidelity { reader, events, read, same, lossy, refused, lost } in readers {
        let (refused, lost) = (counts(refused), counts(lost));
        writeln!(f, "| {reader} | {read} of {events} | {same} | {lossy} | {refused} | {lost} |")?;
    }
    Ok(())
}

fn counts(counts: &BTreeMap<impl fmt::Display, usize>) -> String {
    let counts: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    if counts.is_empty() { "none".to_owned() } else { counts.join(", ") }
}

/// A candidate's name; ours stands out.
fn shown(timing: &Timing) -> String {
    let name = timing.candidate;
    if timing.is_ours { format!("**{name}**") } else { name.to_owned() }
}

fn write_measurement(f: &mut fmt::Formatter<'_>, measurement: &Measurement) -> fmt::Result {
    let Measurement { title, note, baselines, aims, whole, families } = measurement;
    let Row { events, bytes, timings, .. } = whole;
    writeln!(f, "\n## {title}\n\n{note} {events} events.\n")?;
    let against: String = baselines.iter().map(|baseline| format!(" against {baseline} |")).collect();
    writeln!(f, "| | ns/event | MB/s |{against}")?;
    writeln!(f, "|---|--:|--:|{}", "--:|".repeat(baselines.len()))?;
    for timing in timings {
        let speed = per(*bytes, *events) * 1000.0 / timing.best_ns;
        write!(f, "| {} | {:.0} | {speed:.0} |", shown(timing), timing.best_ns)?;
        for baseline in *baselines {
            write!(f, " {} |", times(whole.ratio(timing.candidate, baseline)))?;
        }
        writeln!(f)?;
    }
    if families.is_empty() {
        return Ok(());
    }
    let names: String = timings.iter().map(|timing| format!(" {} |", shown(timing))).collect();
    let pairs: String = aims.iter().map(|aim| format!(" {} / {} |", aim.subject, aim.baseline)).collect();
    writeln!(f, "\nBy family, ns/event:\n\n| family | bytes/event |{names}{pairs}")?;
    writeln!(f, "|---|--:|{}", "--:|".repeat(timings.len() + aims.len()))?;
    for family in families {
        write!(f, "| {} | {:.0} |", family.selection, per(family.bytes, family.events))?;
        for timing in &family.timings {
            write!(f, " {:.0} |", timing.best_ns)?;
        }
        for aim in *aims {
            write!(f, " {:.2} |", family.ratio(aim.subject, aim.baseline))?;
        }
        writeln!(f)?;
    }
    Ok(())
}

fn write_verdicts(f: &mut fmt::Formatter<'_>, verdicts: &[Verdict]) -> fmt::Result {
    writeln!(f, "\n## Aims\n")?;
    for Verdict { measurement, aim, ratio, is_reached, worst } in verdicts {
        let Aim { subject, baseline, ratio_max } = aim;
        let verdict = if *is_reached { "PASS" } else { "MISS" };
        let (ratio, ratio_max) = (times(*ratio), times(*ratio_max));
        write!(
            f,
            "- {verdict}: {measurement}: {subject} takes {ratio} times {baseline} (aim: at most {ratio_max}"
        )?;
        if let Some(Worst { family, ratio }) = worst {
            write!(f, "; worst family: {family}, {ratio:.2}")?;
        }
        writeln!(f, ")")?;
    }
    Ok(())
}

/// How many times as long: a fraction where decimals would say little.
pub(crate) fn times(ratio: f64) -> String {
    if ratio < 0.1 { format!("1/{:.0}", 1.0 / ratio) } else { format!("{ratio:.2}") }
}
