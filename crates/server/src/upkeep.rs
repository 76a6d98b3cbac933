//! What a server does from time to time, whatever it is asked.

use crate::app::App;
use std::time::Duration;
use tokio::time::{Interval, MissedTickBehavior, interval, sleep};

/// After what time it is tried again if the store could not seal and erase.
const TIDY_AGAIN: Duration = Duration::from_secs(60);

/// Hears what other instances do, closes runs whose writers are gone (it looks for them that often), and lets the store seal and
/// erase, for as long as it is polled.
pub async fn keep_up(app: App, every: Duration) {
    tokio::join!(app.engine().listen(), app.runs().give_way(), close_abandoned(&app, every), tidy(&app));
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

async fn tidy(app: &App) {
    let store = app.engine().store();
    loop {
        let pause = match store.tidy().await {
            Ok(()) => store.tidy_every(),
            Err(error) => {
                tracing::warn!(%error, "the store could not be tidied");
                store.tidy_every().min(TIDY_AGAIN)
            }
        };
        sleep(pause).await;
    }
}

fn ticks(every: Duration) -> Interval {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}
