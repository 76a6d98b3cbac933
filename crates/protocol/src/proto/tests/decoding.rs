//! What bytes mean, and which are no event.

use super::build::{base, double, int, json_of, len};
use crate::event::Received;
use crate::limits::PROTO_DEPTH_MAX as DEPTH_MAX;
use crate::proto::{DecodeError, Decoded, decode, encode};
use proptest::prelude::*;
use threadline_testkit::any_event;
use threadline_testkit::random::Random;

/// `TEXT_MESSAGE_CONTENT`, with more fields.
fn content(more: &[Vec<u8>]) -> Vec<u8> {
    len(2, [base(1), more.concat()].concat())
}

/// `MESSAGES_SNAPSHOT` with one message.
fn message(role: &str, fields: &[Vec<u8>]) -> Vec<u8> {
    len(9, [base(8), len(2, [len(2, role), fields.concat()].concat())].concat())
}

fn text_part(text: &str) -> Vec<u8> {
    len(1, len(1, text))
}

#[track_caller]
fn assert_json(bytes: &[u8], json: &str) {
    assert_eq!(json_of(bytes).unwrap(), (json.to_owned(), vec![]));
}

#[test]
fn required_strings_that_are_absent_are_empty() {
    assert_json(&content(&[]), r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"","delta":""}"#);
    assert_json(&len(9, base(8)), r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#);
    let json = r#"{"type":"TOOL_CALL_RESULT","messageId":"","toolCallId":"","content":[]}"#;
    assert_json(&len(22, base(21)), json);
    // TEXT_MESSAGE_START is number zero, which is not written.
    assert_json(&len(1, len(1, "")), r#"{"type":"TEXT_MESSAGE_START","messageId":""}"#);
}

#[test]
fn the_same_arm_again_merges() {
    let bytes = [content(&[len(2, "m"), len(3, "a")]), content(&[len(3, "b")])].concat();
    assert_json(&bytes, r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"b"}"#);
    let raw = |value| len(10, [base(9), len(2, len(6, len(1, value)))].concat());
    let bytes = [raw(int(4, 1)), raw(double(2, 7.0))].concat();
    assert_json(&bytes, r#"{"type":"RAW","event":[true,7]}"#);
}

#[test]
fn unknown_fields_are_ignored() {
    let bytes = [len(99, "\u{7}"), content(&[len(2, "m"), len(77, "x"), int(78, 1)]), int(98, 5)].concat();
    assert_json(&bytes, r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":""}"#);
}

#[test]
fn arms_of_a_later_protocol_are_told_from_rubbish() {
    assert_eq!(decode(&len(32, base(31))), Ok(Decoded::UnknownArm));
    assert_eq!(decode(&[len(40, ""), len(41, int(1, 1)), int(50, 1)].concat()), Ok(Decoded::UnknownArm));
    assert!(matches!(decode(&len(32, [0x0A, 0x05])), Err(DecodeError::Wire(_))));
    assert!(matches!(decode(&len(32, [0x00])), Err(DecodeError::Wire(_))));
    assert_eq!(decode(&int(32, 1)), Err(DecodeError::Empty));
    assert_eq!(decode(&[]), Err(DecodeError::Empty));
}

#[test]
fn what_is_no_event_is_refused() {
    assert_eq!(decode(&len(2, "")), Err(DecodeError::NoBase { arm: "TEXT_MESSAGE_CONTENT" }));
    let arm = "TEXT_MESSAGE_CONTENT";
    assert_eq!(decode(&len(2, base(2))), Err(DecodeError::TypesDisagree { arm, base: 2 }));
    assert_eq!(decode(&len(2, base(99))), Err(DecodeError::TypesDisagree { arm, base: 99 }));
    assert_eq!(decode(&[content(&[]), len(3, base(2))].concat()), Err(DecodeError::SeveralArms));
    for (what, bytes) in [
        ("cut", content(&[len(2, "m")])[..6].to_vec()),
        ("field number zero", content(&[vec![0x00, 0x01]])),
        ("field number zero in the envelope", [vec![0x00], content(&[])].concat()),
        ("no utf-8", content(&[len(2, [0xFF])])),
        ("another wire type", content(&[int(2, 1)])),
        ("an arm of another wire type", int(2, 1)),
        ("a broken element", len(8, [base(7), len(2, len(2, [0xFF]))].concat())),
    ] {
        assert!(matches!(decode(&bytes), Err(DecodeError::Wire(_))), "{what}");
    }
}

#[test]
fn fields_are_judged_as_in_json() {
    let timestamp = |value: i64| len(2, len(1, [int(1, 1), int(2, value.cast_unsigned())].concat()));
    assert_json(
        &timestamp(-5),
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"","delta":"","timestamp":-5}"#,
    );
    for (what, bytes) in [
        ("a timestamp out of range", timestamp(1 << 53)),
        ("a negative count", len(14, [base(13), len(4, int(3, u64::MAX))].concat())),
        ("no snapshot", len(7, base(6))),
        ("no activity content", message("activity", &[len(12, "t")])),
        ("no tool call id", message("tool", &[len(3, "x")])),
        ("no source", message("user", &[len(8, len(2, ""))])),
        ("an interrupt outcome without interrupts", len(13, [base(12), len(5, "interrupt")].concat())),
        ("a pointer that is none", len(8, [base(7), len(2, [int(1, 1), len(2, "a")].concat())].concat())),
        ("metadata of an interrupt that is no object", {
            let interrupt = len(6, len(7, int(4, 1)));
            len(13, [base(12), len(5, "interrupt"), interrupt].concat())
        }),
    ] {
        assert!(matches!(decode(&bytes), Err(DecodeError::Field(_))), "{what}: {:?}", decode(&bytes));
    }
}

#[test]
fn the_role_says_where_the_content_is() {
    let [text, parts, object] = [len(3, "t"), len(8, text_part("p")), len(13, "")];
    let json = |role: &str, content: &str| {
        format!(r#"{{"type":"MESSAGES_SNAPSHOT","messages":[{{"role":"{role}","id":""{content}}}]}}"#)
    };
    let [as_text, as_parts, as_object] =
        [r#","content":"t""#, r#","content":[{"type":"text","text":"p"}]"#, r#","content":{}"#];
    for (role, fields, content) in [
        ("developer", vec![&text], as_text),
        ("assistant", vec![], ""),
        ("user", vec![&text], as_text),
        ("user", vec![&parts], as_parts),
        ("user", vec![], r#","content":[]"#),
        ("critic", vec![], ""),
        ("critic", vec![&text], as_text),
        ("critic", vec![&parts], as_parts),
        ("critic", vec![&object], as_object),
    ] {
        let fields: Vec<_> = fields.into_iter().cloned().collect();
        assert_json(&message(role, &fields), &json(role, content));
    }
    let at_message = DecodeError::Content { pointer: "/messages/0".to_owned() };
    for (role, fields) in [
        ("system", vec![&parts]),
        ("reasoning", vec![&text, &object]),
        ("user", vec![&object]),
        ("tool", vec![&text, &parts]),
        ("activity", vec![&object, &text]),
        ("activity", vec![&object, &parts]),
        ("critic", vec![&text, &parts]),
        ("critic", vec![&object, &parts]),
    ] {
        let fields: Vec<_> = fields.into_iter().cloned().collect();
        assert_eq!(decode(&message(role, &fields)), Err(at_message.clone()), "{role}");
    }
    let both = len(22, [base(21), len(5, "t"), len(7, text_part("p"))].concat());
    assert_eq!(decode(&both), Err(DecodeError::Content { pointer: String::new() }));
}

#[test]
fn parts_that_1_0_does_not_have_are_dropped_and_named() {
    let image = |source: Vec<u8>| len(8, len(2, len(1, source)));
    let url = len(2, len(1, "u"));
    let bytes = message(
        "user",
        &[len(8, len(9, "?")), image(url), image(len(7, "?")), len(8, ""), len(8, text_part("t"))],
    );
    let (json, dropped) = json_of(&bytes).unwrap();
    let parts = r#"[{"type":"image","source":{"type":"url","value":"u"}},{"type":"text","text":"t"}]"#;
    let message = format!(r#"{{"role":"user","id":"","content":{parts}}}"#);
    assert_eq!(json, format!(r#"{{"type":"MESSAGES_SNAPSHOT","messages":[{message}]}}"#));
    assert_eq!(dropped, ["/messages/0/content/0", "/messages/0/content/2", "/messages/0/content/3"]);
}

#[test]
fn two_arms_of_a_part_or_a_source_are_refused() {
    let two_types = [text_part("t"), len(2, "")].concat();
    let two_kinds = len(5, len(1, [len(1, ""), len(2, "")].concat()));
    for part in [two_types, two_kinds] {
        for bytes in [
            message("user", &[len(8, &part)]),
            len(22, [base(21), len(7, &part)].concat()),
            len(12, [base(11), len(5, len(5, [len(2, "tool"), len(8, &part)].concat()))].concat()),
        ] {
            assert_eq!(decode(&bytes), Err(DecodeError::SeveralArms));
        }
    }
    // Given in two pieces, the later one counts, as everywhere.
    let source = |arm: Vec<u8>| len(4, len(1, arm));
    let part = len(8, [source(len(1, "")), source(len(2, len(1, "u")))].concat());
    let json = concat!(
        r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"user","id":"","content":"#,
        r#"[{"type":"video","source":{"type":"url","value":"u"}}]}]}"#
    );
    assert_json(&message("user", &[part]), json);
}

#[test]
fn outcomes_keep_whatever_lists_came_with_them() {
    let finished = |fields: &[Vec<u8>]| {
        let bytes = len(13, [base(12), fields.concat()].concat());
        json_of(&bytes).unwrap().0.replace(r#"{"type":"RUN_FINISHED","threadId":"","runId":"","#, "{")
    };
    let interrupt = len(6, [len(1, "i"), len(2, "why")].concat());
    let pending = len(8, "c");
    let [interrupt_json, pending_json] =
        [r#""interrupts":[{"id":"i","reason":"why"}]"#, r#""pendingToolCallIds":["c"]"#];
    assert_eq!(
        finished(&[len(5, "interrupt"), interrupt.clone()]),
        format!(r#"{{"outcome":{{"type":"interrupt",{interrupt_json}}}}}"#)
    );
    assert_eq!(
        finished(&[len(5, "paused"), interrupt.clone(), pending.clone()]),
        format!(r#"{{"outcome":{{"type":"paused",{pending_json},{interrupt_json}}}}}"#)
    );
    assert_eq!(finished(&[interrupt, pending]), format!("{{{pending_json},{interrupt_json}}}"));
    let bytes = len(20, [base(17), len(4, "later"), len(5, "i")].concat());
    let json =
        r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"","outcome":{"type":"later","interruptIds":["i"]}}"#;
    assert_json(&bytes, json);
}

#[test]
fn operations_of_a_later_protocol_keep_their_number() {
    let operation = |op: i64| len(2, [int(1, op.cast_unsigned()), len(2, "/a"), len(4, int(4, 1))].concat());
    let bytes = len(8, [base(7), operation(6), operation(-3), operation(5)].concat());
    let Decoded::Event { event, .. } = decode(&bytes).unwrap() else { panic!() };
    let json = concat!(
        r#"{"type":"STATE_DELTA","delta":[{"op":"6","path":"/a","value":true},"#,
        r#"{"op":"-3","path":"/a","value":true},{"op":"test","path":"/a","value":true}]}"#
    );
    assert_eq!(event.json(), json);
    let departures: Vec<_> = event.departures().iter().map(|departure| &departure.pointer).collect();
    assert_eq!(departures, ["/delta/0", "/delta/1"]);
}

#[test]
fn opaque_values_are_refused_with_their_place() {
    let snapshot = |value: &[u8]| decode(&len(7, [base(6), len(2, value)].concat()));
    let pointer = "/snapshot".to_owned();
    assert_eq!(snapshot(&double(2, f64::NAN)), Err(DecodeError::NotFinite { pointer: pointer.clone() }));
    assert_eq!(snapshot(&len(3, [0xFF])), Err(DecodeError::Utf8 { pointer: pointer.clone() }));
    assert!(matches!(snapshot(&len(6, [0x0A, 9])), Err(DecodeError::Wire(_))));
    let mut deep = int(1, 0);
    for _ in 0..=DEPTH_MAX {
        deep = len(6, len(1, deep));
    }
    let error = snapshot(&deep).unwrap_err();
    assert_eq!(error, DecodeError::TooDeep { pointer });
    assert_eq!(error.to_string(), "value nested too deep. limit=512, path=/snapshot");
}

#[test]
fn groups_without_end_are_refused() {
    for bytes in [vec![0x0B; 10 << 20], len(2, vec![0x0B; 10 << 20]), len(7, len(2, vec![0x0B; 10 << 20]))] {
        assert!(matches!(decode(&bytes), Err(DecodeError::Wire(_))));
    }
}

proptest! {
    #[test]
    fn any_bytes_are_an_event_or_an_error(bytes: Vec<u8>) {
        let _ = decode(&bytes);
    }

    /// Bytes that were an event reach further than any bytes do.
    #[test]
    fn damaged_bytes_are_an_event_or_an_error(
        seed: u64,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut: prop::sample::Index,
    ) {
        let json = any_event(&mut Random::new(seed)).to_string();
        let mut bytes = encode(Received::read(&json).unwrap().event()).unwrap().bytes;
        let _ = decode(&bytes[..cut.index(bytes.len())]);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Ok(Decoded::Event { event, .. }) = decode(&bytes) {
                let _ = encode(event.event());
            }
        }
    }
}
