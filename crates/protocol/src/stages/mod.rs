//! The stages: small state machines that are fed events one at a time and own no I/O.

pub mod enforce;
pub mod fold;
pub mod translate;
