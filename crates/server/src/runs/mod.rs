//! Runs: started, executed, kept and ended, whoever watches.

mod active;
mod agent_input;
mod execution;
pub mod ingest;
mod keeping;
mod live;
pub mod source;
mod supervisor;

pub use active::Phase;
pub use live::Joined;
pub(crate) use live::Tiding;
pub use supervisor::{Begun, Cancelled, Runs, Start};
