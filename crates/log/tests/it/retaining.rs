//! What is let go is nothing that somebody still needs: where checkpoints are too large for a store, and where other engines write meanwhile.

use std::sync::Arc;
use threadline_log::engine::Options;
use threadline_log::names::Owner;
use threadline_log::retention::{KeepRaw, Retained, Retention};
use threadline_log::{
    At, Engine, Error, HistoryMode, NewRecord, RunNo, Scope, Snapshot, StartRun, Started, Store, ThreadId,
    ThreadKey,
};
use threadline_protocol::stages::close::Cause;
use threadline_testkit::engine::{CountingIds, ManualClock};
use threadline_testkit::store::GatedStore;

const TEXT: &str = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"a long answer"}"#;

pub(super) fn thread() -> ThreadKey {
    let owner = |name| Owner::new(name).expect("a short name");
    let scope = Scope { app: owner("app"), user: owner("user") };
    ThreadKey::new(scope, ThreadId::new("t").expect("a short name"))
}

pub(super) fn engine(store: &Arc<GatedStore>, clock: &Arc<ManualClock>) -> Engine {
    let options = Options { full_checkpoint_runs_max: 1, ..Options::default() };
    Engine::new(store.clone(), clock.clone(), Arc::new(CountingIds::default()), options)
}

pub(super) fn said(snapshot: &Snapshot) -> Vec<String> {
    snapshot.fold.messages().map(|message| message.to_json()).collect()
}

/// A run from its start to its end.
pub(super) async fn run(engine: &Engine, id: &str) {
    let request =
        format!(r#"{{"threadId":"t","runId":"{id}","messages":[],"tools":[],"context":[],"state":{{}}}}"#);
    let start =
        StartRun { thread: thread(), request: request.into(), history: HistoryMode::Client, agent: None };
    let Ok(Started::New(writer)) = engine.start_run(start).await else { panic!("the run id is new") };
    engine.append(&writer, vec![NewRecord::event(TEXT)].into()).await.expect("appended");
    engine.end_run(&writer, Cause::Cancelled).await.expect("it goes on");
}

#[tokio::test]
async fn records_of_which_nothing_else_is_kept_stay() {
    let delta_bytes = kept(usize::MAX).await.0.expect("there is room for everything");
    for (bytes_max, is_delta_kept, is_full_kept) in
        [(usize::MAX, true, true), (delta_bytes, true, false), (delta_bytes - 1, false, false)]
    {
        let (delta, full, compacted) = kept(bytes_max).await;
        assert_eq!((delta.is_some(), full), (is_delta_kept, is_full_kept), "{bytes_max}");
        assert_eq!(compacted, u64::from(is_delta_kept), "{bytes_max}");
    }
}

/// Where checkpoints can be so large: how large the delta of a run is that is kept, whether a full fold is, and how many runs are compacted as soon
/// as they may be.
async fn kept(bytes_max: usize) -> (Option<usize>, bool, u64) {
    let (store, clock) = (Arc::new(GatedStore::default()), Arc::new(ManualClock::default()));
    let engine = engine(&store, &clock);
    store.set_checkpoint_bytes_max(bytes_max);
    run(&engine, "r").await;
    let before = engine.snapshot(&thread(), At::Head).await.expect("it can be folded");
    let checkpoint = store.checkpoint(&thread(), RunNo(0)).await.expect("it is read");
    let checkpoint = checkpoint.expect("its lineage is kept, whatever its size");
    let retention = Retention { keep_raw: KeepRaw::For(0), ..Retention::default() };
    let retained = engine.retain(&retention).await.expect("the store is well");
    assert_eq!(retained, Retained { compacted: retained.compacted, ..Retained::default() });
    let after = engine.snapshot(&thread(), At::Head).await.expect("it can still be folded");
    assert_eq!(said(&after), said(&before));
    let delta = Some(checkpoint.delta.len()).filter(|bytes| *bytes > 0);
    (delta, checkpoint.full.is_some(), retained.compacted)
}

#[tokio::test]
async fn a_run_of_which_nothing_else_is_kept_is_not_cut() {
    let (store, clock) = (Arc::new(GatedStore::default()), Arc::new(ManualClock::default()));
    let engine = engine(&store, &clock);
    store.set_checkpoint_bytes_max(0);
    run(&engine, "r").await;
    let before = engine.snapshot(&thread(), At::Head).await.expect("it can be folded");
    assert_eq!(engine.trim(&thread(), 1).await, Ok(0));
    let after = engine.snapshot(&thread(), At::Head).await.expect("it can still be folded");
    assert_eq!(said(&after), said(&before));
}

#[tokio::test]
async fn what_another_engine_has_written_meanwhile_is_not_deleted() {
    let (store, clock) = (Arc::new(GatedStore::default()), Arc::new(ManualClock::default()));
    let [here, elsewhere] = [engine(&store, &clock), engine(&store, &clock)];
    run(&here, "r").await;
    store.hold_deletions(true);
    let retention = Retention { thread_age_ms_max: Some(0), ..Retention::default() };
    let retaining = tokio::spawn({
        let here = here.clone();
        async move { here.retain(&retention).await }
    });
    store.wait_for_deletions(1).await;
    run(&elsewhere, "r2").await;
    store.hold_deletions(false);
    let retained = retaining.await.expect("no panic").expect("the store is well");
    assert_eq!(retained, Retained::default());
    assert_eq!(store.runs(&thread()).await.expect("it is there").len(), 2);

    // Who asks for it means the thread as it is, but for runs that go on.
    store.hold_deletions(true);
    let deleting = tokio::spawn({
        let here = here.clone();
        async move { here.delete(&thread()).await }
    });
    store.wait_for_deletions(2).await;
    run(&elsewhere, "r3").await;
    store.hold_deletions(false);
    assert_eq!(deleting.await.expect("no panic"), Ok(()));
    assert_eq!(store.thread(&thread()).await, Err(Error::NoThread(thread())));
}
