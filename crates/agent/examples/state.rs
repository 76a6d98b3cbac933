//! Shared state: a shopping list that the user and the agent both change. What the user writes is put on the list.
//! `cargo run -p threadline-agent --example state`

use serde::{Deserialize, Serialize};
use std::sync::Arc;
use threadline_agent::serve::Handler;
use threadline_agent::{AgentError, Capabilities, RunContext, RunWriter, agent_fn};
use tokio::net::TcpListener;

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Shopping {
    items: Vec<String>,
}

async fn shop(run: RunContext, writer: RunWriter) -> Result<(), AgentError> {
    // What the client has, also if its user has changed it since the last run.
    let mut list: Shopping = run.state()?;
    for item in run.user_text().split(',').map(str::trim).filter(|item| !item.is_empty()) {
        list.items.push(item.to_owned());
        // While the list is small it is sent whole, later only what changed.
        writer.set_state(&list).await?;
    }
    writer.say(&format!("There are {} things on the list.", list.items.len())).await?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:4000".to_owned());
    let listener = TcpListener::bind(address).await?;
    #[expect(clippy::print_stdout, reason = "a program for people")]
    {
        println!("listening on http://{}", listener.local_addr()?);
    }
    let agent = agent_fn(shop).with_capabilities(Capabilities::new().named("Shopping").with_state().build());
    axum::serve(listener, Handler::new(Arc::new(agent)).into_router()).await
}
