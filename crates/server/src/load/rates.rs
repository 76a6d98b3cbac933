//! How fast requests may come: so many in a second on average, and a few seconds' worth at once.

use crate::error::{Code, Refusal};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use threadline_log::Scope;
use tokio::time::Instant;

/// How many seconds' worth of requests may come at once.
const BURST: Duration = Duration::from_secs(2);
/// When so many scopes are known, those that have been quiet are forgotten.
const SCOPES_MAX: usize = 10_000;

/// Rates of requests. It is known for each scope when its requests so far would be due at its rate: one that comes too long before
/// that is refused.
#[derive(Debug)]
pub(crate) struct Rates {
    /// How far apart requests are on average; none is as fast as can be.
    all_apart: Option<Duration>,
    scope_apart: Option<Duration>,
    due: Mutex<Due>,
}

#[derive(Debug, Default)]
struct Due {
    all: Option<Instant>,
    by_scope: HashMap<Scope, Instant>,
}

impl Rates {
    /// So many in a second for everybody together and for each scope; 0 is as many as come.
    pub(crate) fn new(all: u32, per_scope: u32) -> Self {
        let apart = |rate: u32| Duration::from_secs(1).checked_div(rate);
        Self { all_apart: apart(all), scope_apart: apart(per_scope), due: Mutex::default() }
    }

    /// Lets a request in, if it does not come too early.
    ///
    /// # Errors
    /// If it does.
    pub(crate) fn admit(&self, scope: &Scope, now: Instant) -> Result<(), Refusal> {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(apart) = self.scope_apart {
            let next = next_due(due.by_scope.get(scope).copied(), apart, now)
                .ok_or_else(|| Refusal::new(Code::RateLimited, "too many requests of one user"))?;
            // Who was refused is not counted.
            self.admit_all(&mut due, now)?;
            if due.by_scope.len() >= SCOPES_MAX {
                due.by_scope.retain(|_, due| *due > now);
            }
            due.by_scope.insert(scope.clone(), next);
            return Ok(());
        }
        self.admit_all(&mut due, now)
    }

    fn admit_all(&self, due: &mut Due, now: Instant) -> Result<(), Refusal> {
        if let Some(apart) = self.all_apart {
            let next = next_due(due.all, apart, now);
            due.all = Some(next.ok_or_else(|| Refusal::new(Code::Overloaded, "too many requests"))?);
        }
        Ok(())
    }
}

/// When the requests are due, this one included; none if it comes too early.
fn next_due(due: Option<Instant>, apart: Duration, now: Instant) -> Option<Instant> {
    let due = due.filter(|due| *due > now).unwrap_or(now);
    // At least one may always come.
    let is_early = due.duration_since(now) + apart > BURST.max(apart);
    (!is_early).then(|| due + apart)
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadline_log::names::Owner;

    fn scope(user: &str) -> Scope {
        Scope { app: Owner::new("app").unwrap(), user: Owner::new(user).unwrap() }
    }

    fn admitted(rates: &Rates, user: &str, now: Instant) -> usize {
        (0..1_000).take_while(|_| rates.admit(&scope(user), now).is_ok()).count()
    }

    #[tokio::test(start_paused = true)]
    async fn a_scope_gets_its_rate_and_a_burst_and_others_are_not_touched() {
        let rates = Rates::new(0, 10);
        let start = Instant::now();
        assert_eq!(admitted(&rates, "ann", start), 20);
        assert_eq!(rates.admit(&scope("ann"), start).unwrap_err().code, Code::RateLimited);
        assert_eq!(admitted(&rates, "bob", start), 20);
        assert_eq!(admitted(&rates, "ann", start + Duration::from_millis(500)), 5);
        assert_eq!(admitted(&rates, "ann", start + Duration::from_hours(1)), 20);
    }

    #[tokio::test(start_paused = true)]
    async fn all_together_have_a_rate_and_who_is_refused_is_not_counted() {
        let rates = Rates::new(10, 100);
        let start = Instant::now();
        assert_eq!(admitted(&rates, "ann", start), 20);
        assert_eq!(rates.admit(&scope("ann"), start).unwrap_err().code, Code::Overloaded);
        assert_eq!(admitted(&rates, "bob", start), 0);
        assert_eq!(admitted(&rates, "bob", start + Duration::from_secs(1)), 10);
        assert_eq!(admitted(&Rates::new(0, 0), "ann", start), 1_000);
        assert_eq!(admitted(&Rates::new(1, 0), "ann", start), 2);
    }
}
