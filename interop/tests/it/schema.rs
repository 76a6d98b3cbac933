//! What we write is what the published models accept.

use crate::{as_javascript, cases, parse, text, with_lists};
use serde_json::{Value, json};
use threadline_interop::peer::Peer;
use threadline_protocol::capabilities::AgentCapabilities;
use threadline_protocol::{Received, RunAgentInput};
use threadline_testkit::fill::Fill;
use threadline_testkit::random::Random;
use threadline_testkit::{any_event, capabilities, event, input, tables};

/// Every type in its minimal form, in all its full forms, and many at random.
pub(crate) fn events() -> Vec<Value> {
    let minimal = tables::EVENTS.iter().map(|(name, _)| event(name, &mut Fill::Minimal));
    let full =
        tables::EVENTS.iter().flat_map(|(name, _)| (0..7).map(|member| event(name, &mut Fill::Full(member))));
    let random = (0..cases()).map(|seed| any_event(&mut Random::new(seed)));
    minimal.chain(full).chain(random).collect()
}

/// Values of each size.
fn fills(make: impl Fn(&mut Fill<'_>) -> Value) -> Vec<Value> {
    let mut values = vec![make(&mut Fill::Minimal), make(&mut Fill::Full(0))];
    values.extend((0..300).map(|seed| make(&mut Fill::Random(&mut Random::new(seed)))));
    values
}

/// Asks a peer whether it accepts these texts, and whether it reads them as what they are.
fn assert_accepted(peer: Peer, op: &str, texts: &[String], same: impl Fn(&Value, &Value) -> bool) {
    let questions: Vec<Value> = texts.iter().map(|text| json!({"op": op, "json": text})).collect();
    for (json, answer) in texts.iter().zip(peer.ask(&questions)) {
        assert_eq!(answer["ok"], true, "{peer:?} refuses {json}: {answer}");
        assert!(answer["stripped"].as_array().is_none_or(Vec::is_empty), "{peer:?} strips {json}: {answer}");
        let theirs = as_javascript(&parse(text(&answer["json"])));
        let ours = as_javascript(&parse(json));
        assert!(same(&ours, &theirs), "{peer:?} reads {json}\nas {theirs}");
    }
}

fn written_events() -> Vec<String> {
    let write = |event: Value| Received::read(&event.to_string()).expect("an event of 1.0").event().to_json();
    events().into_iter().map(write).collect()
}

#[test]
fn the_reference_accepts_every_event() {
    assert_accepted(Peer::Node, "schema", &written_events(), |ours, theirs| {
        with_lists(ours.clone()) == with_lists(theirs.clone())
    });
}

#[test]
fn python_accepts_every_event() {
    assert_accepted(Peer::Python, "schema", &written_events(), |ours, theirs| ours == theirs);
}

#[test]
fn both_accept_every_input() {
    let texts: Vec<String> = fills(input)
        .iter()
        .map(|value| RunAgentInput::read_json(&value.to_string()).expect("an input of 1.0").0.to_json())
        .collect();
    assert_accepted(Peer::Node, "input", &texts, |ours, theirs| with_lists(ours.clone()) == *theirs);
    assert_accepted(Peer::Python, "input", &texts, |ours, theirs| ours == theirs);
}

#[test]
fn both_accept_every_capabilities_document() {
    let texts: Vec<String> = fills(capabilities)
        .iter()
        .map(|value| {
            AgentCapabilities::read_json(&value.to_string()).expect("capabilities of 1.0").0.to_json()
        })
        .collect();
    assert_accepted(Peer::Node, "capabilities", &texts, |ours, theirs| ours == theirs);
    assert_accepted(Peer::Python, "capabilities", &texts, |ours, theirs| ours == theirs);
}
