//! The report as SARIF 2.1.0, for code scanning.

use super::super::finding::{Evidence, Finding};
use super::super::outcome::Outcome;
use crate::check::sarif::{self, RuleIn};
use serde_json::{Value, json};
use std::io::{self, Write};

pub(super) fn write(outcome: &Outcome, out: &mut impl Write) -> io::Result<()> {
    let rules = outcome.findings.iter().map(|finding| RuleIn {
        name: finding.rule,
        summary: finding.summary,
        help: &finding.says,
    });
    let results: Vec<Value> = outcome.findings.iter().map(|finding| result(outcome, finding)).collect();
    sarif::write_document(rules, &results, out)
}

/// One a finding: an endpoint has no lines, and its evidence belongs together.
fn result(outcome: &Outcome, finding: &Finding) -> Value {
    let about = match finding.types.as_slice() {
        [] => String::new(),
        types => format!("{}: ", types.join(", ")),
    };
    let at = if finding.path.is_empty() { String::new() } else { format!(" at {}", finding.path) };
    let text = format!("{about}{}{at}. AG-UI: {}. To do: {}.", finding.message, finding.says, finding.remedy);
    let location = |Evidence { request, frame, text }: &Evidence| {
        let name = match frame {
            Some(frame) => format!("{request}, frame {frame}"),
            None => request.clone(),
        };
        json!({
            "physicalLocation": {"artifactLocation": {"uri": outcome.url}},
            "logicalLocations": [{"name": name, "fullyQualifiedName": format!("{name}{}", finding.path)}],
            "message": {"text": text},
        })
    };
    json!({
        "ruleId": finding.rule,
        "level": finding.severity.name(),
        "message": {"text": text},
        "locations": finding.evidence.iter().map(location).collect::<Vec<_>>(),
        "properties": {"area": finding.area.name(), "affects": finding.affects.eras(), "count": finding.count},
    })
}
