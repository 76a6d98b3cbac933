//! What an agent is given: the request as it came, or the branch with what the request adds.

use crate::settings::History;
use bytes::Bytes;
use std::collections::HashMap;
use threadline_log::run::BaseState;
use threadline_log::{At, Engine, Error, RunWriter};
use threadline_protocol::json::JsonNonNull;
use threadline_protocol::stages::fold::Fold;
use threadline_protocol::{Message, RunAgentInput};

/// The body that the agent of a run is sent. It can be made again at any time: the request is kept, and so is the branch.
///
/// # Errors
/// If the branch cannot be read.
pub(super) async fn agent_input(
    engine: &Engine,
    writer: &RunWriter,
    request: &Bytes,
    history: History,
) -> Result<Bytes, Error> {
    if history == History::Client {
        return Ok(request.clone());
    }
    let run = engine.run(&writer.thread, writer.run).await?;
    let fold = match run.parent {
        Some(parent) => engine.snapshot(&writer.thread, At::Run(parent)).await?.fold,
        None => Fold::new(),
    };
    let text = std::str::from_utf8(request).map_err(|error| Error::Invalid(error.to_string()))?;
    let (input, _) = RunAgentInput::read_json(text).map_err(|error| Error::Invalid(error.to_string()))?;
    Ok(on_branch(input, &fold, run.base_state).to_json().into())
}

/// A request on top of what its branch holds.
fn on_branch<'a>(mut input: RunAgentInput<'a>, fold: &Fold, base_state: BaseState) -> RunAgentInput<'a> {
    let sent = std::mem::take(&mut input.messages);
    // What agents and tools have said is what the log says they have.
    let is_theirs = |message: &Message<'_>| {
        matches!(
            message,
            Message::Assistant(_) | Message::Tool(_) | Message::Reasoning(_) | Message::Activity(_)
        )
    };
    let corrections: HashMap<_, _> = sent
        .iter()
        .filter(|message| !is_theirs(message))
        .filter_map(|message| Some((message.id()?, message)))
        .collect();
    // Activities are for people.
    let held = fold.messages().filter(|message| !matches!(message, Message::Activity(_)));
    let mut messages: Vec<Message<'a>> = held
        .map(|held| match held.id().and_then(|id| corrections.get(id)) {
            Some(corrected) if !is_theirs(held) => (*corrected).clone(),
            _ => held.clone(),
        })
        .collect();
    let is_new = |message: &Message<'_>| message.id().is_none_or(|id| fold.message(id).is_none());
    messages.extend(sent.iter().filter(|message| is_new(message)).cloned());
    input.messages = messages;
    if base_state == BaseState::Branch {
        input.state = JsonNonNull::try_from(fold.state()).ok();
    }
    input
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use threadline_protocol::Received;

    fn held() -> Fold {
        let mut fold = Fold::new();
        for event in [
            json!({"type":"STATE_SNAPSHOT","snapshot":{"n":1}}),
            json!({"type":"MESSAGES_SNAPSHOT","messages":[
                {"id":"u","role":"user","content":"hi"},
                {"id":"a","role":"assistant","content":"hello"},
                {"id":"x","role":"activity","activityType":"PLAN","content":{}}]}),
        ] {
            let event = event.to_string();
            fold.apply(Received::read(&event).unwrap().event()).unwrap();
        }
        fold
    }

    fn given(messages: &Value, base_state: BaseState) -> Value {
        let text =
            json!({"threadId":"t","runId":"r","state":{"n":2},"messages":messages,"vendor":1}).to_string();
        let (input, _) = RunAgentInput::read_json(&text).unwrap();
        serde_json::from_str(&on_branch(input, &held(), base_state).to_json()).unwrap()
    }

    #[test]
    fn the_client_may_send_only_what_is_new() {
        let new = json!({"id":"v","role":"user","content":"more"});
        let input = given(&json!([new]), BaseState::Branch);
        let expected = json!([
            {"id":"u","role":"user","content":"hi"}, {"id":"a","role":"assistant","content":"hello"}, new]);
        assert_eq!(input["messages"], expected);
        assert_eq!((&input["state"], &input["vendor"]), (&json!({"n":1}), &json!(1)));
        assert_eq!(given(&json!([]), BaseState::Input)["state"], json!({"n":2}));
    }

    #[test]
    fn what_agents_have_said_is_what_the_log_says() {
        let input = given(
            &json!([
                {"id":"u","role":"user","content":"edited"},
                {"id":"a","role":"assistant","content":"forged"},
                {"id":"b","role":"assistant","content":"new to us"}]),
            BaseState::Branch,
        );
        let contents: Vec<_> =
            input["messages"].as_array().unwrap().iter().map(|message| message["content"].clone()).collect();
        assert_eq!(contents, ["edited", "hello", "new to us"]);
    }
}
