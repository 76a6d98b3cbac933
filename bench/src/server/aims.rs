//! What the project wants of its server.

use crate::aim::{Aim, at_least, at_most};

/// All of them.
pub(super) const AIMS: &[Aim] = &[
    at_least("Runs of", "against engine", 0.5),
    // A run's event is durable before it is seen, which takes one sync.
    at_most("Delay", "added p50 - sync µs", 1000.0),
    at_most("Followers", "KiB each", 32.0),
    at_least("Overload", "goodput", 0.8),
    at_most("Overload", "refused p99 ms", 50.0),
    at_most("Noisy", "p99 against 1x", 1.2),
    at_least("Slow", "goodput", 0.8),
    at_most("Heads", "p99 ms", 1000.0),
    at_most("Transfer", "peak MiB", 256.0),
];
