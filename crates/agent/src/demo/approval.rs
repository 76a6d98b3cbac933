//! An interrupt and its answer.

use crate::context::{Answer, RunContext};
use crate::error::{AgentError, WriteError};
use crate::finish::Finish;
use crate::writer::RunWriter;
use serde_json::{Value, json};
use threadline_protocol::json::JsonObject;
use threadline_protocol::run::Interrupt;

/// Asks, and waits for the next run.
pub(super) async fn ask(writer: &RunWriter) -> Result<Finish, WriteError> {
    writer.say("I have written a letter. I will not send it before you say so.").await?;
    let schema = json!({
        "type": "object",
        "properties": {"approved": {"type": "boolean"}},
        "required": ["approved"],
    });
    let schema = JsonObject::try_from(threadline_protocol::Json::from(schema))?;
    let interrupt = Interrupt::new(writer.new_id(), "confirmation")
        .with_message("May I send the letter?")
        .with_response_schema(schema);
    Ok(Finish::interrupt(interrupt))
}

/// Says what was answered.
pub(super) async fn answered(run: &RunContext, writer: &RunWriter) -> Result<Finish, AgentError> {
    for entry in run.answers() {
        let answer = run.answer(&entry.interrupt_id.to_str());
        writer.say(verdict(answer)).await?;
    }
    Ok(Finish::done())
}

fn verdict(answer: Option<Answer<'_>>) -> &'static str {
    match answer {
        Some(Answer::Resolved(_)) => {
            let payload = answer.and_then(|answer| answer.payload::<Value>().ok().flatten());
            let is_yes = |payload: &Value| payload == &json!(true) || payload["approved"] == json!(true);
            if payload.as_ref().is_some_and(is_yes) {
                "Approved: the letter is sent."
            } else {
                "Denied: the letter stays here."
            }
        }
        Some(Answer::Cancelled) | None => "Nobody decided: the letter stays here.",
    }
}
