//! From what was observed to what is wrong with it. Nothing here asks for anything.

mod dialect;
mod discovery;
mod errors;
mod inputs;
mod legacy;
mod runs;
mod streams;
mod transport;

use super::exchange::Exchange;
use super::finding::{Finding, merged};
use super::step::Step;
use threadline_protocol::check::{Coverage, Verdict};

pub(crate) use streams::Seen;

/// What all observations come to.
#[derive(Clone, Debug)]
pub(crate) struct Judgement {
    pub(crate) findings: Vec<Finding>,
    pub(crate) seen: Seen,
}

/// Judges everything that was observed.
pub(crate) fn judge(exchanges: &[Exchange]) -> Judgement {
    let (mut findings, seen) = streams::judge(exchanges);
    findings.extend(discovery::judge(exchanges));
    findings.extend(transport::judge(exchanges));
    findings.extend(errors::judge(exchanges));
    findings.extend(inputs::judge(exchanges));
    findings.extend(runs::judge(exchanges));
    findings.extend(legacy::judge(exchanges));
    Judgement { findings: merged(findings), seen }
}

/// The exchanges of a step.
fn of(exchanges: &[Exchange], step: Step) -> impl Iterator<Item = &Exchange> {
    exchanges.iter().filter(move |exchange| exchange.request.step == step)
}

/// Adds up what streams use of the protocol.
fn add(total: &mut Coverage, more: &Coverage) {
    let lists = [
        (&mut total.event_types, &more.event_types),
        (&mut total.thinking_types, &more.thinking_types),
        (&mut total.roles, &more.roles),
        (&mut total.structures, &more.structures),
    ];
    for (total, more) in lists {
        for (total, more) in total.iter_mut().zip(more) {
            total.used += more.used;
            total.deviating += more.deviating;
        }
    }
}

/// How bad the worst of two streams is.
const fn worse(one: Verdict, other: Verdict) -> Verdict {
    const fn rank(verdict: Verdict) -> u8 {
        match verdict {
            Verdict::Conformant => 0,
            Verdict::Warnings => 1,
            Verdict::Drift => 2,
            Verdict::Severe => 3,
            _ => 4,
        }
    }
    if rank(other) > rank(one) { other } else { one }
}
