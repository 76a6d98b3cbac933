//! What other processes do to a store that several share, told to those who follow threads and lists here.

use crate::engine::{Engine, ThreadChange};
use crate::error::Error;
use crate::names::Incarnation;
use crate::store::{News, Shared};
use std::collections::HashMap;
use std::future::pending;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior, interval};

/// How late those who follow may be where news was lost.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// For how long a store may be away before those who follow are cut off.
const AWAY_AFTER: Duration = Duration::from_secs(3);

impl Engine {
    /// Hears what others do to the store, for as long as it is polled. Of a store that a process has alone there is nothing to hear.
    ///
    /// News travels beside the log and may be lost, so that the tails of all threads that are followed are looked at as well. If that
    /// fails for some seconds, whoever follows is cut off with [`Error::Unavailable`], and whoever shows a list is told [`ThreadChange::Missed`].
    pub async fn listen(&self) {
        let Some(shared) = self.store().shared() else { return pending().await };
        let missed = Notify::new();
        tokio::join!(self.hear(shared, &missed), self.look(shared, &missed));
    }

    async fn hear(&self, shared: &dyn Shared, missed: &Notify) {
        loop {
            for news in shared.heard().await {
                match news {
                    News::Reached { thread, tail } => self.tails().reach(thread, tail),
                    News::Changed(key) => self.changed(ThreadChange::Changed(key)),
                    News::Deleted { key, thread } => {
                        self.tails().delete(thread);
                        self.changed(ThreadChange::Deleted(key));
                    }
                    News::Missed => {
                        self.changed(ThreadChange::Missed);
                        missed.notify_one();
                    }
                }
            }
        }
    }

    async fn look(&self, shared: &dyn Shared, missed: &Notify) {
        let mut ticks = interval(LOOK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut away = None;
        loop {
            tokio::select! {
                () = missed.notified() => {}
                _ = ticks.tick() => {}
            }
            let followed = self.tails().followed();
            let looked = match followed.as_slice() {
                // Lists may be shown all the same.
                [] => {
                    self.store().trouble().map_or_else(|| Ok(Vec::new()), |why| Err(Error::Unavailable(why)))
                }
                followed => shared.tails(followed).await,
            };
            let Ok(tails) = looked else {
                // It is asked again. Those who follow need not wait for it here: others may reach it. Whoever shows a list finds that it
                // cannot be read.
                if away.get_or_insert_with(Instant::now).elapsed() >= AWAY_AFTER {
                    self.tails().cut();
                    self.changed(ThreadChange::Missed);
                }
                continue;
            };
            away = None;
            let tails: HashMap<Incarnation, u64> = tails.into_iter().collect();
            for thread in followed {
                match tails.get(&thread) {
                    Some(tail) => self.tails().reach(thread, *tail),
                    None => self.tails().delete(thread),
                }
            }
        }
    }
}
