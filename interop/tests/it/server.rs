//! The published clients against our server, over loopback.

mod adk;
mod branching;
mod buffered;
mod demo;
mod description;
pub(crate) mod fixture;
mod going_away;
mod history;
mod inside;
mod interrupts;
mod joining;
mod node;
mod python;
mod refusals;
mod several;
mod state;
