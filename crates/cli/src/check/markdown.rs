//! The report as a document, to be put beside the code.

use super::Checked;
use super::text::{merged, summary, whereabouts};
use crate::report::printable;
use std::io::{self, Write};
use threadline_protocol::check::Family;

pub(super) fn write(checked: &Checked, out: &mut impl Write) -> io::Result<()> {
    let report = &checked.report;
    writeln!(out, "# AG-UI check: {}\n", inline(&checked.input))?;
    writeln!(out, "**{}**: {}.", report.verdict.name(), summary(report))?;
    for family in Family::ALL {
        let findings = merged(checked, *family);
        if findings.is_empty() {
            continue;
        }
        writeln!(out, "\n## {family}\n\n| severity | code | what | where | to do |\n|---|---|---|---|---|")?;
        for merged in &findings {
            let finding = merged.finding;
            let types: Vec<String> = merged.types.iter().map(|name| inline(name)).collect();
            let about = if types.is_empty() { String::new() } else { format!("{}: ", types.join(", ")) };
            let path =
                if finding.path.is_empty() { String::new() } else { format!("{}, ", inline(&finding.path)) };
            writeln!(
                out,
                "| {} | `{}` | {about}{} | {path}{} | {} |",
                finding.severity.name(),
                finding.code.name(),
                cell(&finding.message),
                whereabouts(merged),
                cell(&finding.advice),
            )?;
        }
    }
    if report.omitted > 0 {
        writeln!(out, "\nAnd {} more, of kinds too many to list.", report.omitted)?;
    }
    Ok(())
}

/// Text on one line in which nothing is markup but `code`, which messages quote names in.
pub(super) fn cell(text: &str) -> String {
    let text = printable(text);
    // One that nothing ends would let everything behind it through.
    let is_balanced = text.matches('`').count().is_multiple_of(2);
    let mut out = String::with_capacity(text.len());
    let mut is_code = false;
    for letter in text.chars() {
        is_code ^= letter == '`' && is_balanced;
        let is_markup = match letter {
            '|' => true,
            '`' => !is_balanced,
            letter => !is_code && matches!(letter, '<' | '>' | '[' | ']' | '*' | '_' | '\\' | '#' | '!'),
        };
        if is_markup {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

/// A name, in which nothing is markup.
pub(super) fn inline(text: &str) -> String {
    let text = printable(text).replace('|', "\\|");
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

/// A frame as it came, but for what cannot be seen.
pub(super) fn fenced(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", printable(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_others_is_markup() {
        assert_eq!(cell("a|<b>\n*c*"), "a\\|\\<b\\>\\\\n\\*c\\*");
        assert_eq!(cell("`a_b` is *`c_d`*"), "`a_b` is \\*`c_d`\\*");
        assert_eq!(cell("a ` <b>"), "a \\` \\<b\\>");
        assert_eq!((inline("a|b").as_str(), inline("a`b").as_str()), ("`a\\|b`", "`` a`b ``"));
        assert_eq!(fenced("a ``` b"), "````\na ``` b\n````");
    }
}
