//! What the tests of several crates share.

pub mod balancer;
pub mod engine;
pub mod fault_proxy;
pub mod faults;
pub mod fill;
pub mod postgres;
pub mod random;
pub mod store;
pub mod strace;
pub mod streams;
#[rustfmt::skip] // A row a line, as in the protocol's own description.
pub mod tables;
pub mod upstream;

use fill::Fill;
use random::Random;
use serde_json::Value;

/// An event of the given type.
///
/// # Panics
/// If AG-UI 1.0 has no such type.
#[must_use]
pub fn event(event_type: &str, fill: &mut Fill<'_>) -> Value {
    let (_, fields) =
        tables::EVENTS.iter().find(|(name, _)| *name == event_type).expect("an event type of 1.0");
    let mut event = serde_json::Map::from_iter([("type".to_owned(), event_type.into())]);
    fill.fields(fields, &mut event);
    fill.fields(tables::BASE, &mut event);
    if !tables::UNATTRIBUTED.contains(&event_type) {
        fill.fields(tables::ATTRIBUTION, &mut event);
    }
    event.into()
}

/// Any event.
#[must_use]
pub fn any_event(random: &mut Random) -> Value {
    let (event_type, _) = random.pick(tables::EVENTS);
    event(event_type, &mut Fill::Random(random))
}

/// A run's request.
#[must_use]
pub fn input(fill: &mut Fill<'_>) -> Value {
    fill.value(&tables::Kind::Object(tables::INPUT))
}

/// What an agent says of itself.
#[must_use]
pub fn capabilities(fill: &mut Fill<'_>) -> Value {
    fill.value(&tables::Kind::Object(tables::CAPABILITIES))
}

/// Changes one thing in a value so that it is most likely no longer what the protocol wants.
pub fn mutate(value: &mut Value, random: &mut Random) {
    let mut place = value;
    // Walk down at random; deep places are where the interesting things are.
    loop {
        let down = match place {
            Value::Object(object) => !object.is_empty() && random.chance(85),
            Value::Array(array) => !array.is_empty() && random.chance(85),
            _ => false,
        };
        if !down {
            break;
        }
        place = match place {
            Value::Object(object) => {
                let at = random.below(object.len());
                let key = object.keys().nth(at).expect("an index below the length").clone();
                if random.chance(15) {
                    object.remove(&key);
                    return;
                }
                object.get_mut(&key).expect("a key of the object")
            }
            Value::Array(array) => {
                let at = random.below(array.len());
                &mut array[at]
            }
            _ => return,
        };
    }
    if let Value::Object(object) = place
        && random.chance(60)
    {
        let key = random
            .pick(&["vendor", "toString", "a/b~c", "role", "type", "op", "name", "metadata", "id", "source"]);
        object.insert((*key).to_owned(), wrong_value(random));
        return;
    }
    *place = wrong_value(random);
}

fn wrong_value(random: &mut Random) -> Value {
    match random.below(8) {
        0 | 1 => Value::Null,
        2 => Value::from(3),
        3 => Value::from(1.5),
        4 => Value::from(*random.pick(&[
            "oracle",
            "",
            "user",
            "assistant",
            "text",
            "success",
            "interrupt",
            "add",
        ])),
        5 => Value::Array(Vec::new()),
        6 => Value::Object(serde_json::Map::new()),
        _ => Value::Bool(true),
    }
}
