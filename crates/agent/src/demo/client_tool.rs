//! A tool of the client's and its result.

use crate::context::{RunContext, text_of};
use crate::error::AgentError;
use crate::finish::Finish;
use crate::writer::RunWriter;
use serde_json::json;

/// The tool that is called if the client offers none. A client that does not know it answers so.
const DEFAULT_TOOL: &str = "confirm";

/// Calls a tool of the client's and ends: the client answers in the next run.
pub(super) async fn ask(run: &RunContext, writer: &RunWriter) -> Result<Finish, AgentError> {
    let tool = run.tools().first().map_or_else(|| DEFAULT_TOOL.into(), |tool| tool.name.to_str());
    let mut message = writer.text().await?;
    message.push(&format!("I ask your tool {tool}.")).await?;
    let mut call = message.tool_call(&tool).await?;
    message.end().await?;
    call.arguments(&json!({"question": "Shall we go on?"})).await?;
    call.end().await?;
    Ok(Finish::done())
}

/// Says what the tool returned.
pub(super) async fn answered(run: &RunContext, writer: &RunWriter) -> Result<Finish, AgentError> {
    for result in run.tool_results() {
        let text = match &result.error {
            Some(error) => format!("Your tool failed: {}", error.to_str()),
            None => format!("Your tool answered: {}", text_of(&result.content)),
        };
        writer.say(&text).await?;
    }
    Ok(Finish::done())
}
