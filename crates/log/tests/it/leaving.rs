//! Whoever asks for something and goes does not stand in the way of those who come next, in a store that writes later what it has taken in.

use super::retaining::{engine, run, said, thread};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use threadline_log::transfer::ExportForm;
use threadline_log::{At, Checkpoint, Engine, RunNo, Store};
use threadline_testkit::engine::ManualClock;
use threadline_testkit::store::GatedStore;
use tokio::time::timeout;

/// In a time that passes only where everybody waits.
const LONG: Duration = Duration::from_secs(60);

fn stage() -> (Arc<GatedStore>, Engine) {
    let store = Arc::new(GatedStore::default());
    let engine = engine(&store, &Arc::new(ManualClock::default()));
    (store, engine)
}

/// Lets somebody ask until so many checkpoints came to the store, and go.
async fn leave<T: Send + 'static>(
    store: &GatedStore,
    checkpoints: usize,
    asking: impl Future<Output = T> + Send + 'static,
) {
    let asking = tokio::spawn(asking);
    store.wait_for_checkpoints(checkpoints).await;
    asking.abort();
    assert!(asking.await.is_err_and(|error| error.is_cancelled()), "it has gone while it waited");
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_that_nobody_waits_for_is_waited_for_by_the_next() {
    let (store, engine) = stage();
    store.set_forgetful(true);
    run(&engine, "r").await;
    store.set_forgetful(false);
    store.hold_checkpoints(true);
    leave(&store, 1, {
        let engine = engine.clone();
        async move { engine.export(&thread(), ExportForm::Raw).await }
    })
    .await;
    let mut next = pin!(run(&engine, "r2"));
    assert!(timeout(LONG, &mut next).await.is_err(), "it needs what is on its way");
    store.hold_checkpoints(false);
    next.await;
    assert_eq!(store.unfolded().await, Ok(Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_nobody_waits_for_lands_before_what_comes_next() {
    let (store, engine) = stage();
    run(&engine, "r").await;
    let before = engine.snapshot(&thread(), At::Head).await.expect("it can be folded");
    let kept = store.checkpoint(&thread(), RunNo(0)).await.expect("it is read").expect("it is there");
    let stale = Checkpoint { version: 0, full: Some("{}".into()), ..kept };
    store.put_checkpoint(&thread(), None, stale, engine.now()).await.expect("it is kept");
    store.hold_checkpoints(true);
    let checkpoints = store.checkpoints() + 1;
    leave(&store, checkpoints, {
        let engine = engine.clone();
        async move { engine.snapshot(&thread(), At::Head).await }
    })
    .await;
    let tail = store.thread(&thread()).await.expect("it is there").offsets.end;
    let t = thread();
    let mut trim = pin!(engine.trim(&t, tail));
    assert!(timeout(LONG, &mut trim).await.is_err(), "it waits");
    assert_eq!(store.checkpoints(), checkpoints, "for the renewal");
    store.hold_checkpoints(false);
    assert_eq!(trim.await, Ok(tail));
    let after = engine.snapshot(&thread(), At::Head).await.expect("it can still be folded");
    assert_eq!(said(&after), said(&before));
}
