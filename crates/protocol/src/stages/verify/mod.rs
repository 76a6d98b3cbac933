//! The verify stage: whether a stream of events keeps to the sequence rules of AG-UI 1.0.
//!
//! One engine, two ways to use it. A report goes on after a violation, as if the event had not been there; a strict reader
//! stops at the first error, which is at the same event as in the reference's `verifyEvents`.
//!
//! The stage wants what [`enforce`](super::enforce) lets through. The reference's verifier also looks for nulls, wrong
//! types and unknown outcomes (G5, G6, G7, and parts of V17 to V20, by their labels). A typed [`Event`] has no place for
//! most of them, and enforcement refuses or strips the rest, so those rules are not here. Chunks pass, as in the reference:
//! [`expand`](super::expand) comes before.
//!
//! Beyond the reference there are warnings about what the prose of 1.0 forbids and the reference accepts. Each can be
//! made an error.
//!
//! [`Event`]: crate::Event

mod findings;
mod id_set;
mod ledger;
mod open;
mod owners;
mod rule;
mod run;
mod runs;
mod steps;
#[cfg(test)]
mod tests;
mod verifier;
mod violation;

pub(super) use open::{OpenThing, OpenThings};
pub(super) use owners::Owner;
pub use rule::{Options, Rule, Severity};
pub use verifier::{Verifier, verify_all};
pub use violation::Violation;
