//! Tests of the embedded store through its public interface.

mod child;
mod contract;
mod eviction;
mod faults;
mod files;
mod fixture;
mod full;
mod harness;
mod inspect;
mod kill;
mod ledger;
mod load;
mod opening;
