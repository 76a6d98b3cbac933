//! Reading costs a small multiple of the text, whatever the text is. A binary of its own, because it watches the
//! allocator.

use peak_alloc::PeakAlloc;
use threadline_protocol::stages::enforce::enforce;
use threadline_protocol::stages::translate::Translator;
use threadline_protocol::{Envelope, Received, UnknownWords};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Peak of the memory that `work` needs, in bytes for each byte of `text`.
fn cost(text: &str, work: impl FnOnce(&str)) -> usize {
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.peak_usage();
    work(text);
    (ALLOCATOR.peak_usage() - before) / text.len()
}

#[test]
fn hostile_texts_cost_a_small_multiple() {
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
