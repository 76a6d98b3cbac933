//! What the tests of several stages need.

use super::expand::Expander;
use super::fold::Fold;
use super::verify::{Options, Verifier, Violation};
use crate::{Event, Received};

pub(super) fn read(json: &[String]) -> Vec<Event<'_>> {
    json.iter().map(|json| Received::read(json).unwrap().into_event()).collect()
}

pub(super) fn lines(json: &[impl ToString]) -> Vec<String> {
    json.iter().map(ToString::to_string).collect()
}

/// What a strict reader holds in the end, or the name of the rule that ends its reading.
pub(super) fn consumed(events: &[Event<'_>], options: Options) -> Result<Fold, &'static str> {
    let (mut expander, mut verifier, mut fold) = (Expander::new(), Verifier::new(options), Fold::new());
    // It drops what it does not know before it looks at the order of things.
    for event in events.iter().filter(|event| !matches!(event, Event::Unknown(_))) {
        let expanded = expander.expand(event).map_err(|error| error.rule.name())?;
        for event in expanded.iter() {
            if let Some(error) = verifier.check(event).into_iter().find(Violation::is_error) {
                return Err(error.rule.name());
            }
            // What cannot be applied is applied by nobody.
            let _ = fold.apply(event);
        }
    }
    verifier.finish().filter(Violation::is_error).map_or(Ok(fold), |error| Err(error.rule.name()))
}
