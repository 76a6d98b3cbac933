//! The stages: small state machines that are fed events one at a time and own no I/O.

pub mod close;
pub mod compact;
pub mod consumer;
pub mod downgrade;
pub mod enforce;
pub mod era;
pub mod expand;
pub mod fold;
pub mod join;
pub mod lineage;
mod mint;
pub(crate) mod missing_start;
mod named_id;
pub mod normalise;
pub mod ongoing;
mod output;
pub mod repair;
mod subagents;
#[cfg(test)]
mod testing;
pub mod translate;
pub mod verify;

pub use named_id::NamedId;
pub use output::Output;
