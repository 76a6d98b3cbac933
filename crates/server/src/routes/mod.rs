//! The routes.

mod append;
mod artifact;
mod attach;
mod body;
mod cancel;
mod changes;
mod clone;
mod conditional;
mod decoding;
mod description;
mod discovery;
mod export;
mod findings;
mod gate;
mod health;
mod history;
mod hosts;
mod import;
mod inspector;
mod leftover;
mod live;
mod message_mark;
mod metrics;
mod observe;
mod openapi;
mod origins;
mod parameters;
mod records;
mod run;
mod runs;
mod snapshots;
mod socket;
mod table;
mod threads;
mod tickets;

pub use table::{Endpoint, description, endpoints, router};
