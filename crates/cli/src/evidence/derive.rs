//! `threadline evidence derive`

use super::args::DeriveArgs;
use super::raw::{Raw, logged, recorded, told_chain};
use super::{files, raw};
use crate::args::ReportFormat;
use crate::report::{Failure, Report, Severity};
use std::collections::BTreeMap;
use std::fs;
use threadline_evidence::{DOES_NOT_CLAIM, Derived, Refused, Statement, Times};

pub(super) fn run(args: &DeriveArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let Raw { derived, kind, scope, chain } = raw(args, report)?;
    let derived = match derived {
        Ok(derived) => derived,
        Err(refused) => {
            tell_refused(&refused, args.format, report);
            return Ok(());
        }
    };
    if let Some(path) = &args.statement {
        let chain = match chain {
            None => told_chain(&args.run, &derived)?,
            chain => chain,
        };
        let statement = Statement::about(&derived, kind, scope, chain);
        fs::write(path, statement.to_json()).map_err(Failure::write)?;
    }
    files::print(&derived.artifact.to_json())?;
    tell_derived(&derived, args.format, report);
    Ok(())
}

fn raw(args: &DeriveArgs, report: &mut Report<'_>) -> Result<raw::Raw, Failure> {
    if let (Some(thread), Some(run)) = (&args.run.thread, &args.run.run) {
        return logged(&args.run, thread, run);
    }
    let times = match &args.started_at {
        Some(started_at) => {
            Times::Given { started_at: started_at.clone(), finished_at: args.finished_at.clone() }
        }
        None => Times::OfEvents,
    };
    recorded(&args.source, times, report)
}

/// Says why there is no artifact, a line for each reason.
pub(super) fn tell_refused(refused: &Refused, format: ReportFormat, report: &mut Report<'_>) {
    for refusal in refused.refusals() {
        report.count(Severity::Finding);
        match format {
            ReportFormat::Text => report.warn(&format!("refused: {refusal}")),
            ReportFormat::Json => report.tell(&serde_json::json!(refusal).to_string()),
        }
    }
}

/// Says what is beside the artifact, and what is not in it.
fn tell_derived(derived: &Derived, format: ReportFormat, report: &mut Report<'_>) {
    let Derived { range, dropped, clock, raw_bytes, .. } = derived;
    if format == ReportFormat::Json {
        let told = serde_json::json!({
            "raw": range, "rawBytes": raw_bytes, "dropped": dropped, "clock": clock, "doesNotClaim": DOES_NOT_CLAIM,
        });
        return report.tell(&told.to_string());
    }
    let counted = |counts: &BTreeMap<String, u64>| match counts.is_empty() {
        true => "nothing".to_owned(),
        false => {
            let each: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
            each.join(", ")
        }
    };
    let (first, last, count) = (range.first, range.last, range.count);
    report.warn(&format!("derived from {count} events, {raw_bytes} bytes, offsets {first} to {last}; times by the clock of: {clock}"));
    report.warn(&format!(
        "dropped events: {}; members: {}",
        counted(&dropped.events),
        counted(&dropped.members)
    ));
    for claim in DOES_NOT_CLAIM {
        report.warn(&format!("does not claim {claim}"));
    }
}
