//! What is measured of the stages, and whether both sides come to the same.

use super::conversation::{Conversation, Folder};
use super::reference::{CLIENT, Reference, Request};
use super::{growth, ours};
use crate::fidelity::same;
use crate::measure::{Aim, Candidate, Plan, measure};
use crate::report::Report;
use serde_json::Value;
use std::fs;
use std::io;
use threadline_protocol::Event;
use threadline_protocol::stages::compact::{Form, compact};

const CONSUMER: &str = "Consumer";
const CLIENT_VERIFY: &str = "verifyEvents";
const COMPACT: &str = "compact";
const COMPACT_FILE: &str = "compact, from file to bytes";
const CLIENT_COMPACT: &str = "compactEvents";
const CLIENT_COMPACT_FILE: &str = "compactEvents, from file to bytes";

/// How a conversation of one length is measured.
struct Size {
    events: usize,
    title: &'static str,
    aims: &'static [Aim],
    /// How often the reference consumes it: it takes minutes for a long one.
    reference_rounds: usize,
    /// Whether it only does so if asked to.
    needs_full: bool,
}

const SIZES: [Size; 3] = [
    Size {
        events: 5_000,
        title: "Consumer, 5,000 events",
        aims: &[Aim { subject: CONSUMER, baseline: CLIENT, ratio_max: 0.01 }],
        reference_rounds: 3,
        needs_full: false,
    },
    Size {
        events: 20_000,
        title: "Consumer, 20,000 events",
        aims: &[Aim { subject: CONSUMER, baseline: CLIENT, ratio_max: 0.002 }],
        reference_rounds: 1,
        needs_full: false,
    },
    Size {
        events: 50_000,
        title: "Consumer, 50,000 events",
        aims: &[],
        reference_rounds: 1,
        needs_full: true,
    },
];

/// Whether the reference takes part, or why it does not.
#[derive(Clone, Copy)]
enum Peer<'a> {
    Present(&'a Reference),
    NotInstalled,
    LeftOut,
}

impl<'a> Peer<'a> {
    /// Its candidates; none if it does not take part.
    fn candidates(self, requests: &[(&'static str, Request<'a>)]) -> Vec<Candidate<'a>> {
        let Self::Present(reference) = self else { return Vec::new() };
        let candidate = |&(name, request)| {
            Candidate::timed(name, move || reference.run(request).expect("the reference answers").took())
        };
        requests.iter().map(candidate).collect()
    }

    /// What can only be said if it takes part.
    const fn only<T>(self, items: &'static [T]) -> &'static [T] {
        if let Self::Present(_) = self { items } else { &[] }
    }

    const fn note(self) -> &'static str {
        match self {
            Self::Present(_) => "",
            Self::NotInstalled => " The reference is not installed: `interop/peers/setup` does that.",
            Self::LeftOut => {
                " The reference would take minutes, as its time per event grows: `--full` lets it."
            }
        }
    }
}

/// Measures the stages. `full` lets the reference consume the longest conversation, too.
///
/// # Errors
/// If files cannot be written, a side fails, or both come to different results.
///
/// # Panics
/// If the reference no longer answers.
pub fn report(rounds: usize, full: bool) -> io::Result<Report> {
    let folder = Folder::new()?;
    let reference = Reference::start()?;
    let peer = reference.as_ref().map_or(Peer::NotInstalled, Peer::Present);
    let conversations =
        SIZES.iter().map(|size| Conversation::write(&folder, size.events)).collect::<io::Result<Vec<_>>>()?;
    let mut measurements = Vec::new();
    for (size, conversation) in SIZES.iter().zip(&conversations) {
        let peer = match peer {
            Peer::Present(_) if size.needs_full && !full => Peer::LeftOut,
            peer => peer,
        };
        let mut measurement = measure(&consuming(size, conversation, peer), rounds);
        if let Peer::Present(_) = peer {
            measurement.note += &compare(conversation)?;
        }
        measurements.push(measurement);
    }
    let longest = conversations.last().expect("there are some");
    let text = fs::read_to_string(&longest.file)?;
    let events = ours::parse(&text)?;
    let plans =
        [verifying(longest, &events, peer), folding(longest, &events), compacting(longest, &events, peer)?];
    measurements.extend(plans.iter().map(|plan| measure(plan, rounds)));
    measurements.extend(growth::plans().map(|plan| measure(&plan, rounds)));
    Ok(Report::new(&longest.corpus, rounds, Vec::new(), measurements))
}

fn consuming<'a>(size: &Size, conversation: &'a Conversation, peer: Peer<'a>) -> Plan<'a> {
    let Conversation { file, result, .. } = conversation;
    let request = Request { stage: "consume", file, result: Some(result) };
    let theirs = peer.candidates(&[(CLIENT, request)]);
    let theirs = theirs.into_iter().map(|candidate| candidate.at_most(size.reference_rounds));
    let ours = Candidate::all(CONSUMER, || ours::consume(file).expect("the conversation is legal")).ours();
    Plan {
        title: size.title,
        note: format!(
            "From a file to messages and state: read, parse, translate, enforce, expand, verify, fold.{}",
            peer.note()
        ),
        candidates: theirs.chain([ours]).collect(),
        baselines: peer.only(&[CLIENT]),
        aims: peer.only(size.aims),
        whole: conversation.selection(),
        families: Vec::new(),
    }
}

/// Says that both sides came to the same, or fails.
fn compare(conversation: &Conversation) -> io::Result<String> {
    let theirs: Value = serde_json::from_slice(&fs::read(&conversation.result)?)?;
    let consumer = ours::consume(&conversation.file)?;
    let ours = ours::held(consumer.fold())?;
    if !same(&ours, &theirs) || !consumer.notices().is_empty() {
        return Err(io::Error::other("the reference holds something else in the end"));
    }
    let count = consumer.fold().messages().len();
    Ok(format!(" Both sides end with the same {count} messages and the same state."))
}

fn verifying<'a>(conversation: &'a Conversation, events: &'a [Event<'_>], peer: Peer<'a>) -> Plan<'a> {
    let request = Request { stage: "verify", file: &conversation.file, result: None };
    let mut candidates = peer.candidates(&[(CLIENT_VERIFY, request)]);
    candidates.push(Candidate::all("Verifier", || ours::verify(events)).ours());
    Plan {
        title: "Verifier alone",
        note: format!("Events that were parsed before.{}", peer.note()),
        candidates,
        baselines: peer.only(&[CLIENT_VERIFY]),
        aims: &[],
        whole: conversation.selection(),
        families: Vec::new(),
    }
}

fn folding<'a>(conversation: &'a Conversation, events: &'a [Event<'_>]) -> Plan<'a> {
    Plan {
        title: "Fold alone",
        note: "Events that were parsed before. The reference's reducer is most of its time above.".to_owned(),
        candidates: vec![Candidate::all("Fold", || ours::fold(events)).ours()],
        baselines: &[],
        aims: &[],
        whole: conversation.selection(),
        families: Vec::new(),
    }
}

fn compacting<'a>(
    conversation: &'a Conversation,
    events: &'a [Event<'_>],
    peer: Peer<'a>,
) -> io::Result<Plan<'a>> {
    let compacted = compact(events, Form::Stream, None).map_err(io::Error::other)?;
    if !same(&ours::held(&ours::fold(&compacted))?, &ours::held(&ours::fold(events))?) {
        return Err(io::Error::other("compaction changed what a client holds"));
    }
    let file = &conversation.file;
    let request = |stage| Request { stage, file, result: None };
    let mut note = format!("Of {} events {} are left", events.len(), compacted.len());
    if let Peer::Present(reference) = peer {
        let theirs = reference.run(request("compact"))?.events;
        note += &format!(", {theirs} by the reference");
    }
    note += ". The reader holds the same after ours.";
    note += peer.note();
    let theirs = [(CLIENT_COMPACT, request("compact")), (CLIENT_COMPACT_FILE, request("compactFile"))];
    let mut candidates = peer.candidates(&theirs);
    candidates.push(Candidate::all(COMPACT, || compact(events, Form::Stream, None)).ours());
    let from_file = || ours::compact_file(file).expect("the conversation is legal");
    candidates.push(Candidate::all(COMPACT_FILE, from_file).ours());
    Ok(Plan {
        title: "Compaction",
        note,
        candidates,
        baselines: peer.only(&[CLIENT_COMPACT, CLIENT_COMPACT_FILE]),
        aims: peer.only(&[Aim { subject: COMPACT_FILE, baseline: CLIENT_COMPACT_FILE, ratio_max: 0.25 }]),
        whole: conversation.selection(),
        families: Vec::new(),
    })
}
