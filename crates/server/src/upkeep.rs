//! What a server does from time to time, whatever it is asked.

use crate::app::App;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};

/// Closes runs whose writers are gone, and lets the store seal and erase, for as long as it is polled.
pub async fn keep_up(app: App, every: Duration) {
    let engine = app.engine();
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let runs = app.runs().clone();
        match engine.close_expired_but(move |thread, run| runs.phase(thread, run).is_some()).await {
            Ok(closed) if !closed.is_empty() => {
                tracing::warn!(runs = closed.len(), "abandoned runs were closed")
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "abandoned runs could not be closed"),
        }
        if let Err(error) = engine.store().tidy().await {
            tracing::warn!(%error, "the store could not be tidied");
        }
    }
}
