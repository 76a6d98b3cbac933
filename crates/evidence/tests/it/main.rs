//! The contract and everything that keeps to it, by what users see.

mod captures;
mod contract;
mod derivation;
mod sample_fixtures;
mod verification;
