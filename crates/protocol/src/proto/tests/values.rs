//! Opaque values: JSON to protobuf and back.

use super::build::{double, int, len};
use crate::json::{Json, JsonObject};
use crate::limits::PROTO_DEPTH_MAX as DEPTH_MAX;
use crate::proto::value::{Struct, Value};
use crate::proto::{from_json, to_json};
use proptest::prelude::*;
use prost::Message as _;

fn to_wire(json: &str) -> Result<Vec<u8>, from_json::Error> {
    let (value, whole) = Value::from_json(&Json::parse(json).unwrap())?;
    assert!(whole, "{json}");
    Ok(value.encode_to_vec())
}

fn to_json(bytes: &[u8]) -> Result<String, to_json::Error> {
    let mut out = String::new();
    Value::decode(bytes)?.write_json(&mut out)?;
    Ok(out)
}

fn there_and_back(json: &str) -> String {
    to_json(&to_wire(json).unwrap()).unwrap()
}

#[test]
fn every_kind_has_its_bytes() {
    let key_of_x = len(1, "x");
    for (json, bytes) in [
        ("null", int(1, 0)),
        ("true", int(4, 1)),
        ("false", int(4, 0)),
        ("1.5", double(2, 1.5)),
        (r#""ü""#, len(3, "ü")),
        ("[]", len(6, "")),
        ("{}", len(5, "")),
        ("[null, [1]]", len(6, [len(1, int(1, 0)), len(1, len(6, len(1, double(2, 1.0))))].concat())),
        (r#"{"x" : {}}"#, len(5, len(1, [key_of_x, len(2, len(5, ""))].concat()))),
        (r#"{"":true}"#, len(5, len(1, len(2, int(4, 1))))),
    ] {
        assert_eq!(to_wire(json).unwrap(), bytes, "{json}");
        assert_eq!(to_json(&bytes).unwrap(), json.replace(' ', ""));
    }
}

#[test]
fn an_object_is_a_struct_without_a_value_around_it() {
    let object = JsonObject::try_from(Json::parse(r#"{"a":[1],"b":{}}"#).unwrap()).unwrap();
    let (message, _) = Struct::from_json(&object).unwrap();
    assert_eq!(len(5, message.encode_to_vec()), to_wire(r#"{"a":[1],"b":{}}"#).unwrap());
    let mut out = String::new();
    message.write_json(&mut out).unwrap();
    assert_eq!(out, r#"{"a":[1],"b":{}}"#);
}

#[test]
fn numbers_are_written_in_few_digits_that_read_back() {
    for (number, written) in [
        ("0", "0"),
        ("-0", "-0"),
        ("-0.0", "-0"),
        ("1.50", "1.5"),
        ("1e3", "1000"),
        ("9007199254740991", "9007199254740991"),
        ("-9007199254740991.0", "-9007199254740991"),
        ("9007199254740993", "9007199254740992"),
        ("123456789012345678901", "123456789012345680000"),
        ("1e21", "1e21"),
        ("1E300", "1e300"),
        ("0.1", "0.1"),
        ("0.000001", "0.000001"),
        ("1e-7", "1e-7"),
        ("-1.5e-7", "-1.5e-7"),
        ("5e-324", "5e-324"),
        ("1e-400", "0"),
        ("1.7976931348623157e308", "1.7976931348623157e308"),
    ] {
        assert_eq!(there_and_back(number), written);
        Json::parse(written).unwrap();
    }
    assert_eq!(to_wire("1e400"), Err(from_json::Error::NumberRange));
    assert_eq!(to_wire("[-1e999]"), Err(from_json::Error::NumberRange));
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(to_json(&double(2, number)), Err(to_json::Error::NotFinite));
    }
}

#[test]
fn the_last_of_duplicate_keys_stands_at_the_first_ones_place() {
    assert_eq!(there_and_back(r#"{"a":1,"b":{"x":[0],"x":{}},"a":[2,{}]}"#), r#"{"a":[2,{}],"b":{"x":{}}}"#);
    assert_eq!(to_wire(r#"{"a":1,"b":2,"\u0061":3}"#), to_wire(r#"{"a":3,"b":2}"#));
    // In the bytes too.
    let entry = |key: &str, value| len(1, [len(1, key), len(2, value)].concat());
    let entries = [entry("a", int(4, 1)), entry("b", int(4, 1)), entry("a", int(4, 0))].concat();
    assert_eq!(to_json(&len(5, entries)).unwrap(), r#"{"a":false,"b":true}"#);
}

#[test]
fn lone_surrogates_are_replaced_and_reported() {
    for (json, replaced) in [
        (r#""\ud83d""#, "\"\u{FFFD}\""),
        (r#"{"\ude00":0}"#, "{\"\u{FFFD}\":0}"),
        (r#"["\ud83d\ude00",{"k":["\ud83d"]}]"#, "[\"😀\",{\"k\":[\"\u{FFFD}\"]}]"),
    ] {
        let (value, whole) = Value::from_json(&Json::parse(json).unwrap()).unwrap();
        assert!(!whole);
        assert_eq!(to_json(&value.encode_to_vec()).unwrap(), replaced);
    }
}

#[test]
fn messages_merge_as_protobuf_says() {
    let entry = |key: &str, value: Vec<u8>| len(1, [len(1, key), len(2, value)].concat());
    let [one, two] = [1.0, 2.0].map(|number| double(2, number));
    let group = [0x0B, 0x08, 0x01, 0x0C];
    for (what, bytes, json) in [
        ("no kind", vec![], "null"),
        ("the last kind", [int(4, 1), len(3, "x"), double(2, 1.0)].concat(), "1"),
        ("null after a kind", [len(3, "x"), int(1, 0)].concat(), "null"),
        ("lists", [len(6, len(1, &one)), len(6, len(1, &two))].concat(), "[1,2]"),
        (
            "lists with something between",
            [len(6, len(1, &one)), int(4, 1), len(6, len(1, &two))].concat(),
            "[2]",
        ),
        (
            "structs",
            [
                len(5, entry("a", one.clone())),
                len(5, [entry("b", int(4, 1)), entry("a", two.clone())].concat()),
            ]
            .concat(),
            r#"{"a":2,"b":true}"#,
        ),
        (
            "the pieces of an entry's value",
            len(
                5,
                len(1, [len(2, len(6, len(1, &one))), len(1, "k"), len(2, len(6, len(1, &two)))].concat()),
            ),
            r#"{"k":[1,2]}"#,
        ),
        ("an entry without a value", len(5, len(1, len(1, "k"))), r#"{"k":null}"#),
        ("an entry without anything", len(5, len(1, "")), r#"{"":null}"#),
        ("elements of no kind", len(6, [len(1, ""), len(1, "")].concat()), "[null,null]"),
        (
            "wrong wire types",
            [len(3, "x"), len(1, "no"), int(2, 7), double(3, 7.0), int(5, 1)].concat(),
            r#""x""#,
        ),
        ("unknown fields", [int(4, 1), int(7, 1), len(9, "x"), group.to_vec()].concat(), "true"),
        ("unknown fields in a list", len(6, [int(1, 5), len(1, &one), len(2, "x")].concat()), "[1]"),
        ("a boolean that is a large number", int(4, u64::MAX), "true"),
    ] {
        assert_eq!(to_json(&bytes).unwrap(), json, "{what}");
    }
}

#[test]
fn what_is_no_value_is_refused() {
    for (what, bytes) in [
        ("cut in a double", double(2, 1.0)[..5].to_vec()),
        ("cut in a string", vec![0x1A, 5, b'x']),
        ("cut in an element", len(6, [0x0A, 5, b'x'])),
        ("cut in an entry", len(5, len(1, [0x0A, 5, b'x']))),
        ("field number zero", len(6, len(1, [0x00, 0x00]))),
        ("an open group", len(6, len(1, [0x0B]))),
    ] {
        assert!(matches!(to_json(&bytes), Err(to_json::Error::Wire(_))), "{what}");
    }
    assert_eq!(to_json(&len(3, [0xFF])), Err(to_json::Error::Utf8));
    assert_eq!(to_json(&len(5, len(1, len(1, [0xFF])))), Err(to_json::Error::Utf8));
}

/// Lists in lists, so many.
fn nested(depth: usize) -> Vec<u8> {
    // Written backwards, because each length counts what follows it.
    let mut reversed = Vec::new();
    for level in 0..depth {
        for number in if level == 0 { [6].as_slice() } else { &[1, 6] } {
            let mut head = len(*number, vec![0; 0]);
            head.pop();
            prost::encoding::encode_varint(reversed.len() as u64, &mut head);
            reversed.extend(head.iter().rev());
        }
    }
    reversed.reverse();
    reversed
}

#[test]
fn nesting_is_bounded_both_ways() {
    let deepest = format!("{}{}", "[".repeat(DEPTH_MAX), "]".repeat(DEPTH_MAX));
    assert_eq!(there_and_back(&deepest), deepest);
    assert_eq!(to_wire(&deepest).unwrap(), nested(DEPTH_MAX));
    let deeper = format!("{}{}", r#"{"k":["#.repeat(DEPTH_MAX / 2), "]}".repeat(DEPTH_MAX / 2));
    assert_eq!(there_and_back(&deeper), deeper);
    assert_eq!(to_wire(&format!("[{deepest}]")), Err(from_json::Error::TooDeep));
    assert_eq!(to_json(&nested(DEPTH_MAX + 1)), Err(to_json::Error::TooDeep));
}

#[test]
fn bombs_are_refused_without_a_stack() {
    let bomb = nested(1 << 20);
    assert!(bomb.len() > 8 << 20);
    assert_eq!(to_json(&bomb), Err(to_json::Error::TooDeep));
    let bomb = format!("{}{}", "[".repeat(5 << 20), "]".repeat(5 << 20));
    assert_eq!(to_wire(&bomb), Err(from_json::Error::TooDeep));
    // Depth is no excuse for reading the same bytes again and again.
    let wide = format!("{}\"{}\"{}", "[".repeat(DEPTH_MAX), "x".repeat(10 << 20), "]".repeat(DEPTH_MAX));
    assert_eq!(there_and_back(&wide), wide);
    let keys = format!("{{\"k\":[{}],{}\"k\":0}}", "0,".repeat(1 << 20) + "0", "\"k\":0,".repeat(1 << 20));
    assert_eq!(there_and_back(&keys), r#"{"k":0}"#);
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
        // Doubles that serde_json reads exactly. Others have a test of their own.
        any::<i32>().prop_map(|number| (f64::from(number) / 1024.0).into()),
        (-(1i64 << 53)..1 << 53).prop_map(Into::into),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Into::into),
            prop::collection::btree_map(any::<String>(), inner, 0..8)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

/// All numbers as doubles: how they are spelled is not kept.
fn with_doubles(value: &serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Number(number) => number.as_f64().into(),
        serde_json::Value::Array(array) => array.iter().map(with_doubles).collect(),
        serde_json::Value::Object(object) => {
            object.iter().map(|(key, value)| (key.clone(), with_doubles(value))).collect()
        }
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn values_survive(value in json()) {
        let text = value.to_string();
        let back = there_and_back(&text);
        let [there, back] = [text, back].map(|text| with_doubles(&serde_json::from_str(&text).unwrap()));
        prop_assert_eq!(there, back);
    }

    #[test]
    fn numbers_survive(number in prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO) {
        let back = there_and_back(&format!("{number:e}"));
        prop_assert_eq!(back.parse::<f64>().unwrap().to_bits(), number.to_bits());
        prop_assert!(Json::parse(&back).is_ok());
    }

    #[test]
    fn any_bytes_are_a_value_or_an_error(bytes: Vec<u8>) {
        if let Ok(json) = to_json(&bytes) {
            prop_assert!(Json::parse(&json).is_ok(), "{}", json);
        }
    }
}
