//! The routes.

mod attach;
mod body;
mod cancel;
mod description;
mod discovery;
mod health;
mod history;
mod hosts;
mod origins;
mod parameters;
mod records;
mod run;
mod snapshots;
mod table;
mod threads;
mod tickets;

pub use table::{Endpoint, endpoints, router};
