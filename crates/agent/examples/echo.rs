//! The smallest agent: says what the user said. `cargo run -p threadline-agent --example echo`, then
//!
//! ```sh
//! curl -N http://127.0.0.1:4000/ -H 'content-type: application/json' \
//!   -d '{"threadId":"t1","runId":"r1","protocolVersion":"1.0","messages":[{"id":"m1","role":"user","content":"Hi!"}]}'
//! ```

use std::sync::Arc;
use threadline_agent::protocol::capabilities::AgentCapabilities;
use threadline_agent::serve::Handler;
use threadline_agent::{Agent, AgentError, Capabilities, Finish, RunContext, RunWriter, async_trait};
use tokio::net::TcpListener;

struct Echo;

#[async_trait]
impl Agent for Echo {
    async fn run(&self, run: RunContext, writer: RunWriter) -> Result<Finish, AgentError> {
        let mut answer = writer.text().await?;
        for word in run.user_text().split_inclusive(' ') {
            answer.push(word).await?;
        }
        Ok(Finish::done())
    }

    fn capabilities(&self) -> AgentCapabilities<'static> {
        Capabilities::new().named("Echo").described("Says what you say.").build()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:4000".to_owned());
    let listener = TcpListener::bind(address).await?;
    #[expect(clippy::print_stdout, reason = "a program for people")]
    {
        println!("listening on http://{}", listener.local_addr()?);
    }
    axum::serve(listener, Handler::new(Arc::new(Echo)).into_router()).await
}
