//! What a server does from time to time, whatever it is asked.

use crate::app::App;
use std::time::Duration;
use threadline_log::retention::Retained;
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior, interval, sleep};

/// After what time it is tried again if the store could not seal and erase.
const TIDY_AGAIN: Duration = Duration::from_secs(60);

/// Hears what other instances do, closes runs whose writers are gone (it looks for them that often), lets go of what need not be kept, and
/// lets the store seal and erase, for as long as it is polled.
pub async fn keep_up(app: App, every: Duration) {
    let (engine, runs) = (app.engine(), app.runs());
    tokio::join!(engine.listen(), runs.give_way(), close_abandoned(&app, every), retain(&app), tidy(&app));
}

async fn close_abandoned(app: &App, every: Duration) {
    let mut ticks = ticks(every);
    let mut failure = None;
    // Nobody waits for checkpoints: the next runs are closed meanwhile.
    let mut checkpointing = JoinSet::new();
    loop {
        ticks.tick().await;
        while checkpointing.try_join_next().is_some() {}
        let runs = app.runs().clone();
        let closed =
            app.engine().close_expired_but(move |thread, run| runs.phase(thread, run).is_some()).await;
        match closed {
            Ok(closed) => {
                failure = None;
                if !closed.is_empty() {
                    tracing::warn!(runs = closed.len(), "abandoned runs were closed");
                    let engine = app.engine().clone();
                    checkpointing.spawn(async move { engine.keep_checkpoints(&closed).await });
                }
            }
            // It is said once for as long as it is the same.
            Err(error) => {
                if failure.as_ref() != Some(&error) {
                    tracing::warn!(%error, "abandoned runs could not be closed");
                }
                failure = Some(error);
            }
        }
    }
}

async fn retain(app: &App) {
    let settings = &app.settings().retention;
    let Some(retention) = settings.retention() else { return };
    let mut ticks = ticks(settings.every);
    loop {
        ticks.tick().await;
        match app.engine().retain(&retention).await {
            Ok(Retained { compacted, deleted, failed }) => {
                if compacted > 0 || !deleted.is_empty() {
                    tracing::info!(compacted, deleted = deleted.len(), "what need not be kept was let go");
                }
                for thread in deleted {
                    tracing::info!(%thread, "a thread was deleted");
                }
                for (thread, error) in failed {
                    tracing::warn!(%thread, %error, "a thread is kept as it is");
                }
            }
            Err(error) => tracing::warn!(%error, "what need not be kept could not be let go"),
        }
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
