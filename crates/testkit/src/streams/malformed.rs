//! Nulls and other values that are no values, where the reference's verifier looks for them.

use crate::random::Random;
use serde_json::{Value, json};

/// Puts one thing into a stream that no event may have.
pub(super) fn spoil(events: &mut Vec<Value>, random: &mut Random) {
    let at = random.below(events.len());
    let message = json!([{"id": "n", "role": "user", "content": "", "subagentRunId": null}]);
    let event = match random.below(6) {
        0 => {
            events[at]["subagentRunId"] = Value::Null;
            return;
        }
        1 => subagent(random),
        2 => json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r1", "outcome": {"type": "interrupt",
            "interrupts": [{"id": "i", "reason": "confirmation", "subagentRunId": null}]}}),
        3 => json!({"type": "MESSAGES_SNAPSHOT", "messages": message}),
        4 => json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r1",
            "input": {"threadId": "t", "runId": "r1", "messages": message}}),
        _ => unnamed(random),
    };
    events.insert(at, event);
}

/// A subagent with an optional member that is null, or an outcome that is none.
fn subagent(random: &mut Random) -> Value {
    let started = json!({"type": "SUBAGENT_STARTED", "subagentRunId": "n", "name": "helper"});
    let finished = json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "n"});
    let error = json!({"type": "SUBAGENT_ERROR", "subagentRunId": "n", "message": "failed"});
    let (mut event, member, value) = match random.below(8) {
        0 => (started, "description", Value::Null),
        1 => (started, "parentSubagentRunId", Value::Null),
        2 => (started, "parentToolCallId", Value::Null),
        3 => (started, "parentMessageId", Value::Null),
        4 => (finished, "outcome", Value::Null),
        5 => (finished, "outcome", json!({"type": "suspended", "interruptIds": null})),
        6 => (finished, "outcome", json!({"type": "suspended", "interruptIds": [1]})),
        _ => (error, "code", Value::Null),
    };
    event[member] = value;
    event
}

/// A subagent without what it must have.
fn unnamed(random: &mut Random) -> Value {
    match random.below(4) {
        0 => json!({"type": "SUBAGENT_STARTED", "subagentRunId": "n"}),
        1 => json!({"type": "SUBAGENT_STARTED", "subagentRunId": 1, "name": "helper"}),
        2 => json!({"type": "SUBAGENT_FINISHED", "subagentRunId": 1}),
        _ => json!({"type": "SUBAGENT_ERROR", "subagentRunId": "n"}),
    }
}
