//! What a check of an endpoint came to.

use super::exchange::Exchange;
use super::finding::{Affects, Area, Finding};
use super::judge::{Judgement, Seen};
use super::step::Step;
use threadline_protocol::check::{Coverage, Severity, Verdict};

/// What was asked, what was found, and the sum of it.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) url: String,
    pub(crate) verdict: Verdict,
    pub(crate) asked: Vec<Asked>,
    pub(crate) events: u64,
    pub(crate) findings: Vec<Finding>,
    pub(crate) summary: Vec<Row>,
    pub(crate) coverage: Coverage,
}

/// A request that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) name: String,
    pub(crate) step: Step,
    /// What its answer begins with.
    pub(crate) answer: String,
    /// How many frames its answer has.
    pub(crate) frames: usize,
}

/// A line of the summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) area: Area,
    /// How much was observed.
    pub(crate) observed: String,
    pub(crate) v1: Tally,
    pub(crate) v0: Tally,
}

/// How many findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) errors: usize,
    pub(crate) warnings: usize,
    pub(crate) notes: usize,
}

impl Tally {
    pub(crate) fn of<'a>(findings: impl Iterator<Item = &'a Finding>) -> Self {
        findings.fold(Self::default(), |mut tally, finding| {
            match finding.severity {
                Severity::Error => tally.errors += 1,
                Severity::Warning => tally.warnings += 1,
                Severity::Note => tally.notes += 1,
            }
            tally
        })
    }

    /// In words: `2 errors, 1 note`, or `ok`.
    pub(crate) fn text(self) -> String {
        let counted = |count: usize, one: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {one}s")),
        };
        let parts =
            [counted(self.errors, "error"), counted(self.warnings, "warning"), counted(self.notes, "note")];
        let text = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        if text.is_empty() { "ok".to_owned() } else { text }
    }
}

impl Outcome {
    pub(crate) fn new(url: &str, exchanges: &[Exchange], judgement: Judgement) -> Self {
        let Judgement { findings, seen } = judgement;
        let asked: Vec<Asked> = exchanges.iter().map(Asked::of).collect();
        let summary = Area::ALL.iter().map(|area| row(*area, &findings, &seen, &asked)).collect();
        Self {
            url: url.to_owned(),
            verdict: verdict(&findings, &seen),
            asked,
            events: seen.events,
            findings,
            summary,
            coverage: seen.coverage,
        }
    }

    pub(crate) fn tally(&self) -> Tally {
        Tally::of(self.findings.iter())
    }
}

impl Asked {
    fn of(exchange: &Exchange) -> Self {
        Self {
            name: exchange.request.name.clone(),
            step: exchange.request.step,
            answer: exchange.head(),
            frames: exchange.stream().map_or(0, |stream| stream.frames.len()),
        }
    }
}

/// An endpoint without any event, and one with a stream that is wrong in half of its events, are far from AG-UI.
fn verdict(findings: &[Finding], seen: &Seen) -> Verdict {
    let worst = findings.iter().map(|finding| finding.severity).max();
    match worst {
        Some(Severity::Error) if matches!(seen.verdict, None | Some(Verdict::Severe)) => Verdict::Severe,
        Some(Severity::Error) => Verdict::Drift,
        Some(Severity::Warning) => Verdict::Warnings,
        Some(Severity::Note) | None => Verdict::Conformant,
    }
}

fn row(area: Area, findings: &[Finding], seen: &Seen, asked: &[Asked]) -> Row {
    let tally = |is_affected: fn(Affects) -> bool| {
        Tally::of(findings.iter().filter(|finding| finding.area == area && is_affected(finding.affects)))
    };
    Row { area, observed: observed(area, seen, asked), v1: tally(Affects::v1), v0: tally(Affects::v0) }
}

/// How much of an area was observed: events of a family, requests about everything else.
fn observed(area: Area, seen: &Seen, asked: &[Asked]) -> String {
    let steps: &[Step] = match area {
        Area::Discovery => &[Step::Visit, Step::Capabilities],
        Area::Transport => &[Step::Preflight, Step::Text, Step::Protobuf, Step::Socket],
        Area::Errors => &[Step::NotJson, Step::Incomplete, Step::WrongValue],
        Area::Roles => &[Step::Roles, Step::EachRole],
        Area::Multimodal => &[Step::Multimodal],
        Area::UnknownFields => &[Step::UnknownMembers],
        Area::Interrupts => {
            let asked =
                asked.iter().filter(|asked| matches!(asked.step, Step::Resume | Step::Answer)).count();
            let interrupts = seen.coverage.structures.iter().find(|usage| usage.name == "interrupts");
            let interrupts = interrupts.map_or(0, |usage| usage.used);
            return format!("{}, {}", counted(asked as u64, "request"), counted(interrupts, "interrupt"));
        }
        _ => {
            let of_area = |family| Area::from(family) == area;
            let types = seen.coverage.event_types.iter().chain(&seen.coverage.thinking_types);
            let used = types.filter(|usage| usage.family.is_some_and(of_area)).map(|usage| usage.used).sum();
            return counted(used, "event");
        }
    };
    counted(asked.iter().filter(|asked| steps.contains(&asked.step)).count() as u64, "request")
}

fn counted(count: u64, one: &str) -> String {
    match count {
        0 => format!("no {one}s"),
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    }
}
