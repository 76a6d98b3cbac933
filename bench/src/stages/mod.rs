//! The stages of a consumer, beside the reference on the same files.

mod conversation;
mod growth;
mod ours;
mod plans;
mod reference;

pub use plans::report;
