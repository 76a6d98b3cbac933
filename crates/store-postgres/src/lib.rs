//! The shared store: threads in PostgreSQL, which several instances write at once.
//!
//! The database is the system of record. Whoever writes to a thread locks its head first, so that offsets, epochs and keys are decided in one order,
//! whichever instance asks. An append is one statement for everything that waits; the instances hear of each
//! other's writes beside the log, and a lost message costs latency only.

mod batch;
mod clock;
mod committer;
mod connection;
mod durability;
mod health;
mod lanes;
mod line;
mod list;
mod migrate;
mod names;
mod news;
mod numbers;
mod open;
mod options;
mod outcome;
mod read;
mod seal;
mod store;
mod tls;
mod write;

pub use open::OpenError;
pub use options::PostgresOptions;
pub use store::PostgresStore;
