//! The laws of the protocol crate, over generated events.

mod events;
mod reading;
mod relay;
