//! A page that goes on with an answer after a reload: `cargo run -p threadline-server --example follow`.
//!
//! As in `messages-snapshot`, but `/history` follows: while a run goes on, the same request is sent the rest of it.

#[path = "../shared/mod.rs"]
mod shared;

use std::time::Duration;
use threadline_server::Settings;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let mut settings = Settings::default();
    settings.history.follow = true;
    settings.history.follow_max_duration = Some(Duration::from_secs(30));
    let hint = "Write slow, and reload the page in the middle of the answer: it goes on.";
    shared::serve(settings, "Follow", hint).await
}
