//! `GET /v1/threads/{thread}/runs/{run}/findings`: what is wrong with a run, as its source has said it.

use super::parameters::Name;
use crate::access::Caller;
use crate::app::App;
use crate::error::{Code, Refusal};
use crate::input::run_of_query;
use crate::openapi::{Operation, shapes};
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use serde_json::{Value, json};
use std::collections::HashMap;
use threadline_log::record::{Kind, Record};
use threadline_protocol::Received;
use threadline_protocol::check::{CheckReport, Checker, Finding, Severity, Verdict};
use threadline_protocol::event::Event;

/// About how many bytes of records are looked at together.
const PAGE_BYTES: usize = 1024 * 1024;

/// What is said about it.
pub(super) fn about() -> Operation {
    let severities = [Severity::Error, Severity::Warning, Severity::Note].map(Severity::name);
    let finding = [
        ("severity", shapes::word(&severities)),
        ("code", shapes::text()),
        ("path", shapes::text()),
        ("message", shapes::text()),
        ("advice", shapes::text()),
        ("count", shapes::count()),
        ("offsets", shapes::list(shapes::count())),
    ];
    let finding = shapes::object(&finding, &[("type", shapes::text())]);
    let verdicts =
        [Verdict::Conformant, Verdict::Warnings, Verdict::Drift, Verdict::Severe, Verdict::Unreadable];
    let members = [
        ("threadId", shapes::id()),
        ("runId", shapes::id()),
        ("verdict", shapes::word(&verdicts.map(Verdict::name))),
        ("findings", shapes::list(shapes::named("Finding", finding))),
        ("omitted", shapes::count()),
    ];
    Operation::new("What is wrong with a run, as threadline check finds it")
        .answers_json(
            "The findings, with the offsets of the first few records of each.",
            shapes::object(&members, &[]),
        )
        .reads()
        .refuses(&[Code::ThreadNotFound, Code::RunNotFound, Code::Trimmed, Code::Compacted])
}

/// What is wrong with what the source of a run has said. Of a run that goes on, so far.
pub(super) async fn findings(
    State(app): State<App>,
    caller: Caller,
    Name((thread, run)): Name<(String, String)>,
    headers: HeaderMap,
) -> Result<Json<Value>, Refusal> {
    let thread = app.thread_named(&caller, &headers, &thread)?;
    let engine = app.engine();
    let run = engine.run_named(&thread, &run_of_query(&run)?).await?;
    let (mut checked, mut next) = (Checked::default(), run.offsets.start);
    while next < run.offsets.end {
        let page = engine.read(&thread, next..run.offsets.end, Some(run.no), PAGE_BYTES).await?;
        page.records.iter().for_each(|record| checked.push(record));
        next = page.next;
    }
    let report = checked.finish(run.is_running());
    Ok(Json(json!({
        "threadId": thread.thread.as_str(),
        "runId": run.id.as_str(),
        "verdict": report.verdict,
        "findings": report.findings,
        "omitted": report.omitted,
    })))
}

/// A check that knows which record each event was.
#[derive(Debug, Default)]
struct Checked {
    checker: Checker,
    position: u64,
    /// The start that was made, until it is known whether the source has one of its own.
    start: Option<Record>,
    offsets: HashMap<u64, u64>,
}

struct Found {
    verdict: &'static str,
    findings: Vec<Value>,
    omitted: u64,
}

impl Checked {
    fn push(&mut self, record: &Record) {
        if record.kind == Kind::Made && self.position == 0 && self.start.is_none() && is_start(record) {
            self.start = Some(record.clone());
            return;
        }
        if let Some(start) = self.start.take().filter(|_| !is_start(record)) {
            self.check(&start);
        }
        self.check(record);
    }

    fn check(&mut self, record: &Record) {
        let is_named = match std::str::from_utf8(&record.bytes) {
            Ok(json) => self.checker.push(json),
            Err(error) => self.checker.push_unreadable(&error.to_string()),
        };
        if is_named {
            self.offsets.insert(self.position, record.offset);
        }
        self.position += 1;
    }

    fn finish(mut self, goes_on: bool) -> Found {
        if let Some(start) = self.start.take() {
            self.check(&start);
        }
        let CheckReport { verdict, mut findings, omitted, .. } = self.checker.finish();
        if goes_on {
            // What is missing at the end may come.
            findings.retain(|found| found.positions.iter().any(|position| *position < self.position));
        }
        let shown = |found: &Finding| {
            let offsets: Vec<u64> =
                found.positions.iter().filter_map(|position| self.offsets.get(position)).copied().collect();
            let mut shown = json!({
                "severity": found.severity.name(), "code": found.code.name(), "path": found.path,
                "message": found.message, "advice": found.advice, "count": found.count, "offsets": offsets,
            });
            if let Some(event_type) = &found.event_type {
                shown["type"] = event_type.as_str().into();
            }
            shown
        };
        Found { verdict: verdict.name(), findings: findings.iter().map(shown).collect(), omitted }
    }
}

fn is_start(record: &Record) -> bool {
    let text = std::str::from_utf8(&record.bytes).ok();
    text.and_then(|text| Received::read(text).ok())
        .is_some_and(|received| matches!(received.event(), Event::RunStarted(_)))
}
