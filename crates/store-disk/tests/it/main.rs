//! Tests of the embedded store through its public interface.

mod child;
mod contract;
mod files;
mod fixture;
mod harness;
mod inspect;
mod kill;
mod ledger;
mod load;
