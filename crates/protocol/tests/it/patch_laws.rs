//! The laws of JSON Patch, over generated documents and patches.

use crate::patch::{document, operation, patched};
use proptest::prelude::*;
use serde_json::{Value, json};
use threadline_protocol::limits::PatchLimits;
use threadline_protocol::patch::{Document, Operation};
use threadline_testkit::random::Random;

/// Few, so that patches meet them often.
const KEYS: [&str; 7] = ["a", "b", "c", "", "a/b", "m~n", "0"];

/// A JSON text with everything that JSON can hold.
fn text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        (-9..9_i32).prop_map(|number| number.to_string()),
        Just("1.50".to_owned()),
        Just("1e0".to_owned()),
        Just("9007199254740993".to_owned()),
        Just(r#""a long enough text to be worth keeping""#.to_owned()),
        Just(r#""\ud83d\n""#.to_owned()),
        Just(r#""\u0001é""#.to_owned()),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let key = prop_oneof![4 => proptest::sample::select(&KEYS[..]), 1 => Just(r"\ude00")];
        let member = (key, inner.clone()).prop_map(|(key, value)| format!(r#""{key}":{value}"#));
        prop_oneof![
            proptest::collection::vec(inner, 0..6).prop_map(|elements| format!("[{}]", elements.join(","))),
            proptest::collection::vec(member, 0..6).prop_map(|members| format!("{{{}}}", members.join(","))),
        ]
    })
}

/// A document that may share much with another one.
fn pair() -> impl Strategy<Value = (String, String)> {
    (text(), text(), text(), any::<u64>()).prop_map(|(first, second, third, seed)| match seed % 4 {
        0 => (first, second),
        1 => (format!("[{first},{second},{third}]"), format!("[{first},{third}]")),
        2 => (format!("[{first},{third}]"), format!("[{first},{second},{third},{second}]")),
        _ => (format!(r#"{{"a":{first},"b":{second}}}"#), format!(r#"{{"b":{third},"c":{{}},"a":{first}}}"#)),
    })
}

/// A pointer to something in `value`, to where something could be, or nearly so.
fn pointer(value: &Value, random: &mut Random) -> String {
    let mut pointer = String::new();
    let mut value = value;
    let enter = |pointer: &mut String, token: &str| {
        *pointer = format!("{pointer}/{}", token.replace('~', "~0").replace('/', "~1"));
    };
    while random.chance(75) {
        match value {
            Value::Object(members) if !members.is_empty() && random.chance(85) => {
                let (key, member) =
                    members.iter().nth(random.below(members.len())).expect("below the length");
                enter(&mut pointer, key);
                value = member;
            }
            Value::Array(elements) if !elements.is_empty() && random.chance(85) => {
                let index = random.below(elements.len());
                enter(&mut pointer, &index.to_string());
                value = &elements[index];
            }
            Value::Array(elements) => {
                let beyond = [elements.len(), elements.len() + 1].map(|index| index.to_string());
                let token = *random.pick(&["-", "00", "", "x", "0", &beyond[0], &beyond[0], &beyond[1]]);
                enter(&mut pointer, token);
                break;
            }
            _ => {
                let token = *random.pick(&KEYS);
                enter(&mut pointer, token);
                break;
            }
        }
    }
    pointer
}

/// An operation that has a chance to be possible.
fn any_operation(document: &Value, random: &mut Random) -> Value {
    let path = pointer(document, random);
    let values = [json!(null), json!(1), json!("x"), json!([]), json!({"a": [1]}), document.clone()];
    let value = random.pick(&values);
    match random.below(6) {
        0 => json!({"op": "add", "path": path, "value": value}),
        1 => json!({"op": "remove", "path": path}),
        2 => json!({"op": "replace", "path": path, "value": value}),
        3 => json!({"op": "move", "from": pointer(document, random), "path": path}),
        4 => json!({"op": "copy", "from": pointer(document, random), "path": path}),
        _ => {
            let value = document.pointer(&path).filter(|_| random.chance(80)).unwrap_or(value);
            json!({"op": "test", "path": path, "value": value})
        }
    }
}

/// The document for serde_json, which knows no lone surrogates: other texts stand in for them.
fn value(document: &Document) -> Value {
    let text = document.to_json().as_str().replace(r"\ud83d", "").replace(r"\ude00", "u");
    serde_json::from_str(&text).expect("JSON")
}

/// A text that serde_json can hold: whole numbers, no lone surrogates.
fn plain_text() -> impl Strategy<Value = String> {
    text().prop_map(|text| {
        text.replace(r"\ud83d", "").replace(r"\ude00", "u").replace("1.50", "5").replace("1e0", "1")
    })
}

/// Operations that succeed one after the other from `document` on.
fn possible(document: &mut Document, count: usize, random: &mut Random) -> Vec<String> {
    let mut patch = Vec::new();
    for _ in 0..count {
        let text = any_operation(&value(document), random).to_string();
        if document.apply(&[operation(&text)], &PatchLimits::default()).is_ok() {
            patch.push(text);
        }
    }
    patch
}

proptest! {
    #[test]
    fn a_diff_makes_what_it_was_made_from((from, to) in pair()) {
        let limits = PatchLimits::default();
        let (mut from, to) = (document(&from), document(&to));
        let patch = from.diff(&to, &limits);
        let bytes: usize = patch.iter().map(|operation| operation.to_json().len()).sum();
        let whole = r#"{"op":"replace","path":"","value":}"#.len() + to.bytes();
        prop_assert!(bytes <= whole, "{patch:?} is longer than all of {to:?}");
        prop_assert_eq!(patch.is_empty(), from == to);
        from.apply(&patch, &limits).unwrap();
        prop_assert_eq!(from.bytes(), from.to_json().as_str().len());
        prop_assert_eq!(from, to);
    }

    /// Whatever the limits, as long as the result is within them.
    #[test]
    fn a_diff_keeps_to_the_limits((from, to) in pair(), operations_max in 1..4_usize, disturbed_max in 0..4_usize) {
        let (mut from, to) = (document(&from), document(&to));
        let limits = PatchLimits {
            operations_max,
            disturbed_max,
            document_bytes_max: to.bytes(),
            cloned_bytes_max: 0,
            depth_max: 6,
        };
        from.apply(&from.diff(&to, &limits), &limits).unwrap();
        prop_assert_eq!(from, to);
    }

    /// However much has been done when an operation fails, nothing is left of it.
    #[test]
    fn a_failing_patch_changes_nothing(text in plain_text(), seed: u64, count in 0..60_usize) {
        let mut random = Random::new(seed);
        let mut later = document(&text);
        let mut patch = possible(&mut later, count, &mut random);
        let wanted = patched(&text, &patch.iter().map(String::as_str).collect::<Vec<_>>(), &PatchLimits::default());
        prop_assert_eq!(wanted.unwrap(), later.to_json().to_string());

        let impossible = random.pick(&[
            r#"{"op":"remove","path":"/nowhere"}"#,
            r#"{"op":"test","path":"","value":"something else"}"#,
            r#"{"op":"copy","from":"","path":"/no/where"}"#,
            r#"{"op":"move","from":"","path":"/nowhere"}"#,
        ]);
        patch.push((*impossible).to_owned());
        // A move that has already taken its value has the most to undo.
        let value = value(&later);
        if let Some(first) = value.as_object().and_then(|members| members.keys().next())
            && random.chance(50)
        {
            let from = first.replace('~', "~0").replace('/', "~1");
            patch.pop();
            patch.push(json!({"op": "move", "from": format!("/{from}"), "path": "/nowhere/at/all"}).to_string());
        }
        let patch: Vec<&str> = patch.iter().map(String::as_str).collect();
        // `patched` compares the texts.
        let error = patched(&text, &patch, &PatchLimits::default()).unwrap_err();
        prop_assert_eq!(error.operation(), patch.len() - 1);
    }

    /// The size is kept with each operation and never counted anew; here it is.
    #[test]
    fn the_size_is_always_right(text in text(), seed: u64) {
        let mut random = Random::new(seed);
        let mut document = document(&text);
        for _ in 0..20 {
            let text = any_operation(&value(&document), &mut random).to_string();
            let _ = document.apply(&[operation(&text)], &PatchLimits::default());
            prop_assert_eq!(document.bytes(), document.to_json().as_str().len());
        }
    }

    /// The crate json-patch is the oracle, with three differences. It refuses to remove the whole document, which the
    /// reference makes `null`, and to move it, even to where it is. And a `move` without a target loses what it has
    /// already taken, so only its successes are believed.
    #[test]
    fn agrees_with_json_patch(text in plain_text(), seed: u64) {
        let mut random = Random::new(seed);
        let mut ours = document(&text);
        let mut theirs = value(&ours);
        for _ in 0..30 {
            let next = any_operation(&theirs, &mut random);
            let source = if next["op"] == "move" { &next["from"] } else { &next["path"] };
            if (next["op"] == "remove" || next["op"] == "move") && source == "" {
                continue;
            }
            let text = next.to_string();
            let patch: json_patch::Patch = serde_json::from_value(json!([next])).unwrap();
            let mut changed = theirs.clone();
            let expected = json_patch::patch(&mut changed, &patch);
            let result = ours.apply(&[operation(&text)], &PatchLimits::default());
            prop_assert_eq!(result.is_ok(), expected.is_ok(), "{}: {:?}, {:?}", text, result, expected);
            if expected.is_ok() {
                theirs = changed;
            }
            prop_assert_eq!(&value(&ours), &theirs);
            if ours.bytes() > 100_000 {
                break;
            }
        }
    }
}

/// What a change in a list costs is the change.
#[test]
fn diffs_of_lists_are_small() {
    let limits = PatchLimits::default();
    let items: Vec<Value> =
        (0..100).map(|id| json!({"id": id, "text": "some text of some length"})).collect();
    let list = |items: &[Value]| document(&json!({ "items": items }).to_string());
    let from = list(&items);
    let diff = |items: &[Value]| {
        let patch = from.diff(&list(items), &limits);
        patch.iter().map(Operation::to_json).collect::<Vec<_>>()
    };

    let mut inserted = items.clone();
    inserted.insert(50, json!("new"));
    assert_eq!(diff(&inserted), [r#"{"op":"add","path":"/items/50","value":"new"}"#]);

    let mut removed = items.clone();
    removed.drain(20..22);
    assert_eq!(
        diff(&removed),
        [r#"{"op":"remove","path":"/items/21"}"#, r#"{"op":"remove","path":"/items/20"}"#]
    );

    let mut changed = items;
    changed[7]["text"] = json!("other");
    changed.push(json!(1.5));
    assert_eq!(
        diff(&changed),
        [
            r#"{"op":"replace","path":"/items/7/text","value":"other"}"#,
            r#"{"op":"add","path":"/items/100","value":1.5}"#
        ]
    );

    assert_eq!(diff(&[]), [r#"{"op":"replace","path":"/items","value":[]}"#]);
}
