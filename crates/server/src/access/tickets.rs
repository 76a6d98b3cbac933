//! Tickets: a way in for browsers that cannot send a header with an `EventSource` or a `WebSocket`.

use super::Caller;
use super::tokens::{hex, random};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use threadline_log::{ThreadId, Timestamp};

/// For how long a ticket is good.
pub(crate) const TICKET_MS: i64 = 30_000;
/// How many are out at the same time; older ones are forgotten.
const TICKETS_MAX: usize = 100_000;

/// Tickets that were given out and not used yet. They are good for one request to this process.
#[derive(Debug, Default)]
pub(crate) struct Tickets {
    out: Mutex<Out>,
}

#[derive(Debug, Default)]
struct Out {
    callers: HashMap<String, (Caller, Timestamp)>,
    /// The oldest first. They all live equally long.
    ages: VecDeque<String>,
}

impl Tickets {
    /// A ticket for who calls, for one thread or for all that the caller may see.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub(crate) fn issue(
        &self,
        caller: &Caller,
        thread: Option<ThreadId>,
        now: Timestamp,
    ) -> Result<String, getrandom::Error> {
        let ticket = hex(&random()?);
        let mut identity = caller.identity().cloned();
        if let Some(identity) = &mut identity {
            identity.thread = identity.thread.take().or(thread);
        }
        let caller = identity
            .map_or_else(Caller::anybody, |identity| Caller::somebody(identity, caller.revoked().clone()));
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(oldest) = out.ages.front() {
            let is_over = out.callers.get(oldest).is_none_or(|(_, until)| *until < now);
            if !is_over && out.ages.len() < TICKETS_MAX {
                break;
            }
            if let Some(oldest) = out.ages.pop_front() {
                out.callers.remove(&oldest);
            }
        }
        out.ages.push_back(ticket.clone());
        out.callers.insert(ticket.clone(), (caller, Timestamp(now.0.saturating_add(TICKET_MS))));
        Ok(ticket)
    }

    /// Who a ticket is for. It is good once.
    pub(crate) fn redeem(&self, ticket: &str, now: Timestamp) -> Option<Caller> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let (caller, until) = out.callers.remove(ticket)?;
        let is_good = now <= until && !caller.revoked().is_cancelled();
        is_good.then_some(caller)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Identity, Permission};
    use tokio_util::sync::CancellationToken;

    fn caller() -> Caller {
        let identity = Identity {
            app: None,
            user: Some("ann".to_owned()),
            permission: Permission::Run,
            thread: None,
            until: None,
        };
        Caller::somebody(identity, CancellationToken::new())
    }

    #[test]
    fn a_ticket_is_good_once_and_not_for_long() {
        let (tickets, caller) = (Tickets::default(), caller());
        let issue = |now| tickets.issue(&caller, Some(ThreadId::new("t").unwrap()), Timestamp(now)).unwrap();
        let ticket = issue(0);
        let redeemed = tickets.redeem(&ticket, Timestamp(TICKET_MS)).unwrap();
        assert_eq!(redeemed.only_thread().map(ThreadId::as_str), Some("t"));
        assert!(tickets.redeem(&ticket, Timestamp(1)).is_none());
        assert!(tickets.redeem(&issue(0), Timestamp(TICKET_MS + 1)).is_none());
        assert!(tickets.redeem("", Timestamp(0)).is_none());
        let ticket = issue(0);
        caller.revoked().cancel();
        assert!(tickets.redeem(&ticket, Timestamp(1)).is_none());
    }

    #[test]
    fn what_nobody_redeems_is_forgotten() {
        let (tickets, caller) = (Tickets::default(), caller());
        for now in 0..1_000 {
            tickets.issue(&caller, None, Timestamp(now * TICKET_MS)).unwrap();
        }
        assert!(tickets.out.lock().unwrap().callers.len() <= 3);
    }
}
