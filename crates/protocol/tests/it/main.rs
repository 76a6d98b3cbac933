//! The laws of the protocol crate, over generated events.

mod check;
mod events;
mod oracle;
mod patch;
mod patch_laws;
mod reading;
mod relay;
mod serialization;
