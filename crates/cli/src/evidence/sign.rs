//! `threadline evidence sign`

use super::args::SignArgs;
use super::derive::tell_refused;
use super::files;
use crate::args::ReportFormat;
use crate::report::{Failure, Report, Severity};
use threadline_evidence::{Envelope, SigningKey, Statement, check};

/// Signs a statement, if it is about the artifact, and the artifact is one.
pub(super) fn run(args: &SignArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let artifact = files::read(&args.artifact)?;
    let written = files::read(&args.statement)?;
    let statement = Statement::read(&written).map_err(|error| Failure::invalid(&args.statement, &error))?;
    let key = SigningKey::from_pem(&files::read_text(&args.key)?);
    let key = key.map_err(|error| Failure::invalid(&args.key, &error))?;
    if let Err(refused) = check(&artifact) {
        tell_refused(&refused, ReportFormat::Text, report);
        return Ok(());
    }
    let differences = statement.differences_from_artifact(&artifact);
    if !differences.is_empty() {
        report.count(Severity::Finding);
        report.warn(&format!(
            "not signed: the statement is about other bytes. members={}",
            differences.join(",")
        ));
        return Ok(());
    }
    files::print(&Envelope::sign(&written, &key).to_json())
}
