//! Our frames through the reference's reader, however they are cut.

use crate::{as_javascript, parse, schema, text, to_hex};
use serde_json::{Value, json};
use threadline_interop::peer::Peer;
use threadline_protocol::codec::{SseId, encode_comment, encode_frame};
use threadline_testkit::random::Random;

#[test]
fn the_reference_reads_our_frames() {
    let mut random = Random::new(1);
    let events = schema::events();
    let mut questions = Vec::new();
    for group in events.chunks(25) {
        let mut stream = Vec::new();
        for (index, event) in group.iter().enumerate() {
            let id = SseId::new(format!("cursor-{index}")).expect("no line break");
            encode_frame(&mut stream, event.to_string().as_bytes(), random.chance(50).then_some(&id));
            if random.chance(20) {
                encode_comment(&mut stream, "keep-alive");
            }
        }
        let chunks: Vec<usize> = (0..stream.len() / 8).map(|_| 1 + random.below(16)).collect();
        questions.push(json!({"op": "sse", "hex": to_hex(&stream), "chunks": chunks}));
    }
    for (group, answer) in events.chunks(25).zip(Peer::Node.ask(&questions)) {
        let theirs: Vec<Value> = answer["events"]
            .as_array()
            .unwrap_or_else(|| panic!("{answer}"))
            .iter()
            .map(|event| as_javascript(&parse(text(event))))
            .collect();
        let ours: Vec<Value> = group.iter().map(as_javascript).collect();
        assert_eq!(ours, theirs);
    }
}
