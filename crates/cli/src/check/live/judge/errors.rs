//! How input is refused that must be.

use super::super::exchange::Exchange;
use super::super::finding::{Evidence, Finding};
use super::super::rule::Rule;
use super::super::step::Sends;
use super::super::survey::is_taken;

pub(super) fn judge(exchanges: &[Exchange]) -> Vec<Finding> {
    let bad = exchanges.iter().filter(|exchange| exchange.request.step.sends() == Sends::Refusals);
    bad.filter_map(judge_one).collect()
}

fn judge_one(exchange: &Exchange) -> Option<Finding> {
    let answer = exchange.http()?;
    let what = match exchange.request.name.as_str() {
        "not-json" => "input that is no JSON",
        "incomplete" => "input without threadId, runId and messages",
        _ => "input whose messages are a number",
    };
    match answer.status {
        400..500 => None,
        500.. => {
            let message = format!("{what} is answered by {}", answer.status);
            Some(Finding::new(Rule::BadInputFails, message, Evidence::head(exchange)))
        }
        _ if is_taken(exchange) => {
            let message = format!("{what} starts a run");
            Some(Finding::new(Rule::BadInputStarts, message, Evidence::frame(exchange, 0)))
        }
        status => {
            let message = format!("{what} is answered by {status} and an error in place of an error status");
            let evidence = match exchange.stream().map(|stream| stream.frames.len()) {
                Some(frames) if frames > 0 => Evidence::frame(exchange, frames - 1),
                _ => Evidence::head(exchange),
            };
            Some(Finding::new(Rule::BadInputStreams, message, evidence))
        }
    }
}
