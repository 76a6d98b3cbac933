//! The report for programs. `docs/check.md` describes it.

use super::Checked;
use serde::Serialize;
use std::io::{self, Write};
use threadline_protocol::check::{self, Finding, Usage};
use threadline_protocol::codec::Place;

pub(super) fn write(checked: &Checked, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Document::new(checked))?;
    writeln!(out)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    input: &'a str,
    verdict: &'static str,
    events: u64,
    readable: u64,
    errors: u64,
    warnings: u64,
    notes: u64,
    findings: Vec<Found<'a>>,
    omitted: u64,
    coverage: Coverage,
}

#[derive(Serialize)]
struct Found<'a> {
    severity: &'static str,
    code: &'static str,
    family: &'static str,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    event_type: Option<&'a str>,
    path: &'a str,
    message: &'a str,
    advice: &'a str,
    count: u64,
    places: Vec<PlaceIn>,
}

#[derive(Serialize)]
struct PlaceIn {
    event: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    offset: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Coverage {
    event_types: Vec<Used>,
    thinking_types: Vec<Used>,
    roles: Vec<Used>,
    structures: Vec<Used>,
}

#[derive(Serialize)]
struct Used {
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    family: Option<&'static str>,
    used: u64,
    deviating: u64,
}

impl<'a> Document<'a> {
    fn new(checked: &'a Checked) -> Self {
        let report = &checked.report;
        let found = |finding: &'a Finding| Found {
            severity: finding.severity.name(),
            code: finding.code.name(),
            family: finding.family.name(),
            event_type: finding.event_type.as_deref(),
            path: &finding.path,
            message: &finding.message,
            advice: &finding.advice,
            count: finding.count,
            places: checked.places(finding).into_iter().flatten().map(PlaceIn::from).collect(),
        };
        Self {
            input: &checked.input,
            verdict: report.verdict.name(),
            events: report.events,
            readable: report.readable,
            errors: report.errors,
            warnings: report.warnings,
            notes: report.notes,
            findings: report.findings.iter().map(found).collect(),
            omitted: report.omitted,
            coverage: Coverage::from(&report.coverage),
        }
    }
}

impl From<&check::Coverage> for Coverage {
    fn from(coverage: &check::Coverage) -> Self {
        Self {
            event_types: used(&coverage.event_types),
            thinking_types: used(&coverage.thinking_types),
            roles: used(&coverage.roles),
            structures: used(&coverage.structures),
        }
    }
}

impl From<Place> for PlaceIn {
    fn from(place: Place) -> Self {
        Self { event: place.event, line: place.line, offset: place.offset }
    }
}

fn used(usages: &[Usage]) -> Vec<Used> {
    let used = |usage: &Usage| Used {
        name: usage.name,
        family: usage.family.map(|family| family.name()),
        used: usage.used,
        deviating: usage.deviating,
    };
    usages.iter().map(used).collect()
}
