//! Benchmarks of Threadline beside its peers. `README.md` says how to run and read them.

pub mod corpus;
pub mod fidelity;
pub mod machine;
pub mod measure;
pub mod protobuf;
pub mod protocol;
pub mod report;
pub mod stages;
pub mod store;
