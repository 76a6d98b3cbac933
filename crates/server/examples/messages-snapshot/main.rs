//! A page that shows the same conversation after a reload: `cargo run -p threadline-server --example messages-snapshot`.
//!
//! The server has the demo agent and a store in memory. The page sends runs to `/agui`, and when it is loaded it asks `/history` for
//! the messages: RUN_STARTED, MESSAGES_SNAPSHOT, RUN_FINISHED.

#[path = "../shared/mod.rs"]
mod shared;

use threadline_server::Settings;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let hint = "Write something (help, tool, think), then reload the page.";
    shared::serve(Settings::default(), "Messages snapshot", hint).await
}
