//! The report for people.

use super::Checked;
use super::paint::Paint;
use crate::report::printable;
use std::io::{self, Write};
use threadline_protocol::check::{CheckReport, Coverage, Family, Finding, Usage, Verdict};
use threadline_protocol::codec::Place;

/// Lists are broken at this column.
const WIDTH: usize = 110;

/// How many types are listed of those about which the same is to be said.
const TYPES_MAX: usize = 6;

/// How many places are listed.
const PLACES_MAX: usize = 5;

pub(super) fn write(checked: &Checked, paint: Paint, out: &mut impl Write) -> io::Result<()> {
    let report = &checked.report;
    let verdict = paint.verdict(report.verdict, report.verdict.name());
    let input = printable(&checked.input);
    writeln!(out, "{}: {verdict}: {}", paint.bold(&input), summary(report))?;
    for family in Family::ALL {
        let findings = merged(checked, *family);
        if !findings.is_empty() {
            writeln!(out, "\n{}", paint.bold(family.name()))?;
        }
        for finding in &findings {
            write_finding(finding, paint, out)?;
        }
    }
    if report.omitted > 0 {
        writeln!(out, "\nand {} more, of kinds too many to list", report.omitted)?;
    }
    if report.readable > 0 { write_coverage(&report.coverage, paint, out) } else { Ok(()) }
}

pub(super) fn summary(report: &CheckReport) -> String {
    let mut counts: Vec<String> = [
        (report.errors, "error", "errors"),
        (report.warnings, "warning", "warnings"),
        (report.notes, "note", "notes"),
    ]
    .into_iter()
    .filter(|(count, _, _)| *count > 0)
    .map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many }))
    .collect();
    if counts.is_empty() {
        counts.push("nothing wrong".to_owned());
    }
    let events = match report.events {
        1 => "1 event".to_owned(),
        events => format!("{events} events"),
    };
    match report.verdict {
        Verdict::Unreadable if report.events == 0 => "there are no events".to_owned(),
        Verdict::Unreadable => format!("{} in {events}, none of which could be read", counts.join(", ")),
        _ => format!("{} in {events}", counts.join(", ")),
    }
}

/// Findings that say the same of several types.
pub(super) struct Merged<'a> {
    pub(super) finding: &'a Finding,
    pub(super) types: Vec<&'a str>,
    count: u64,
    places: Vec<Place>,
}

pub(super) fn merged(checked: &Checked, family: Family) -> Vec<Merged<'_>> {
    let mut all: Vec<Merged<'_>> = Vec::new();
    for finding in checked.report.findings.iter().filter(|finding| finding.family == family) {
        let is_same = |other: &&mut Merged<'_>| {
            let other = other.finding;
            (other.severity, other.code) == (finding.severity, finding.code)
                && (other.path == finding.path)
                && (other.message == finding.message)
                && (other.advice == finding.advice)
        };
        let places = checked.places(finding).into_iter().flatten();
        match all.iter_mut().find(is_same) {
            Some(merged) => {
                merged.types.extend(finding.event_type.as_deref());
                merged.count += finding.count;
                merged.places.extend(places);
            }
            None => all.push(Merged {
                finding,
                types: finding.event_type.as_deref().into_iter().collect(),
                count: finding.count,
                places: places.collect(),
            }),
        }
    }
    for merged in &mut all {
        merged.places.sort_by_key(|place| place.offset);
        merged.places.dedup();
        merged.places.truncate(PLACES_MAX);
    }
    all
}

fn write_finding(merged: &Merged<'_>, paint: Paint, out: &mut impl Write) -> io::Result<()> {
    let finding = merged.finding;
    let severity = paint.severity(finding.severity, &format!("{:<7}", finding.severity.name()));
    let mut what: Vec<String> = Vec::new();
    if !merged.types.is_empty() {
        let more = merged.types.len().saturating_sub(TYPES_MAX);
        let shown: Vec<String> = merged.types.iter().take(TYPES_MAX).map(|name| printable(name)).collect();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        what.push(paint.bold(&(shown.join(", ") + &more)));
    }
    // That it is about the type can be seen.
    if !matches!(finding.path.as_str(), "" | "/type") {
        what.push(printable(&finding.path));
    }
    what.push(paint.dim(&whereabouts(merged)));
    writeln!(out, "  {severity}  {}", what.join("  "))?;
    let code = paint.dim(&format!("[{}]", finding.code.name()));
    writeln!(out, "           {} {code}", printable(&finding.message))?;
    writeln!(out, "           -> {}", printable(&finding.advice))
}

/// How often, and where: `3 times: lines 4, 7, 9`.
pub(super) fn whereabouts(merged: &Merged<'_>) -> String {
    let times = if merged.count == 1 { String::new() } else { format!("{} times: ", merged.count) };
    let places = match merged.places.as_slice() {
        [] => "at the end".to_owned(),
        [place] => place.to_string(),
        places => {
            let (kind, number): (_, fn(&Place) -> u64) = match places.first().and_then(|place| place.line) {
                Some(_) => ("lines", |place| place.line.unwrap_or_default()),
                None => ("events", |place| place.event),
            };
            let numbers: Vec<String> = places.iter().map(|place| number(place).to_string()).collect();
            // Several may be in one event, so that the number of places tells nothing.
            let more = if places.len() == PLACES_MAX { ", ..." } else { "" };
            format!("{kind} {}{more}", numbers.join(", "))
        }
    };
    format!("{times}{places}")
}

pub(super) fn write_coverage(coverage: &Coverage, paint: Paint, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\n{}", paint.bold("what of AG-UI 1.0 is used"))?;
    writeln!(out, "  event types: {}", share(&coverage.event_types))?;
    for family in Family::ALL {
        let usages: Vec<&Usage> =
            coverage.event_types.iter().filter(|usage| usage.family == Some(*family)).collect();
        if !usages.is_empty() {
            write_usages(family.name(), &usages, paint, out)?;
        }
    }
    if coverage.thinking_types.iter().any(|usage| usage.used > 0) {
        write_usages("of 0.x", &coverage.thinking_types.iter().collect::<Vec<_>>(), paint, out)?;
    }
    writeln!(out, "  roles: {}", share(&coverage.roles))?;
    write_usages("", &coverage.roles.iter().collect::<Vec<_>>(), paint, out)?;
    writeln!(out, "  structures: {}", share(&coverage.structures))?;
    write_usages("", &coverage.structures.iter().collect::<Vec<_>>(), paint, out)
}

fn share(usages: &[Usage]) -> String {
    let used = usages.iter().filter(|usage| usage.used > 0).count();
    let correct = usages.iter().filter(|usage| usage.is_correct()).count();
    format!("{used} of {} used, {correct} correctly", usages.len())
}

/// The used ones first, then those that are not, on as many lines as they need.
fn write_usages(title: &str, usages: &[&Usage], paint: Paint, out: &mut impl Write) -> io::Result<()> {
    let (used, unused): (Vec<&Usage>, Vec<&Usage>) = usages.iter().partition(|usage| usage.used > 0);
    let mut words: Vec<(String, bool)> = Vec::new();
    for usage in &used {
        let word = match usage.deviating {
            0 => format!("{} {}", usage.name, usage.used),
            wrong => format!("{} {} ({wrong} wrong)", usage.name, usage.used),
        };
        words.push((word, usage.deviating == 0));
    }
    let title = if title.is_empty() { String::new() } else { format!("{:<13}", format!("{title}:")) };
    let indent = 4 + title.len();
    write!(out, "    {title}")?;
    let mut column = indent;
    let mut separator = "";
    for (word, is_right) in &words {
        column = advance(column, separator.len() + word.chars().count(), indent, &mut separator, out)?;
        let shown = if *is_right { paint.right(word) } else { paint.wrong(word) };
        write!(out, "{separator}{shown}")?;
        separator = ", ";
    }
    if !unused.is_empty() {
        if !used.is_empty() {
            separator = "; ";
        }
        for (at, usage) in unused.iter().enumerate() {
            let word = if at == 0 { format!("not used: {}", usage.name) } else { usage.name.to_owned() };
            column = advance(column, separator.len() + word.chars().count(), indent, &mut separator, out)?;
            write!(out, "{separator}{}", paint.dim(&word))?;
            separator = ", ";
        }
    }
    writeln!(out)
}

/// Begins another line if what comes does not fit on this one. The column after it.
fn advance(
    column: usize,
    len: usize,
    indent: usize,
    separator: &mut &'static str,
    out: &mut impl Write,
) -> io::Result<usize> {
    if column + len < WIDTH || column == indent {
        return Ok(column + len);
    }
    writeln!(out, "{}", separator.trim_end())?;
    write!(out, "{:indent$}", "")?;
    let len = len - separator.len();
    *separator = "";
    Ok(indent + len)
}
