//! The report for programs. `docs/check.md` describes it.

use super::super::finding::{Evidence, Finding};
use super::super::outcome::{Asked, Outcome, Row, Tally};
use crate::check::json::Coverage;
use serde::Serialize;
use std::io::{self, Write};

pub(super) fn write(outcome: &Outcome, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Document::new(outcome))?;
    writeln!(out)
}

#[derive(Serialize)]
struct Document<'a> {
    url: &'a str,
    verdict: &'static str,
    events: u64,
    errors: usize,
    warnings: usize,
    notes: usize,
    requests: Vec<AskedIn<'a>>,
    summary: Vec<RowIn<'a>>,
    findings: Vec<Found<'a>>,
    coverage: Coverage,
}

#[derive(Serialize)]
struct AskedIn<'a> {
    name: &'a str,
    step: &'static str,
    answer: &'a str,
    frames: usize,
}

#[derive(Serialize)]
struct RowIn<'a> {
    area: &'static str,
    observed: &'a str,
    #[serde(rename = "1.0")]
    v1: TallyIn,
    #[serde(rename = "0.x")]
    v0: TallyIn,
}

#[derive(Serialize)]
struct TallyIn {
    errors: usize,
    warnings: usize,
    notes: usize,
}

#[derive(Serialize)]
struct Found<'a> {
    severity: &'static str,
    code: &'static str,
    area: &'static str,
    affects: &'static [&'static str],
    types: &'a [String],
    path: &'a str,
    message: &'a str,
    specification: &'a str,
    advice: &'a str,
    count: u64,
    evidence: Vec<EvidenceIn<'a>>,
}

#[derive(Serialize)]
struct EvidenceIn<'a> {
    request: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<usize>,
    text: &'a str,
}

impl<'a> Document<'a> {
    fn new(outcome: &'a Outcome) -> Self {
        let TallyIn { errors, warnings, notes } = outcome.tally().into();
        let asked = |Asked { name, step, answer, frames }: &'a Asked| AskedIn {
            name,
            step: step.name(),
            answer,
            frames: *frames,
        };
        let row = |Row { area, observed, v1, v0 }: &'a Row| RowIn {
            area: area.name(),
            observed,
            v1: (*v1).into(),
            v0: (*v0).into(),
        };
        Self {
            url: &outcome.url,
            verdict: outcome.verdict.name(),
            events: outcome.events,
            errors,
            warnings,
            notes,
            requests: outcome.asked.iter().map(asked).collect(),
            summary: outcome.summary.iter().map(row).collect(),
            findings: outcome.findings.iter().map(Found::from).collect(),
            coverage: Coverage::from(&outcome.coverage),
        }
    }
}

impl From<Tally> for TallyIn {
    fn from(Tally { errors, warnings, notes }: Tally) -> Self {
        Self { errors, warnings, notes }
    }
}

impl<'a> From<&'a Finding> for Found<'a> {
    fn from(finding: &'a Finding) -> Self {
        let evidence =
            |Evidence { request, frame, text }: &'a Evidence| EvidenceIn { request, frame: *frame, text };
        Self {
            severity: finding.severity.name(),
            code: finding.rule,
            area: finding.area.name(),
            affects: finding.affects.eras(),
            types: &finding.types,
            path: &finding.path,
            message: &finding.message,
            specification: &finding.says,
            advice: &finding.remedy,
            count: finding.count,
            evidence: finding.evidence.iter().map(evidence).collect(),
        }
    }
}
