//! `threadline check URL`: what a live endpoint does otherwise than AG-UI says, with what shows it and what to do about it.
//!
//! [`plan`] says what will be sent, [`survey`] decides what to ask next given what was observed, [`courier`] sends it and takes
//! down what comes back, [`judge`] turns that into findings. Only the courier knows of connections and clocks.

mod collect;
mod courier;
mod exchange;
mod finding;
mod input;
mod judge;
mod outcome;
mod plan;
mod rule;
mod step;
mod survey;
mod target;
mod write;

use crate::address::{Address, nonce};
use crate::args::{CheckArgs, LiveArgs};
use crate::report::{Failure, Report, Severity, printable};
use courier::Courier;
use exchange::{Answer, Exchange};
use outcome::Outcome;
use plan::Plan;
use std::io::{self, BufWriter, IsTerminal, Write};
use survey::Survey;
use threadline_protocol::check::Verdict;

/// Checks an endpoint: says what will be sent, asks if that has to be asked, sends it, and writes what was found.
pub(super) fn run(url: &str, options: &CheckArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let live = &options.live;
    let address = Address::parse(url).ok_or_else(|| Failure::Usage(format!("not a url: {url}")))?;
    let plan = Plan { url: url.to_owned(), say: live.say.clone() };
    if live.plan {
        return write!(io::stdout().lock(), "{}", printed(&plan)).map_err(Failure::write);
    }
    // Whoever watches should know before it happens.
    let _ = write!(io::stderr().lock(), "{}", printed(&plan));
    if !live.reach.is_wanted(&address)? {
        return Ok(());
    }
    let exchanges = observe(&address, &plan, live, report)?;
    let outcome = Outcome::new(url, &exchanges, judge::judge(&exchanges));
    report.count(match outcome.verdict {
        Verdict::Conformant => Severity::Note,
        _ => Severity::Finding,
    });
    let mut out = BufWriter::new(io::stdout().lock());
    write::write(&outcome, options.format, &mut out).and_then(|()| out.flush()).map_err(Failure::write)
}

/// What people are shown, without anything that commands their terminal.
fn printed(plan: &Plan) -> String {
    plan.text().lines().map(|line| printable(line) + "\n").collect()
}

/// Carries out the plan, one request after the other.
fn observe(
    address: &Address,
    plan: &Plan,
    live: &LiveArgs,
    report: &mut Report<'_>,
) -> Result<Vec<Exchange>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Environment(error.to_string()))?;
    let nonce = nonce()?;
    let survey = Survey { plan, address, nonce: &nonce };
    let courier = Courier { headers: live.reach.headers(), timeout: live.reach.timeout() };
    let is_watched = io::stderr().is_terminal();
    let mut exchanges: Vec<Exchange> = Vec::new();
    while let Some(request) = survey.next(&exchanges) {
        if is_watched {
            report.show_progress(&format!("{}: {}", request.name, request.step.purpose()));
        }
        let exchange =
            runtime.block_on(courier.carry(request)).map_err(|error| Failure::Usage(error.to_string()))?;
        // An endpoint that was there and is gone is a finding, one that never was is none.
        if let (Answer::Nothing { why, is_unreachable: true }, true) =
            (&exchange.answer, exchanges.is_empty())
        {
            return Err(Failure::Environment(format!("the endpoint cannot be asked: {why}")));
        }
        exchanges.push(exchange);
    }
    report.erase_progress();
    Ok(exchanges)
}
