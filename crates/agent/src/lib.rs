//! For people who write AG-UI agents in Rust.

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
