//! What the project wants of its store.

use serde::Serialize;
use std::fmt;

/// What one of our figures should be.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Aim {
    /// How the table's title begins.
    pub(super) table: &'static str,
    /// The figure.
    pub(super) column: &'static str,
    /// How far it may go.
    pub(super) bound: Bound,
}

/// How far a figure may go.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Bound {
    /// No less.
    AtLeast(f64),
    /// No more.
    AtMost(f64),
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(bound) => write!(f, "at least {bound}"),
            Self::AtMost(bound) => write!(f, "at most {bound}"),
        }
    }
}

const fn at_least(table: &'static str, column: &'static str, bound: f64) -> Aim {
    Aim { table, column, bound: Bound::AtLeast(bound) }
}

const fn at_most(table: &'static str, column: &'static str, bound: f64) -> Aim {
    Aim { table, column, bound: Bound::AtMost(bound) }
}

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
    at_most("Open after a kill", "cold ms", 250.0),
    at_most("Open after a kill", "cold against fjall", 0.5),
    at_most("Idle followers", "bytes each", 32768.0),
    at_most("Messages", "100,000 / 1,000", 1.2),
];
