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
    worst_family: &'static str,
    worst_ratio: f64,
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
        let worst =
            measurement.families.iter().max_by(|one, other| ratio_of(one).total_cmp(&ratio_of(other)));
        let worst = worst.unwrap_or(&measurement.whole);
        Verdict {
            measurement: measurement.title,
            aim,
            ratio,
            is_reached: ratio <= aim.ratio_max,
            worst_family: worst.selection,
            worst_ratio: ratio_of(worst),
        }
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
        write_fidelity(f, &self.fidelity)?;
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
            write!(f, " {:.2} |", whole.ratio(timing.candidate, baseline))?;
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
    for Verdict { measurement, aim, ratio, is_reached, worst_family, worst_ratio } in verdicts {
        let Aim { subject, baseline, ratio_max } = aim;
        let verdict = if *is_reached { "PASS" } else { "MISS" };
        writeln!(
            f,
            "- {verdict}: {measurement}: {subject} takes {ratio:.2} times {baseline} (aim: at most {ratio_max}; \
             worst family: {worst_family}, {worst_ratio:.2})"
        )?;
    }
    Ok(())
}
