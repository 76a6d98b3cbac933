//! The laws of compaction, over generated streams.

mod snapshot;
mod stream;

use super::{Form, compact};
use crate::Event;
use crate::event::StateSnapshot;
use crate::json::Json;
use crate::stages::expand::{ExpandError, Expander};
use crate::stages::fold::Fold;
use crate::stages::testing::{lines, read};
use crate::stages::verify::{Options, verify_all};
use proptest::prelude::*;
use threadline_testkit::random::Random;
use threadline_testkit::streams;

fn texts(events: &[Event<'_>]) -> Vec<String> {
    events.iter().map(Event::to_json).collect()
}

fn compact_texts(json: &[String], form: Form, base: Option<&Json<'_>>) -> Vec<String> {
    texts(&compact(&read(json), form, base).unwrap())
}

fn expanded<'a>(events: &[Event<'a>]) -> Result<Vec<Event<'a>>, ExpandError> {
    let mut expander = Expander::new();
    let mut out = Vec::new();
    for event in events {
        out.extend(expander.expand(event)?.iter().cloned());
    }
    Ok(out)
}

/// States that a reader may have begun with: the base, or any if neither base nor stream say.
fn bases<'j>(events: &[Event<'_>], base: Option<&Json<'j>>) -> Vec<Option<Json<'j>>> {
    let is_said = |event: &Event<'_>| matches!(event, Event::RunStarted(start) if start.input.is_some());
    if base.is_some() || events.iter().any(is_said) {
        return vec![base.cloned()];
    }
    vec![None, Some(Json::parse(r#"{"d":"unsaid","n":[]}"#).unwrap())]
}

/// What a reader holds in the end, who began with the base, or else with the state of the first run's request.
fn folded(events: &[Event<'_>], base: Option<&Json<'_>>) -> Fold {
    let mut fold = Fold::new();
    let first = events.iter().find_map(|event| match event {
        Event::RunStarted(started) => Some(started.input.as_ref().map(|input| input.state_or_empty())),
        _ => None,
    });
    if let Some(state) = base.cloned().or(first.flatten()) {
        fold.apply(&StateSnapshot::new(state).into()).unwrap();
    }
    for event in events {
        let _ = fold.apply(event);
    }
    fold
}

fn checkpoint(events: &[Event<'_>], base: Option<&Json<'_>>) -> String {
    folded(events, base).checkpoint().to_json()
}

/// A stream out of any events that verification accepts all the same.
fn wild() -> impl Strategy<Value = Vec<String>> {
    any::<u64>()
        .prop_map(|seed| lines(&streams::wild(&mut Random::new(seed))))
        .prop_filter("refused by verification", |stream| {
            expanded(&read(stream)).is_ok_and(|events| verify_all(&events, Options::new()).is_ok())
        })
}
