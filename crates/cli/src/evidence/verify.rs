//! `threadline evidence verify`

use super::args::VerifyArgs;
use super::raw::{Raw, logged, recorded};
use super::{chain, files};
use crate::args::{ReportFormat, SourceArgs};
use crate::report::{Failure, Report, Severity, printable};
use threadline_evidence::verify::{Claim, Outcome, Verdict, Verification};
use threadline_evidence::{PublicKey, Statement};

pub(super) fn run(args: &VerifyArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let artifact = files::read(&args.artifact)?;
    let envelope = args.envelope.as_deref().map(files::read).transpose()?;
    let statement = args.statement.as_deref().map(files::read).transpose()?;
    let claim = match (&envelope, &statement) {
        (Some(bytes), _) => Claim::Envelope(bytes),
        (None, Some(bytes)) => Claim::Statement(bytes),
        (None, None) => Claim::Nothing,
    };
    let trusted = args.keys.iter().map(|path| {
        PublicKey::from_pem(&files::read_text(path)?).map_err(|error| Failure::invalid(path, &error))
    });
    let trusted = trusted.collect::<Result<Vec<_>, _>>()?;
    let mut verification = Verification::new(&artifact, claim, &trusted);
    if let Some(raw) = raw(args, &verification, report)? {
        verification.rederive(&raw.derived, raw.kind, raw.scope);
    }
    if let Some(thread) = &args.run.thread {
        let said = verification.statement().and_then(Statement::chain);
        let (outcome, detail) = chain::recheck(&args.run, thread, said)?;
        verification.chain(outcome, detail);
    }
    let verdict = verification.verdict();
    for finding in &verdict.levels {
        let is_required = args.require.iter().any(|level| level.level() == finding.level);
        if finding.outcome == Outcome::Failed || (is_required && finding.outcome != Outcome::Passed) {
            report.count(Severity::Finding);
        }
    }
    match args.format {
        ReportFormat::Text => files::print(&text(&verdict)),
        ReportFormat::Json => files::print(&format!("{}\n", serde_json::json!(verdict))),
    }
}

/// What the raw events give, if somebody has said where they are.
fn raw(
    args: &VerifyArgs,
    verification: &Verification<'_>,
    report: &mut Report<'_>,
) -> Result<Option<Raw>, Failure> {
    if let (Some(thread), Some(run)) = (&args.run.thread, &args.run.run) {
        return logged(&args.run, thread, run).map(Some);
    }
    let Some(input) = args.raw.clone() else { return Ok(None) };
    let source = SourceArgs { input, from: args.from };
    recorded(&source, verification.times(), report).map(Some)
}

fn text(verdict: &Verdict) -> String {
    let mut lines: Vec<String> = verdict
        .levels
        .iter()
        .map(|finding| {
            let (level, outcome) = (finding.level.name(), finding.outcome.name());
            format!("{level:<9}  {outcome:<11}  {}", finding.detail)
        })
        .collect();
    lines.extend(verdict.does_not_claim.iter().map(|claim| format!("does not claim {claim}")));
    lines.iter().map(|line| printable(line) + "\n").collect()
}
