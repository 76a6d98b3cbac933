//! Runs: started, executed, kept and ended, whoever watches.

mod active;
mod agent_input;
mod execution;
pub mod ingest;
pub mod source;
mod supervisor;

pub use active::Phase;
pub use supervisor::{Cancelled, Runs, Start};
