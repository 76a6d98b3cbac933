//! Several instances of `threadline serve` on one PostgreSQL, when things go wrong: real processes, real signals, networks that are cut.

mod appending;
mod asleep;
mod dead;
mod instances;
mod outage;
mod partition;
mod round;
mod watching;

/// How many rounds there are with short leases.
fn rounds() -> u32 {
    std::env::var("THREADLINE_FAULT_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(5)
}
