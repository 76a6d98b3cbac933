//! What a server does from time to time, whatever it is asked.

use crate::app::App;
use std::time::Duration;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// How often what is done.
#[derive(Clone, Copy, Debug)]
pub struct Upkeep {
    /// Runs whose writers are gone are looked for.
    pub close_every: Duration,
    /// The store may seal and erase.
    pub tidy_every: Duration,
}

impl Default for Upkeep {
    fn default() -> Self {
        Self { close_every: Duration::from_secs(1), tidy_every: Duration::from_secs(10) }
    }
}

/// Hears what other instances do, closes runs whose writers are gone, and lets the store seal and erase, for as long as it is polled.
pub async fn keep_up(app: App, upkeep: Upkeep) {
    let Upkeep { close_every, tidy_every } = upkeep;
    let (closing, tidying) = (close_abandoned(&app, close_every), tidy(&app, tidy_every));
    tokio::join!(app.engine().listen(), app.runs().give_way(), closing, tidying);
}

async fn close_abandoned(app: &App, every: Duration) {
    let mut ticks = ticks(every);
    let mut failure = None;
    loop {
        ticks.tick().await;
        let runs = app.runs().clone();
        let closed =
            app.engine().close_expired_but(move |thread, run| runs.phase(thread, run).is_some()).await;
        match &closed {
            Ok(closed) if !closed.is_empty() => {
                tracing::warn!(runs = closed.len(), "abandoned runs were closed");
            }
            Ok(_) => {}
            // It is said once for as long as it is the same.
            Err(error) if failure.as_ref() == Some(error) => {}
            Err(error) => tracing::warn!(%error, "abandoned runs could not be closed"),
        }
        failure = closed.err();
    }
}

async fn tidy(app: &App, every: Duration) {
    let mut ticks = ticks(every);
    loop {
        ticks.tick().await;
        if let Err(error) = app.engine().store().tidy().await {
            tracing::warn!(%error, "the store could not be tidied");
        }
    }
}

fn ticks(every: Duration) -> Interval {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}
