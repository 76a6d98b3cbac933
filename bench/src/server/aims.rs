//! What the project wants of its server.

use crate::aim::{Aim, at_least, at_most};

/// All of them.
pub(super) const AIMS: &[Aim] = &[
    at_least("Runs of", "against engine", 0.5),
    // A run's event is durable before it is seen, which takes one sync.
    at_most("Delay", "added p50 - sync µs", 1000.0),
];
