//! Evidence of one run: a small artifact, strictly bounded, of what an AG-UI integration said that a thread's messages are.
//!
//! An [`Artifact`] is made by a [`Deriver`] from the events of one run, or read by [`check`]. Where it came from is said beside
//! it, in a [`Statement`], which can be signed ([`SigningKey`], [`Envelope`]). [`Verification`](verify::Verification) answers level by
//! level. What is refused has a [`Reason`].
//!
//! Everything here says what was observed, and no more: see [`DOES_NOT_CLAIM`]. There is no I/O, no clock, and no randomness but
//! where a key is made.

pub mod artifact;
pub mod bounds;
mod check;
mod derive;
pub mod diff;
pub mod digest;
mod envelope;
mod json;
mod key;
mod projection;
mod reason;
mod statement;
mod text;
mod time;
pub mod verify;

pub use artifact::Artifact;
pub use check::check;
pub use derive::{Derived, Deriver, Dropped, Times};
pub use envelope::{Envelope, EnvelopeError};
pub use key::{KeyError, PublicKey, SigningKey};
pub use reason::{Reason, Refusal, Refused};
pub use statement::{ChainValue, Scope, Source, SourceKind, Statement, StatementError};

/// What nothing here claims, in the words of every output.
pub const DOES_NOT_CLAIM: &[&str] = &[
    "that the stream was complete, or that nothing came before or after it",
    "that the run can be replayed from this",
    "anything about state, activities, tools or reasoning",
    "which branch the run is on, or that it has no parent where none is named",
    "that the messages are true, or that RUN_FINISHED means success",
    "when anything happened, beyond the label of the named clock",
];
