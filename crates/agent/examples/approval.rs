//! A person in the loop: the agent asks before it acts, and the next run has the answer.
//! `cargo run -p threadline-agent --example approval`

use serde::Deserialize;
use std::sync::Arc;
use threadline_agent::protocol::run::Interrupt;
use threadline_agent::serve::Handler;
use threadline_agent::{AgentError, Answer, Capabilities, Finish, RunContext, RunWriter, agent_fn};
use tokio::net::TcpListener;

#[derive(Deserialize)]
struct Decision {
    approved: bool,
}

async fn deploy(run: RunContext, writer: RunWriter) -> Result<Finish, AgentError> {
    let Some(entry) = run.answers().first() else {
        writer.say("Everything is built.").await?;
        let question = Interrupt::new(writer.new_id(), "confirmation").with_message("Deploy?");
        return Ok(Finish::interrupt(question));
    };
    let answer = run.answer(&entry.interrupt_id.to_str()).unwrap_or(Answer::Cancelled);
    if answer.payload::<Decision>()?.is_some_and(|decision| decision.approved) {
        let step = writer.step("deploy").await?;
        writer.say("Deployed.").await?;
        step.finish().await?;
    } else {
        writer.say("Not deployed.").await?;
    }
    Ok(Finish::done())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:4000".to_owned());
    let listener = TcpListener::bind(address).await?;
    #[expect(clippy::print_stdout, reason = "a program for people")]
    {
        println!("listening on http://{}", listener.local_addr()?);
    }
    let says = Capabilities::new().named("Deploy").with_approvals().build();
    axum::serve(listener, Handler::new(Arc::new(agent_fn(deploy).with_capabilities(says))).into_router())
        .await
}
