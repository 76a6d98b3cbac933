//! For people who write AG-UI agents in Rust.
//!
//! An agent is whatever implements [`Agent`]. A run of it gets a [`RunContext`], which is what it is asked, and a
//! [`RunWriter`], which is what it writes with, and returns how it ended: a [`Finish`], or an [`AgentError`].
//!
//! ```
//! use serde_json::json;
//! use threadline_agent::{Agent, AgentError, Finish, RunContext, RunWriter, async_trait};
//!
//! struct Weather;
//!
//! #[async_trait]
//! impl Agent for Weather {
//!     async fn run(&self, run: RunContext, writer: RunWriter) -> Result<Finish, AgentError> {
//!         // A thought, a step and a message end when they are dropped, or by `end` and `finish`.
//!         let mut thought = writer.reasoning().await?;
//!         thought.push("Which city is meant?").await?;
//!         thought.end().await?;
//!
//!         // A call of a tool of our own. Without a result it would be left to the client.
//!         let mut call = writer.tool_call("forecast").await?;
//!         call.push(r#"{"city":"#).await?;
//!         call.push(r#""Paris"}"#).await?;
//!         call.end().await?.result("sunny").await?;
//!
//!         // Any `Serialize` is a state. The client has it when this returns and the event is read.
//!         writer.set_state(&json!({"city": "Paris"})).await?;
//!
//!         // What a subagent writes is the subagent's; the rest is as above.
//!         let poet = writer.subagent("poet").await?;
//!         poet.say("Sun on the Seine.").await?;
//!         poet.finish().await?;
//!
//!         let mut answer = writer.text().await?;
//!         answer.push("It is sunny: ").await?;
//!         answer.push(&run.user_text()).await?;
//!         Ok(Finish::done())
//!     }
//! }
//! ```
//!
//! # What cannot go wrong
//!
//! - A run is RUN_STARTED, what was written, and one of RUN_FINISHED and RUN_ERROR, in an order that the strictest client
//!   accepts, whatever the agent does: whether it returns early, fails, panics, is cancelled, forgets things or uses an id
//!   twice. What is left open is closed; a call that was not completed gets a result that says so.
//! - An agent is no faster than its reader: writing waits while [too many](RunOptions::with_waiting_max) events do.
//! - When a run is cancelled or its reader is gone, writing gives [`WriteError::Cancelled`], which `?` turns into the end of
//!   the run. Something slow stands in a `select!` with [`RunWriter::cancelled`].
//! - Nothing is drawn or clocked: the same input gives the same events, [ids](IdSource) included.
//!
//! # People in the loop
//!
//! A run that needs an answer ends: [`Finish::interrupt`]. The next run of the thread has it: [`RunContext::answer`]. The
//! client's tools are called by ending a call without a result; what they returned is in [`RunContext::tool_results`].
//!
//! # Serving
//!
//! `serve::Handler` is the agent over HTTP for axum (the feature `serve`, on by default). [`run_agent`] gives the events of
//! one run, for anything else: a [`Run`] is a stream of [`RunEvent`]s. [`demo::Demo`] is an agent to try things with. The
//! crate's examples are complete programs.

mod agent;
mod capabilities;
mod context;
pub mod demo;
mod error;
mod finish;
mod ids;
mod ledger;
mod options;
mod outlet;
mod run;
#[cfg(feature = "serve")]
pub mod serve;
mod state;
pub mod writer;

pub use agent::{Agent, FnAgent, agent_fn};
pub use async_trait::async_trait;
pub use capabilities::Capabilities;
pub use context::{Answer, RunContext, text_of};
pub use error::{AgentError, WriteError};
pub use finish::{Finish, InterruptsError};
pub use ids::{DerivedIds, IdSource};
pub use options::RunOptions;
pub use outlet::RunEvent;
pub use run::{Canceller, Run, run_agent};
pub use state::STATE_SNAPSHOT_BYTES_MAX;
pub use threadline_protocol as protocol;
pub use writer::RunWriter;
