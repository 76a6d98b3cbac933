//! Reading costs a small multiple of the text, whatever the text is. A binary of its own, because it watches the
//! allocator.

use peak_alloc::PeakAlloc;
use std::sync::Mutex;
use threadline_protocol::stages::enforce::enforce;
use threadline_protocol::stages::translate::Translator;
use threadline_protocol::{Envelope, Received, UnknownWords};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Only one test may watch at a time.
static WATCHING: Mutex<()> = Mutex::new(());

/// Peak of the memory that `work` needs, in bytes for each byte of `input`.
fn cost<T: AsRef<[u8]> + ?Sized>(input: &T, work: impl FnOnce(&T)) -> usize {
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.peak_usage();
    work(input);
    (ALLOCATOR.peak_usage() - before) / input.as_ref().len()
}

/// A protobuf message of field `field` with this content.
fn field(field: u8, content: &[u8]) -> Vec<u8> {
    let mut len = content.len();
    let mut bytes = vec![field << 3 | 2];
    while len >= 0x80 {
        bytes.push(u8::try_from(len & 0x7F).expect("seven bits") | 0x80);
        len >>= 7;
    }
    bytes.push(u8::try_from(len).expect("seven bits"));
    bytes.extend_from_slice(content);
    bytes
}

#[test]
fn hostile_protobuf_costs_a_small_multiple() {
    let _alone = WATCHING.lock();
    // The base event says which type it is; the list is of empty messages.
    let event = |arm: u8, event_type: u8, list: u8| {
        field(arm, &[field(1, &[8, event_type]), field(list, &[]).repeat(1 << 18)].concat())
    };
    let nested = |depth: usize| (0..depth).fold(field(1, &[]), |value, _| field(6, &field(1, &value)));
    for (what, bytes) in [
        ("usage", event(14, 13, 4)),
        ("operations", event(8, 7, 2)),
        ("messages", event(9, 8, 2)),
        ("interrupts", event(13, 12, 6)),
        (
            "input messages",
            field(12, &[field(1, &[8, 11]), field(5, &field(5, &[]).repeat(1 << 18))].concat()),
        ),
        ("tools", field(12, &[field(1, &[8, 11]), field(5, &field(6, &[]).repeat(1 << 18))].concat())),
        ("nesting", field(10, &[field(1, &[8, 9]), field(2, &nested(20_000))].concat())),
    ] {
        let decode = cost(&bytes, |bytes| drop(threadline_protocol::proto::decode(bytes)));
        println!("decode {decode}: {what}");
        assert!(decode <= 96, "{decode} times the bytes to decode {what}");
    }
}

#[test]
fn hostile_texts_cost_a_small_multiple() {
    let _alone = WATCHING.lock();
    let many = |prefix: &str, item: &str, suffix: &str| {
        let count = (1 << 20) / (item.len() + 1);
        format!("{prefix}{}{suffix}", vec![item; count].join(","))
    };
    let snapshot = r#"{"type":"MESSAGES_SNAPSHOT","messages":["#;
    let texts = [
        many(snapshot, "{}", "]}"),
        many(snapshot, r#"{"id":"","role":"user","content":""}"#, "]}"),
        many(snapshot, r#"{"id":"","role":"user","content":[],"name":null}"#, "]}"),
        many(r#"{"type":"STATE_DELTA","delta":["#, "{}", "]}"),
        many(r#"{"type":"STATE_DELTA","delta":["#, r#"{"op":"remove","path":""}"#, "]}"),
        many(r#"{"type":"RUN_ERROR","message":"","usage":["#, "{}", "]}"),
        many(r#"{"type":"RUN_ERROR","message":"","usage":["#, r#"{"model":null}"#, "]}"),
        many(r#"{"type":"TOOL_CALL_RESULT","messageId":"","toolCallId":"","content":["#, "{}", "]}"),
        many(
            r#"{"type":"RUN_FINISHED","threadId":"","runId":"","outcome":{"type":"success","pendingToolCallIds":["#,
            r#""""#,
            "]}}",
        ),
        many(r#"{"type":"RUN_ERROR","message":"","#, r#""x":0"#, "}"),
        many(r#"{"type":"RUN_ERROR","#, r#""message":0"#, r#","message":""}"#),
        many(r#"{"type":"RUN_ERROR","usage":[{"model":null}],"#, r#""message":"\u0000""#, "}"),
        many(r#"{"type":"RAW","event":["#, "[[[[", "]}"),
        format!(r#"{{"type":"RAW","event":{}"#, "[".repeat(1 << 20)),
        format!(r#"{{"type":"RUN_ERROR","message":"{}"}}"#, "\\ud800".repeat(1 << 17)),
    ];
    for text in texts {
        let shown = &text[..text.len().min(120)];
        let envelope = cost(&text, |text| drop(Envelope::read(text)));
        assert!(envelope <= 1, "{envelope} times the text for the envelope of {shown}");
        let read = cost(&text, |text| drop(Received::read(text)));
        assert!(read <= 64, "{read} times the text to read {shown}");
        let stages = cost(&text, |text| {
            if let Ok(received) = Received::read(text)
                && let Ok(translated) = Translator::new().translate(received)
            {
                drop(enforce(translated.event, UnknownWords::Refuse));
            }
        });
        assert!(stages <= 96, "{stages} times the text for the stages on {shown}");
        println!("envelope {envelope}, read {read}, stages {stages}: {shown}");
    }
}
