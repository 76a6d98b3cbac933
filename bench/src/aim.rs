//! What the project wants of a figure.

use serde::Serialize;
use std::fmt;

/// What one of our figures should be.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Aim {
    /// How the table's title begins.
    pub(crate) table: &'static str,
    /// The figure.
    pub(crate) column: &'static str,
    /// How far it may go.
    pub(crate) bound: Bound,
}

/// How far a figure may go.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Bound {
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

pub(crate) const fn at_least(table: &'static str, column: &'static str, bound: f64) -> Aim {
    Aim { table, column, bound: Bound::AtLeast(bound) }
}

pub(crate) const fn at_most(table: &'static str, column: &'static str, bound: f64) -> Aim {
    Aim { table, column, bound: Bound::AtMost(bound) }
}
