//! What a server does from time to time, whatever it is asked.

use crate::app::App;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use threadline_log::retention::Retained;
use threadline_log::{Error, ThreadKey};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior, interval, sleep, timeout};

/// After what time it is tried again if the store could not seal and erase.
const TIDY_AGAIN: Duration = Duration::from_secs(60);

/// After what time it is looked for runs that nobody here was told of, and tried again to fold what could not be.
const FOLD_AGAIN: Duration = Duration::from_secs(60);

/// Hears what other instances do, closes runs whose writers are gone (it looks for them that often) and folds what they said, lets go of what
/// need not be kept, and lets the store seal and erase, for as long as it is polled.
pub async fn keep_up(app: App, every: Duration) {
    let (engine, runs, some_closed) = (app.engine().clone(), app.runs().clone(), Arc::new(Notify::new()));
    // None of it waits for another that has much to fold, or ends because another has.
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { engine.listen().await });
    tasks.spawn(async move { runs.give_way().await });
    tasks.spawn(close_abandoned(app.clone(), every, Arc::clone(&some_closed)));
    tasks.spawn(keep_checkpoints(app.clone(), some_closed));
    tasks.spawn(retain(app.clone()));
    tasks.spawn(tidy(app));
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended {
            tracing::error!(%error, "something that a server does from time to time is not done any more");
        }
    }
}

async fn close_abandoned(app: App, every: Duration, some_closed: Arc<Notify>) {
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
                some_closed.notify_one();
            }
            Ok(_) => {}
            // It is said once for as long as it is the same.
            Err(error) if failure.as_ref() == Some(error) => {}
            Err(error) => tracing::warn!(%error, "abandoned runs could not be closed"),
        }
        failure = closed.err();
    }
}

/// Makes checkpoints that are missing: those that others have left, and those of runs that were closed here, which nobody waited for.
async fn keep_checkpoints(app: App, some_closed: Arc<Notify>) {
    let mut failures = BTreeMap::new();
    let mut failure = None;
    loop {
        // What failed for good is not read again and again.
        let is_hopeless = |thread: &ThreadKey, run| {
            failures.get(&(thread.clone(), run)).is_some_and(|error: &Error| !error.is_retryable())
        };
        match app.engine().keep_checkpoints_but(is_hopeless).await {
            Ok(failed) => {
                for (thread, run, error) in failed {
                    // It is said once for as long as it is the same.
                    if failures.insert((thread.clone(), run), error.clone()).as_ref() != Some(&error) {
                        tracing::warn!(%thread, run = run.0, %error, "what a run said cannot be folded, so that it is not found");
                    }
                }
                failure = None;
            }
            Err(error) => {
                if failure.as_ref() != Some(&error) {
                    tracing::warn!(%error, "what runs said that were closed cannot be folded now");
                }
                failure = Some(error);
            }
        }
        let _ = timeout(FOLD_AGAIN, some_closed.notified()).await;
    }
}

async fn retain(app: App) {
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

async fn tidy(app: App) {
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
