//! The routes.

mod attach;
mod body;
mod cancel;
mod discovery;
mod health;
mod history;
mod hosts;
mod parameters;
mod records;
mod run;
mod snapshots;
mod table;

pub use table::router;
