//! The report about an endpoint, in every format.

mod json;
mod markdown;
mod sarif;
mod text;

use super::outcome::Outcome;
use crate::args::CheckFormat;
use crate::check::paint::Paint;
use std::io::{self, Write};

pub(super) fn write(outcome: &Outcome, format: CheckFormat, out: &mut impl Write) -> io::Result<()> {
    match format {
        CheckFormat::Text => text::write(outcome, Paint::of_stdout(), out),
        CheckFormat::Markdown => markdown::write(outcome, out),
        CheckFormat::Json => json::write(outcome, out),
        CheckFormat::Sarif => sarif::write(outcome, out),
    }
}

/// How an endpoint stands, in one line.
fn headline(outcome: &Outcome) -> String {
    let tally = match outcome.tally().text() {
        text if text == "ok" => "nothing wrong".to_owned(),
        text => text,
    };
    let (events, requests) = (outcome.events, outcome.asked.len());
    format!("{tally} in {requests} requests and {events} events")
}
