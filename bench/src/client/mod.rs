//! Clients over loopback, each reading the same run of the same server.

mod plans;
mod reference;
mod run;

pub use plans::report;
