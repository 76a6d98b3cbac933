//! Time and chance, given by the caller so that a run of the engine can be replayed.

use crate::names::{Incarnation, Timestamp};
use std::fmt;

/// Tells the time.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// Draws what must be unlike anything before.
pub trait Ids: Send + Sync + fmt::Debug + 'static {
    /// For a thread that is made.
    fn incarnation(&self) -> Incarnation;
}
