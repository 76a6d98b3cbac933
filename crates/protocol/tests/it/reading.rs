//! What is read where the text is unusual.

use threadline_protocol::event::{Event, TextMessageContent};
use threadline_protocol::{DepartureKind, Envelope, EventType, ReadError, ReadErrorKind, Received};

fn read(json: &str) -> Received<'_> {
    Received::read(json).unwrap_or_else(|error| panic!("{error}\n{json}"))
}

fn fail(json: &str) -> ReadError {
    Received::read(json).map(|received| panic!("{received:?}")).unwrap_err()
}

fn departures(json: &str) -> Vec<(String, DepartureKind)> {
    read(json).departures().iter().map(|departure| (departure.pointer.clone(), departure.kind)).collect()
}

#[test]
fn the_last_of_duplicate_keys_counts() {
    let json = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":5,"delta":"a","messageId":"m","delta":"b","timestamp":null,"timestamp":7}"#;
    let received = read(json);
    assert_eq!(received.departures(), []);
    let Event::TextMessageContent(content) = received.event() else { panic!() };
    assert_eq!((content.message_id.to_str(), content.delta.to_str()), ("m".into(), "b".into()));
    assert_eq!(content.timestamp.unwrap().get(), 7);

    let error = fail(r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a","delta":1}"#);
    assert_eq!(error.pointer(), "/delta");
}

#[test]
fn the_last_of_duplicate_types_counts() {
    let received =
        read(r#"{"type":"TEXT_MESSAGE_END","messageId":"m","delta":"d","type":"TEXT_MESSAGE_CONTENT"}"#);
    assert!(matches!(received.event(), Event::TextMessageContent(_)));
    assert_eq!(received.departures(), []);
    let received = read(r#"{"type":5,"message":"m","type":"RUN_ERROR"}"#);
    assert!(matches!(received.event(), Event::RunError(_)));
    assert!(matches!(
        fail(r#"{"type":"RUN_ERROR","message":"m","type":5}"#).kind(),
        ReadErrorKind::NotAnEvent(_)
    ));
    let received = read(
        r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"tool","content":"c","name":"n","role":"user"}]}"#,
    );
    assert_eq!(received.departures(), []);
}

#[test]
fn a_discriminator_that_is_not_known_may_yet_be_overruled() {
    let received = read(r#"{"type":"VENDOR","message":"m","type":"RUN_ERROR"}"#);
    assert!(matches!(received.event(), Event::RunError(_)));
    let received = read(r#"{"type":"RUN_ERROR","message":"m","type":"VENDOR"}"#);
    assert!(matches!(received.event(), Event::Unknown(_)));
    let json =
        r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"oracle","content":"c","role":"user"}]}"#;
    assert_eq!(read(json).departures(), []);
    let json = r#"{"type":"STATE_DELTA","delta":[{"op":"zap","path":"/a","op":"remove"}]}"#;
    assert_eq!(read(json).departures(), []);
    let json = r#"{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/a","op":"zap"}]}"#;
    assert_eq!(departures(json), [("/delta/0".to_owned(), DepartureKind::UnknownVariant)]);
}

#[test]
fn what_was_overruled_hides_nothing_that_follows() {
    let many: String = (0..2_000).map(|at| format!(r#","x{at}":1"#)).collect();
    let json = format!(
        r#"{{"type":"MESSAGES_SNAPSHOT","messages":[{{"id":"m","role":"user","content":""{many}}}],"messages":[],"vendor":1}}"#
    );
    assert_eq!(departures(&json), [("/vendor".to_owned(), DepartureKind::UnknownMember)]);
    let json = format!(
        r#"{{"type":"MESSAGES_SNAPSHOT","messages":[{{"id":"m","role":"user","content":""{many},"role":"system","y":1}}]}}"#
    );
    assert_eq!(read(&json).departures().len(), 2_001);
}

#[test]
fn the_type_may_stand_anywhere_and_be_written_in_any_way() {
    let received = read(r#" {"messageId":"m" , "t\u0079pe":"TEXT\u005fMESSAGE_END"}"#);
    assert!(matches!(received.event(), Event::TextMessageEnd(_)));
    assert_eq!(received.departures(), []);
}

#[test]
fn halves_of_an_emoji_survive_and_join() {
    let first = read(r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x\ud83d"}"#);
    let second = read(r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\ude00y"}"#);
    let [Event::TextMessageContent(first_half), Event::TextMessageContent(second_half)] =
        [first.event(), second.event()]
    else {
        panic!()
    };
    assert_eq!(first_half.delta.as_str(), None);
    assert_eq!(first.event().to_json(), first.json());
    let mut joined = first_half.delta.clone();
    joined.push(&second_half.delta);
    assert_eq!(joined.as_str(), Some("x😀y"));
    assert_eq!(
        Event::from(TextMessageContent::new("m", joined)).to_json(),
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x😀y"}"#
    );
}

#[test]
fn opaque_values_keep_their_spelling() {
    let json = r#"{"type":"CUSTOM","name":"n","value":{"b":12345678901234567890123,"a":[1.50,1E2,-0,"\u00e9"]},"rawEvent":9007199254740993}"#;
    assert_eq!(read(json).event().to_json(), json);
}

#[test]
fn absent_null_and_value_are_three_things() {
    for (json, value) in [
        (r#"{"type":"STATE_SNAPSHOT","snapshot":null}"#, Some("null")),
        (r#"{"type":"STATE_SNAPSHOT","snapshot":0}"#, Some("0")),
        (r#"{"type":"STATE_SNAPSHOT"}"#, None),
    ] {
        match (Received::read(json).map(Received::into_event), value) {
            (Ok(Event::StateSnapshot(event)), Some(value)) => assert_eq!(event.snapshot.as_str(), value),
            (Err(error), None) => assert_eq!(*error.kind(), ReadErrorKind::Missing("snapshot")),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(
        departures(r#"{"type":"CUSTOM","name":"n","value":null,"rawEvent":null}"#),
        [("/rawEvent".to_owned(), DepartureKind::NullOptional)]
    );
    assert!(
        fail(r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a"}]}"#)
            .to_string()
            .contains("missing field value")
    );
}

#[test]
fn integers_are_those_of_javascript() {
    for (number, accepted) in [
        ("5", true),
        ("5.0", true),
        ("1e3", true),
        ("5.5", false),
        ("9007199254740992", false),
        ("\"5\"", false),
    ] {
        let json = format!(r#"{{"type":"RUN_ERROR","message":"m","timestamp":{number}}}"#);
        assert_eq!(Received::read(&json).is_ok(), accepted, "{number}");
    }
}

#[test]
fn errors_say_where() {
    let error = fail(
        r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":5,"arguments":""}}]}]}"#,
    );
    assert_eq!(error.pointer(), "/messages/0/toolCalls/0/function/name");
    assert_eq!(
        error.to_string(),
        "expected a string, found a number. path=/messages/0/toolCalls/0/function/name, byte=129"
    );
    assert_eq!(fail(r#"{"type":"RUN_ERROR""#).to_string(), "not JSON: unexpected end of JSON. byte=19");
    assert_eq!(fail("[]").to_string(), "not an event: no JSON object. byte=0");
    assert_eq!(fail(r#"{"type":""}"#).to_string(), "not an event: no type. byte=0");
    assert_eq!(Received::read_bytes(b"{\"type\":\"\xff\"}").unwrap_err().to_string(), "not UTF-8. byte=9");
}

#[test]
fn broken_json_is_unreadable_whatever_else_is_wrong() {
    assert!(fail(r#"{"type":"RUN_ERROR","message":5,"#).is_unreadable());
    assert!(fail(r#"{"type":"RUN_ERROR"} x"#).is_unreadable());
    assert!(!fail(r#"{"type":"RUN_ERROR","message":5}"#).is_unreadable());
}

#[test]
fn departures_are_found_where_they_are() {
    assert_eq!(
        departures(
            r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","x":1,"input":{"threadId":"t","runId":"r","messages":[
            {"role":"user","id":"u","content":[{"type":"text","text":"t","y":1},{"type":"smell"}],"name":null},{"role":"oracle"}],
            "resume":[{"interruptId":"i","status":"maybe"}],"state":null}}"#
        ),
        [
            ("/x", DepartureKind::UnknownMember),
            ("/input/messages/0/content/0/y", DepartureKind::UnknownMember),
            ("/input/messages/0/content/1", DepartureKind::UnknownVariant),
            ("/input/messages/0/name", DepartureKind::NullOptional),
            ("/input/messages/1", DepartureKind::UnknownVariant),
            ("/input/resume/0/status", DepartureKind::UnknownToken),
        ]
        .map(|(pointer, kind)| (pointer.to_owned(), kind))
    );
}

#[test]
fn unknown_things_survive_a_rewrite() {
    let json = r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"oracle","n":1.0},{"role":"user","id":"u","content":[{"type":"smell","of":"rain"}],"mood":"\u0067ood"}],"future":[1e1]}"#;
    assert_eq!(read(json).event().to_json(), json);
}

#[test]
fn unknown_events_are_kept_whole() {
    let json = r#" {"type":"VENDOR_THING","n":1.0} "#;
    let received = read(json);
    let Event::Unknown(event) = received.event() else { panic!() };
    assert_eq!(*event.event_type(), "VENDOR_THING");
    assert_eq!(event.as_json().as_str(), json.trim());
    assert_eq!(received.json(), json);
}

#[test]
fn depth_is_no_problem() {
    let json = format!(r#"{{"type":"RAW","event":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(read(&json).event().to_json(), json);
}

#[test]
fn an_envelope_is_the_type_and_nothing_else() {
    let envelope = Envelope::read(r#"{"messageId":5,"type":"TEXT_MESSAGE_END"}"#).unwrap();
    assert_eq!(envelope.event_type(), Some(EventType::TextMessageEnd));
    let envelope = Envelope::read(r#"{"type":"VENDOR"}"#).unwrap();
    assert_eq!((envelope.event_type(), envelope.type_name().to_str()), (None, "VENDOR".into()));
    for bad in
        ["", "5", "{}", r#"{"type":""}"#, r#"{"type":"X","type":1}"#, r#"{"type":"X"} y"#, r#"{"type":"X",}"#]
    {
        assert!(Envelope::read(bad).unwrap_err().is_unreadable(), "{bad}");
    }
}
