//! The report as SARIF 2.1.0, for code scanning.

use super::Checked;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};
use threadline_protocol::check::Finding;
use threadline_protocol::codec::Place;

pub(super) fn write(checked: &Checked, out: &mut impl Write) -> io::Result<()> {
    let rules = checked.report.findings.iter().map(|finding| RuleIn {
        name: finding.code.name(),
        summary: finding.code.summary(),
        help: finding.code.advice(),
    });
    let results: Vec<Value> =
        checked.report.findings.iter().flat_map(|finding| results(checked, finding)).collect();
    write_document(rules, &results, out)
}

/// A rule that is broken.
#[derive(Clone, Copy, Debug)]
pub(super) struct RuleIn<'a> {
    pub(super) name: &'a str,
    pub(super) summary: &'a str,
    pub(super) help: &'a str,
}

/// Writes results, and the rules that they name, each once.
pub(super) fn write_document<'a>(
    rules: impl Iterator<Item = RuleIn<'a>>,
    results: &[Value],
    out: &mut impl Write,
) -> io::Result<()> {
    let rules: BTreeMap<&str, Value> = rules.map(|rule| (rule.name, described(rule))).collect();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "threadline",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": "https://docs.ag-ui.com",
                "rules": rules.into_values().collect::<Vec<_>>(),
            }},
            "results": results,
        }],
    });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

fn described(RuleIn { name, summary, help }: RuleIn<'_>) -> Value {
    json!({
        "id": name,
        "shortDescription": {"text": summary},
        "help": {"text": help},
    })
}

/// A result a place: code scanning shows one place of each.
fn results(checked: &Checked, finding: &Finding) -> Vec<Value> {
    let about = finding.event_type.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    let at = if finding.path.is_empty() { String::new() } else { format!(" at {}", finding.path) };
    let text = format!("{about}{}{at}. To do: {}.", finding.message, finding.advice);
    let result = |place: Option<Place>| {
        json!({
            "ruleId": finding.code.name(),
            "level": finding.severity.name(),
            "message": {"text": text},
            "locations": [location(&checked.input, finding, place)],
            "properties": {"family": finding.family.name(), "count": finding.count},
        })
    };
    checked.places(finding).into_iter().map(result).collect()
}

fn location(input: &str, finding: &Finding, place: Option<Place>) -> Value {
    let mut physical = json!({"artifactLocation": {"uri": uri(input)}});
    let name = match place {
        Some(place) => {
            physical["region"] = match place.line {
                Some(line) => json!({"startLine": line}),
                None => json!({"byteOffset": place.offset}),
            };
            format!("event {}", place.event)
        }
        None => "end of the stream".to_owned(),
    };
    let full = format!("{name}{}", finding.path);
    json!({
        "physicalLocation": physical,
        "logicalLocations": [{"name": name, "fullyQualifiedName": full}],
    })
}

/// A file name as a relative reference.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
