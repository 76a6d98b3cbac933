//! The server, asked over its routes, on a store in memory, with agents that say what a test wants.

mod attaching;
mod cancelling;
mod examples;
mod harness;
mod history;
mod interrupts;
mod puppet;
mod records;
mod refusals;
mod resuming;
mod running;
