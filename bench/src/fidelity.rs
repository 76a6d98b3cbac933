//! What a reader of events can read, and what of it is left when it writes that again.

use crate::corpus::Corpus;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// How much of the corpus survives a reader.
#[derive(Debug, Serialize)]
pub struct Fidelity {
    /// The reader.
    pub reader: &'static str,
    /// How many events there are.
    pub events: usize,
    /// How many of them it reads.
    pub read: usize,
    /// How many it writes again as the same JSON value, however spelt.
    pub same: usize,
    /// How many it writes again without something that was there, or with it changed.
    pub lossy: usize,
    /// The families of what it refuses, with counts.
    pub refused: BTreeMap<&'static str, usize>,
    /// The members that are lost or changed, with counts.
    pub lost: BTreeMap<String, usize>,
}

impl Fidelity {
    /// Puts the corpus through a reader, which gives back what it would write.
    pub fn of(reader: &'static str, corpus: &Corpus, again: impl Fn(&str) -> Option<Value>) -> Self {
        let (mut read, mut same, mut lossy) = (0, 0, 0);
        let (mut refused, mut lost) = (BTreeMap::new(), BTreeMap::new());
        for sample in &corpus.samples {
            let Some(after) = again(&sample.json) else {
                *refused.entry(sample.family.name()).or_default() += 1;
                continue;
            };
            read += 1;
            let before: Value = serde_json::from_str(&sample.json).expect("the corpus is JSON");
            let members = lost_members(&before, &after);
            lossy += usize::from(!members.is_empty());
            same += usize::from(members.is_empty() && lost_members(&after, &before).is_empty());
            for member in members {
                *lost.entry(member).or_default() += 1;
            }
        }
        Self { reader, events: corpus.samples.len(), read, same, lossy, refused, lost }
    }
}

/// The members of an event that are not in `after` as they are in `before`.
fn lost_members(before: &Value, after: &Value) -> Vec<String> {
    let members = before.as_object().into_iter().flatten();
    let lost = members.filter(|(key, value)| after.get(key).is_none_or(|after| !holds(after, value)));
    lost.map(|(key, _)| key.clone()).collect()
}

/// Whether two values are the same, however they are spelt.
pub(crate) fn same(one: &Value, other: &Value) -> bool {
    holds(one, other) && holds(other, one)
}

/// Whether everything in `part` is in `whole`. `1` and `1.0` are the same number.
fn holds(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(key, part)| whole.get(key).is_some_and(|whole| holds(whole, part)))
        }
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(whole, part)| holds(whole, part))
        }
        (Value::Number(whole), Value::Number(part)) => whole.as_f64() == part.as_f64(),
        (whole, part) => whole == part,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_missing_or_changed_is_lost_and_what_is_added_is_not() {
        let before = json!({"type": "X", "list": [{"a": 1, "b": 2}], "gone": null, "time": 5});
        let after = json!({"type": "X", "list": [{"a": 1}], "time": 5.0, "role": "added"});
        assert_eq!(lost_members(&before, &after), ["gone", "list"]);
        assert_eq!(lost_members(&after, &before), ["role"]);
    }
}
