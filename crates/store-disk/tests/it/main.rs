//! Tests of the embedded store through its public interface.

mod contract;
mod files;
mod fixture;
mod harness;
