//! What 0.x said otherwise, and a 1.0 reader still understands.

use crate::random::Random;
use serde_json::{Value, json};

/// What is open of the thoughts of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OldWords {
    span: bool,
    message: bool,
}

impl OldWords {
    /// What may be said next. `on` says more of what is open, and otherwise it is closed.
    pub(super) const fn next(&mut self, on: bool) -> &'static str {
        match (self.span, self.message) {
            (_, true) if on => "THINKING_TEXT_MESSAGE_CONTENT",
            (false, false) => {
                self.span = true;
                "THINKING_START"
            }
            (true, false) if on => {
                self.message = true;
                "THINKING_TEXT_MESSAGE_START"
            }
            (true, false) => {
                self.span = false;
                "THINKING_END"
            }
            (_, true) => {
                self.message = false;
                "THINKING_TEXT_MESSAGE_END"
            }
        }
    }

    /// What is left to close.
    pub(super) fn close(&mut self) -> Option<&'static str> {
        (self.span || self.message).then(|| self.next(false))
    }
}

/// Writes null where 0.x did and 1.0 leaves the member out.
pub fn add_nulls(event: &mut Value, random: &mut Random) {
    let nulls: &[&str] = match event["type"].as_str().unwrap_or_default() {
        "RUN_FINISHED" => &["rawEvent", "result", "outcome"],
        "SUBAGENT_FINISHED" => &["rawEvent", "result"],
        "TOOL_CALL_START" | "TOOL_CALL_CHUNK" => &["rawEvent", "parentMessageId"],
        _ => &["rawEvent"],
    };
    for member in nulls {
        if event.get(*member).is_none() && random.chance(20) {
            event[*member] = Value::Null;
        }
    }
    if let Some(input) = event.get_mut("input") {
        input["forwardedProps"] = Value::Null;
        input["tools"] = json!([{"name": "t", "description": "d", "parameters": null}]);
        input["resume"] = json!([{"interruptId": "i1", "status": "resolved", "payload": null}]);
    }
}

/// Content with binary parts, some of which repeat a part that is said in the words of 1.0.
#[must_use]
pub fn parts(random: &mut Random) -> Value {
    let part = |random: &mut Random| {
        let mime_type = *random.pick(&["image/png", "audio/wav", "video/mp4", "application/pdf", "text"]);
        let mut part = match random.below(4) {
            0 => json!({"type": "binary", "mimeType": mime_type, "data": "AA=="}),
            1 => json!({"type": "binary", "mimeType": mime_type, "url": "https://example.org/x"}),
            2 => json!({"type": "binary", "mimeType": mime_type, "id": "file-1"}),
            _ => {
                let kind = *random.pick(&["image", "audio", "video", "document"]);
                let source = json!({"type": "data", "value": "AA==", "mimeType": mime_type});
                json!({"type": kind, "source": source, "metadata": null})
            }
        };
        if part["type"] == "binary" && random.chance(30) {
            part["filename"] = "a.bin".into();
        } else if part["type"] != "binary" && random.chance(50) {
            part["metadata"] = json!({"filename": "a.bin"});
        }
        part
    };
    (0..random.below(5)).map(|_| part(random)).collect()
}
