//! Benchmarks of Threadline beside its peers. `README.md` says how to run and read them.

mod aim;
pub mod client;
pub mod corpus;
mod disk;
pub mod fidelity;
pub mod machine;
pub mod measure;
pub mod protobuf;
pub mod protocol;
mod quantiles;
mod repeats;
pub mod report;
pub mod server;
pub mod stages;
pub mod store;
mod table;
