//! Our client against our server, an agent of the npm encoder, and Google's ADK; and over networks that cut connections anywhere.

mod cuts;
mod peers;

use std::time::Duration;
use threadline_client::{Client, ClientOptions, RecoveryOptions};
use threadline_protocol::Message;
use threadline_protocol::content::Content;
use threadline_protocol::stages::fold::Fold;

/// A client that does not wait long.
fn client(url: &str, accept_protobuf: bool) -> Client {
    let recovery = RecoveryOptions { wait_min: Duration::from_millis(1), ..RecoveryOptions::default() };
    let mut options = ClientOptions { recovery, ..ClientOptions::default() };
    options.endpoint.accept_protobuf = accept_protobuf;
    Client::new(url, options).expect("a url")
}

/// What is said: the roles and texts of messages, and the calls of tools.
fn said(held: &Fold) -> Vec<String> {
    let text = |content: &Content<'_>| match content {
        Content::Text(text) => text.to_string(),
        Content::Parts(parts) => format!("{} parts", parts.len()),
    };
    let each = |message: &Message<'static>| match message {
        Message::User(message) => format!("user: {}", text(&message.content)),
        Message::Tool(message) => format!("tool: {}", text(&message.content)),
        Message::Reasoning(message) => format!("reasoning: {}", message.content),
        Message::Assistant(message) => {
            let calls = message.tool_calls.iter().flatten();
            let calls = calls.map(|call| format!("{}({})", call.function.name, call.function.arguments));
            let content = message.content.as_ref().map(ToString::to_string);
            content.into_iter().chain(calls).collect::<Vec<_>>().join(" ")
        }
        other => other.to_json(),
    };
    held.messages().map(each).collect()
}
