//! What an agent can do behind this server: what it says itself, and what the server adds.

use serde_json::{Map, Value, json};

/// An agent's capabilities with those of the server.
#[must_use]
pub(crate) fn with_ours(mut capabilities: Map<String, Value>, websocket: bool) -> Map<String, Value> {
    let ours = [
        (
            "transport",
            json!({ "streaming": true, "websocket": websocket, "httpBinary": true, "resumable": true }),
        ),
        ("state", json!({ "snapshots": true, "persistentState": true })),
    ];
    for (group, added) in ours {
        let group = capabilities.entry(group).or_insert_with(|| json!({}));
        if let (Value::Object(group), Value::Object(added)) = (group, added) {
            group.extend(added);
        }
    }
    capabilities
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_agent_says_stays() {
        let Value::Object(said) =
            json!({ "identity": { "name": "n" }, "state": { "deltas": true, "persistentState": false } })
        else {
            unreachable!()
        };
        assert_eq!(
            Value::Object(with_ours(said, true)),
            json!({
                "identity": { "name": "n" },
                "state": { "deltas": true, "persistentState": true, "snapshots": true },
                "transport": { "streaming": true, "websocket": true, "httpBinary": true, "resumable": true },
            })
        );
    }
}
