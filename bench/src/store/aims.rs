//! What the project wants of its store.

use crate::aim::{Aim, at_least, at_most};

/// All of them.
pub(super) const AIMS: &[Aim] = &[
    // Our segments are written with zeros before, the floor's file grows.
    at_least("Durable append, 64 writers", "against floor", 1.3),
    at_least("Durable append, 64 writers", "against fjall", 1.3),
    at_least("Durable append, 64 writers", "against SQLite", 2.5),
    at_least("Durable append, 64 writers", "against redb", 4.0),
    at_least("Durable append, 512 writers", "against floor", 0.9),
    at_least("Durable append, 512 writers", "against fjall", 1.3),
    at_least("Durable append, 512 writers", "against SQLite", 2.5),
    at_least("Durable append, 512 writers", "against redb", 4.0),
    at_most("Ack of durable append, 64 writers", "p50 / sync", 3.0),
    at_most("Ack of durable append, 64 writers", "p99 / sync", 8.0),
    at_most("Ack of durable append, 64 writers", "p99.9 / sync", 20.0),
    at_least("Buffered append, 64 writers", "against floor", 0.8),
    at_least("Buffered append, 64 writers", "against fjall", 2.5),
    at_least("History", "cold against fjall", 2.5),
    at_least("Tail", "warm against floor", 0.9),
    at_most("Bytes at rest", "unsealed / JSON", 1.1),
    at_most("Bytes at rest", "sealed / JSON", 0.25),
    at_most("Open after a kill", "cold ready ms", 250.0),
    at_most("Open after a kill", "cold against fjall", 0.5),
    at_most("Idle followers", "bytes each", 32768.0),
    at_most("Messages", "100,000 / 1,000", 1.2),
    // What takes more must be a setting.
    at_most("Chain", "share", 0.05),
];
