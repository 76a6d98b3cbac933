//! The database's time, as it is told here.
//!
//! Leases are decided by the database's own clock. What is said of now is an estimate of it, by our monotonic clock and what the database said last,
//! so that no instance's wall clock is ever asked.

use crate::connection::{Connection, Failure};
use std::sync::{Mutex, PoisonError};
use threadline_log::Timestamp;
use threadline_log::clock::Clock;
use tokio::time::Instant;

const NOW: &str = "SELECT now_ms()";

/// Tells the database's time.
#[derive(Debug)]
pub(crate) struct DatabaseClock {
    begun: Instant,
    /// What the database's clock said when `begun` was so many milliseconds ago: the difference.
    ahead_ms: Mutex<i64>,
}

impl DatabaseClock {
    pub(crate) fn new() -> Self {
        Self { begun: Instant::now(), ahead_ms: Mutex::new(0) }
    }

    /// Asks the database. Half of the time that the answer takes is what it may be wrong by.
    pub(crate) async fn synchronise(&self, connection: &Connection) -> Result<(), Failure> {
        let asked = self.elapsed_ms();
        let said: i64 = connection.query_one(NOW, &[]).await?.get(0);
        let middle = asked + (self.elapsed_ms() - asked) / 2;
        *self.ahead_ms.lock().unwrap_or_else(PoisonError::into_inner) = said - middle;
        Ok(())
    }

    fn elapsed_ms(&self) -> i64 {
        i64::try_from(self.begun.elapsed().as_millis()).unwrap_or(i64::MAX)
    }
}

impl Clock for DatabaseClock {
    fn now(&self) -> Timestamp {
        let ahead = *self.ahead_ms.lock().unwrap_or_else(PoisonError::into_inner);
        Timestamp(self.elapsed_ms().saturating_add(ahead))
    }
}
