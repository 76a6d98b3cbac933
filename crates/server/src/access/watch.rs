//! Noticing when the files change that say who may call.

use super::Authority;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

/// How often the files are looked at.
const INTERVAL: Duration = Duration::from_secs(1);

/// Reads the files anew when they have changed, for as long as it is polled. One that cannot be used changes nothing.
pub async fn watch(authority: Arc<Authority>) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told = None;
    loop {
        ticks.tick().await;
        let authority = Arc::clone(&authority);
        let reloaded = spawn_blocking(move || authority.is_stale().then(|| authority.reload())).await;
        match reloaded {
            Ok(Some(Ok(()))) => {
                told = None;
                tracing::info!("it was read anew who may call");
            }
            Ok(Some(Err(error))) => {
                // Once, and not every second.
                let said = error.to_string();
                if told.as_ref() != Some(&said) {
                    tracing::error!(%error, "who may call stays as it was");
                    told = Some(said);
                }
            }
            Ok(None) | Err(_) => {}
        }
    }
}
