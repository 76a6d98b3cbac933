//! The report as a document, to be put beside the code.

use super::super::finding::{Area, Finding};
use super::super::outcome::Outcome;
use super::headline;
use crate::check::markdown::{cell, fenced, inline};
use std::io::{self, Write};

pub(super) fn write(outcome: &Outcome, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "# AG-UI drift report: {}\n", inline(&outcome.url))?;
    writeln!(out, "**{}**: {}.\n", outcome.verdict.name(), headline(outcome))?;
    writeln!(out, "| area | observed | for clients of 1.0 | for clients of 0.x |\n|---|---|---|---|")?;
    for row in &outcome.summary {
        writeln!(out, "| {} | {} | {} | {} |", row.area.name(), row.observed, row.v1.text(), row.v0.text())?;
    }
    for area in Area::ALL {
        let findings: Vec<&Finding> = outcome.findings.iter().filter(|it| it.area == *area).collect();
        if !findings.is_empty() {
            writeln!(out, "\n## {}", area.name())?;
        }
        for finding in findings {
            write_finding(finding, out)?;
        }
    }
    writeln!(out, "\n## what was asked\n\n| request | answer | frames |\n|---|---|---|")?;
    for asked in &outcome.asked {
        writeln!(out, "| {} | {} | {} |", cell(&asked.name), cell(&asked.answer), asked.frames)?;
    }
    Ok(())
}

fn write_finding(finding: &Finding, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\n### {}: `{}`\n", finding.severity.name(), finding.rule)?;
    let types: Vec<String> = finding.types.iter().map(|name| inline(name)).collect();
    let about = if types.is_empty() { String::new() } else { format!("{}: ", types.join(", ")) };
    let at = if finding.path.is_empty() { String::new() } else { format!(" at {}", inline(&finding.path)) };
    let times = if finding.count == 1 { String::new() } else { format!(", {} times", finding.count) };
    writeln!(out, "{about}{}{at}{times}.\n", cell(&finding.message))?;
    for evidence in &finding.evidence {
        let frame = evidence.frame.map(|frame| format!(", frame {frame}")).unwrap_or_default();
        writeln!(out, "{}{frame}:\n\n{}\n", cell(&evidence.request), fenced(&evidence.text))?;
    }
    writeln!(out, "- AG-UI ({}): {}", finding.affects.eras().join(" and "), cell(&finding.says))?;
    writeln!(out, "- to do: {}", cell(&finding.remedy))
}
