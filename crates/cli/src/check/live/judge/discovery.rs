//! What the agent says of itself.

use super::super::exchange::{Exchange, HttpAnswer};
use super::super::finding::{Evidence, Finding};
use super::super::rule::Rule;
use super::super::step::Step;
use super::super::survey::is_taken;
use super::of;
use serde_json::Value;
use threadline_protocol::capabilities::AgentCapabilities;

pub(super) fn judge(exchanges: &[Exchange]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for visit in of(exchanges, Step::Visit) {
        if visit.http().is_some_and(|answer| answer.status >= 500) {
            let message = "GET on the URL is answered by a server error";
            findings.push(Finding::new(Rule::UrlFails, message, Evidence::head(visit)));
        }
    }
    let answered =
        of(exchanges, Step::Capabilities).find_map(|exchange| Some((exchange, document(exchange)?)));
    match answered {
        Some((exchange, answer)) => findings.extend(judge_document(exchanges, exchange, answer)),
        None => {
            if let Some(exchange) = of(exchanges, Step::Capabilities).find(|exchange| exchange.is_answered())
            {
                let message = "there are no capabilities";
                findings.push(Finding::new(Rule::NoCapabilities, message, Evidence::head(exchange)));
            }
        }
    }
    findings
}

/// An answer that is meant to be capabilities: a page for every path is not.
fn document(exchange: &Exchange) -> Option<&HttpAnswer> {
    let answer = exchange.http()?;
    let is_page = answer.essence().is_some_and(|essence| essence == "text/html");
    ((200..300).contains(&answer.status) && !is_page).then_some(answer)
}

fn judge_document(exchanges: &[Exchange], exchange: &Exchange, answer: &HttpAnswer) -> Vec<Finding> {
    let text = answer.body.frames.first().and_then(|frame| frame.json.as_deref().ok()).unwrap_or_default();
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    if !value.is_object() {
        let message = "the capabilities are no JSON object";
        return vec![Finding::new(Rule::CapabilitiesNotJson, message, Evidence::head(exchange))];
    }
    let malformed = |pointer: &str, message: String| {
        let mut finding = Finding::new(Rule::CapabilitiesMalformed, message, Evidence::of(exchange, text));
        pointer.clone_into(&mut finding.path);
        finding
    };
    let mut findings = match AgentCapabilities::read_json(text) {
        Err(error) => vec![malformed(error.pointer(), error.to_string())],
        Ok((_, departures)) => departures
            .iter()
            .map(|departure| {
                let message = match departure.pointer.as_str() {
                    "/multiAgent/subAgents" => "0.x spelled it `subAgents`, 1.0 reads `subagents`".to_owned(),
                    pointer => format!("1.0 has nothing of this kind at {pointer}"),
                };
                malformed(&departure.pointer, message)
            })
            .collect(),
    };
    findings.extend(not_kept(exchanges, exchange, &value));
    findings
}

/// What is declared, and was seen not to be so.
fn not_kept(exchanges: &[Exchange], exchange: &Exchange, declared: &Value) -> Vec<Finding> {
    let says = |pointer: &str| declared.pointer(pointer) == Some(&Value::Bool(true));
    let broken = |pointer: &str, message: &str| {
        let mut finding = Finding::new(
            Rule::CapabilityNotKept,
            message,
            Evidence::of(exchange, &declared.pointer(pointer).cloned().unwrap_or_default().to_string()),
        );
        pointer.clone_into(&mut finding.path);
        finding
    };
    let mut findings = Vec::new();
    let is_binary = |exchange: &Exchange| {
        exchange
            .http()
            .and_then(HttpAnswer::essence)
            .is_some_and(|it| it == "application/vnd.ag-ui.event+proto")
    };
    if says("/transport/httpBinary") && of(exchanges, Step::Protobuf).any(|it| !is_binary(it)) {
        findings.push(broken(
            "/transport/httpBinary",
            "protobuf is declared, and not sent where it is preferred",
        ));
    }
    let takes_image = says("/multimodal/input/image");
    if takes_image && of(exchanges, Step::Multimodal).any(|exchange| !is_taken(exchange)) {
        findings.push(broken("/multimodal/input/image", "images are declared, and refused"));
    }
    findings
}
