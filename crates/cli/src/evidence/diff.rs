//! `threadline evidence diff`

use super::args::DiffArgs;
use super::files;
use crate::args::ReportFormat;
use crate::report::{Failure, Report, Severity, printable};
use serde_json::json;
use std::path::Path;
use threadline_evidence::diff::{Difference, FieldChange, MessageChange, diff};
use threadline_evidence::{Artifact, check};

pub(super) fn run(args: &DiffArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let (left, right) = (artifact(&args.left)?, artifact(&args.right)?);
    let difference = diff(&left, &right);
    if !difference.is_empty() {
        report.count(Severity::Finding);
    }
    match args.format {
        ReportFormat::Text => files::print(&text(&difference)),
        ReportFormat::Json => {
            let Difference { fields, messages } = &difference;
            let same = difference.is_empty();
            files::print(&format!("{}\n", json!({"same": same, "fields": fields, "messages": messages})))
        }
    }
}

/// Only artifacts can be compared.
fn artifact(path: &Path) -> Result<Artifact, Failure> {
    check(&files::read(path)?).map_err(|refused| Failure::invalid(path, &format!("no artifact: {refused}")))
}

fn text(difference: &Difference<'_>) -> String {
    let mut lines: Vec<String> = difference.fields.iter().map(changed).collect();
    for message in &difference.messages {
        match message {
            MessageChange::Removed { left, id } => lines.push(format!("- message {left} {id}")),
            MessageChange::Added { right, id } => lines.push(format!("+ message {right} {id}")),
            MessageChange::Changed { left, right, id, members } => {
                lines.push(format!("~ message {left} -> {right} {id}"));
                lines.extend(members.iter().map(|member| format!("    {}", changed(member))));
            }
        }
    }
    lines.iter().map(|line| printable(line) + "\n").collect()
}

fn changed(change: &FieldChange<'_>) -> String {
    let shown = |value: Option<&str>| value.map_or("(absent)".to_owned(), |value| json!(value).to_string());
    format!("{}: {} -> {}", change.field, shown(change.left), shown(change.right))
}
