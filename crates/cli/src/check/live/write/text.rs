//! The report for people.

use super::super::finding::{Area, Finding};
use super::super::outcome::Outcome;
use super::headline;
use crate::check::paint::Paint;
use crate::check::text::write_coverage;
use crate::report::printable;
use std::io::{self, Write};

/// How many types are listed of those that do the same.
const TYPES_MAX: usize = 6;

pub(super) fn write(outcome: &Outcome, paint: Paint, out: &mut impl Write) -> io::Result<()> {
    let verdict = paint.verdict(outcome.verdict, outcome.verdict.name());
    writeln!(out, "{}: {verdict}: {}", paint.bold(&printable(&outcome.url)), headline(outcome))?;
    write_summary(outcome, paint, out)?;
    for area in Area::ALL {
        let findings: Vec<&Finding> = outcome.findings.iter().filter(|it| it.area == *area).collect();
        if !findings.is_empty() {
            writeln!(out, "\n{}", paint.bold(area.name()))?;
        }
        for finding in findings {
            write_finding(finding, paint, out)?;
        }
    }
    write_coverage(&outcome.coverage, paint, out)
}

fn write_summary(outcome: &Outcome, paint: Paint, out: &mut impl Write) -> io::Result<()> {
    let line = |area: &str, observed: &str, v1: &str, v0: &str| {
        format!("  {area:<15}{observed:<27}{v1:<32}{v0}").trim_end().to_owned()
    };
    writeln!(out, "\n{}", paint.bold(&line("", "observed", "for clients of 1.0", "for clients of 0.x")))?;
    for row in &outcome.summary {
        writeln!(out, "{}", line(row.area.name(), &row.observed, &row.v1.text(), &row.v0.text()))?;
    }
    Ok(())
}

fn write_finding(finding: &Finding, paint: Paint, out: &mut impl Write) -> io::Result<()> {
    let severity = paint.severity(finding.severity, &format!("{:<7}", finding.severity.name()));
    let mut what: Vec<String> = Vec::new();
    if !finding.types.is_empty() {
        let more = finding.types.len().saturating_sub(TYPES_MAX);
        let shown: Vec<String> = finding.types.iter().take(TYPES_MAX).map(|name| printable(name)).collect();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        what.push(paint.bold(&(shown.join(", ") + &more)));
    }
    if !matches!(finding.path.as_str(), "" | "/type") {
        what.push(printable(&finding.path));
    }
    what.push(printable(&finding.message));
    what.push(paint.dim(&format!("[{}]", finding.rule)));
    writeln!(out, "  {severity}  {}", what.join("  "))?;
    let times = if finding.count == 1 { String::new() } else { format!("{} times: ", finding.count) };
    for (nth, evidence) in finding.evidence.iter().enumerate() {
        let times = if nth == 0 { times.as_str() } else { "" };
        let frame = evidence.frame.map(|frame| format!(", frame {frame}")).unwrap_or_default();
        let whence = paint.dim(&format!("{times}{}{frame}:", printable(&evidence.request)));
        writeln!(out, "           {whence} {}", printable(&evidence.text))?;
    }
    writeln!(out, "           AG-UI ({}): {}", finding.affects.eras().join(" and "), finding.says)?;
    writeln!(out, "           -> {}", printable(&finding.remedy))
}
