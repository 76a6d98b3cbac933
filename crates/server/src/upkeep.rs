//! What a server does from time to time, whatever it is asked.

use crate::app::App;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use threadline_log::retention::Retained;
use threadline_log::{Engine, Error, RunNo, ThreadKey};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep, sleep_until, timeout};

/// After what time it is tried again if the store could not seal and erase.
const TIDY_AGAIN: Duration = Duration::from_secs(60);

/// After what time it is looked for runs that nobody here was told of, and tried again to fold what could not be.
const FOLD_AGAIN: Duration = Duration::from_secs(60);

/// How many lists of closed runs wait to be folded. What is not told is found after [`FOLD_AGAIN`].
const CLOSED_MAX: usize = 16;

type Runs = Vec<(ThreadKey, RunNo)>;

/// Hears what other instances do, closes runs whose writers are gone (it looks for them that often) and folds what they said, lets go of what
/// need not be kept, and lets the store seal and erase, until the future is dropped.
pub async fn keep_up(app: App, every: Duration) {
    let (engine, runs) = (app.engine().clone(), app.runs().clone());
    let (closed, to_fold) = mpsc::channel(CLOSED_MAX);
    let (folded, may_tidy) = oneshot::channel();
    // None of it waits for another that has much to fold, or ends because another has.
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { engine.listen().await });
    tasks.spawn(async move { runs.give_way().await });
    tasks.spawn(close_abandoned(app.clone(), every, closed));
    tasks.spawn(keep_checkpoints(app.clone(), to_fold, folded));
    tasks.spawn(retain(app.clone()));
    tasks.spawn(tidy(app, may_tidy));
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended {
            tracing::error!(%error, "something that a server does from time to time is not done any more");
        }
    }
}

async fn close_abandoned(app: App, every: Duration, to_fold: mpsc::Sender<Runs>) {
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
                let _ = to_fold.try_send(closed.clone());
            }
            Ok(_) => {}
            // It is said once for as long as it is the same.
            Err(error) if failure.as_ref() == Some(error) => {}
            Err(error) => tracing::warn!(%error, "abandoned runs could not be closed"),
        }
        failure = closed.err();
    }
}

/// Makes checkpoints that are missing: of runs that were closed here, which nobody waited for, and now and then of those that others have left.
async fn keep_checkpoints(app: App, mut closed: mpsc::Receiver<Runs>, folded: oneshot::Sender<()>) {
    let mut folded = Some(folded);
    let mut unfolded = Unfolded::default();
    loop {
        unfolded.fold_all(app.engine()).await;
        folded.take().map(|folded| folded.send(()));
        let look_again = sleep_until(Instant::now() + FOLD_AGAIN);
        tokio::pin!(look_again);
        loop {
            tokio::select! {
                () = &mut look_again => break,
                Some(runs) = closed.recv() => unfolded.fold_closed(app.engine(), runs).await,
            }
        }
    }
}

/// What could not be folded, and why. It is said once for as long as it is the same.
#[derive(Default)]
struct Unfolded {
    runs: BTreeMap<(ThreadKey, RunNo), Error>,
    /// Why nothing can be, now.
    all: Option<String>,
}

impl Unfolded {
    async fn fold_all(&mut self, engine: &Engine) {
        let folded = match engine.store().unfolded().await {
            Ok(missing) => {
                let missing_still: BTreeSet<_> = missing.iter().collect();
                self.runs.retain(|run, _| missing_still.contains(run));
                self.fold(engine, missing).await
            }
            Err(error) => Err(engine.store().trouble().unwrap_or_else(|| error.to_string())),
        };
        match folded {
            Ok(()) => self.all = None,
            Err(why) => self.note_all(why),
        }
    }

    async fn fold_closed(&mut self, engine: &Engine, closed: Runs) {
        if let Err(why) = self.fold(engine, closed).await {
            self.note_all(why);
        }
    }

    /// Folds what can be folded. An error only where the store as a whole is in trouble: a run that cannot be read keeps no other from it.
    async fn fold(&mut self, engine: &Engine, runs: Runs) -> Result<(), String> {
        for (thread, run) in runs {
            let Err(error) = engine.keep_missing_checkpoint(&thread, run).await else { continue };
            match (error, engine.store().trouble()) {
                (Error::Unavailable(_) | Error::Indeterminate(_), Some(trouble)) => return Err(trouble),
                // It was deleted meanwhile, and perhaps made anew.
                (
                    Error::NoThread(_) | Error::NoRun(_) | Error::RunActive(_) | Error::OtherIncarnation(_),
                    _,
                ) => {}
                (error, _) => self.note(thread, run, error),
            }
        }
        Ok(())
    }

    fn note(&mut self, thread: ThreadKey, run: RunNo, error: Error) {
        let noted = self.runs.get(&(thread.clone(), run));
        if noted != Some(&error) {
            tracing::warn!(%thread, run = run.0, %error, "what a run said cannot be folded, so that it is not found");
            self.runs.insert((thread, run), error);
        }
    }

    fn note_all(&mut self, why: String) {
        if self.all.as_ref() != Some(&why) {
            tracing::warn!(why, "what runs said that were closed cannot be folded now");
            self.all = Some(why);
        }
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

async fn tidy(app: App, may_tidy: oneshot::Receiver<()>) {
    let store = app.engine().store();
    // Records are packed better beside what was folded of their run.
    let _ = timeout(TIDY_AGAIN, may_tidy).await;
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use threadline_log::names::Owner;
    use threadline_log::thread::ThreadQuery;
    use threadline_log::{Batch, HistoryMode, NewRecord, Options, Scope, StartRun, Started, Store, ThreadId};
    use threadline_testkit::engine::{CountingIds, ManualClock};
    use threadline_testkit::store::{Gate, GatedStore};

    fn thread(name: &str) -> ThreadKey {
        let owner = || Owner::new("o").unwrap();
        ThreadKey::new(Scope { app: owner(), user: owner() }, ThreadId::new(name).unwrap())
    }

    /// Threads whose runs have said something, and were closed for somebody who is gone.
    async fn closed(store: &Arc<GatedStore>, names: &[&str]) -> Engine {
        let (clock, ids) = (Arc::<ManualClock>::default(), Arc::<CountingIds>::default());
        let engine = Engine::new(store.clone(), clock, ids, Options::default());
        for name in names {
            let request = format!(
                r#"{{"threadId":"{name}","runId":"r","messages":[],"tools":[],"context":[],"state":{{}}}}"#
            );
            let (thread, history) = (thread(name), HistoryMode::Client);
            let start = StartRun { thread, request: request.into(), history, agent: None };
            let Ok(Started::New(writer)) = engine.start_run(start).await else { panic!("{name}") };
            let said = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"assistant","delta":"pear"}"#;
            let batch = Batch::from(vec![NewRecord::event(said)]);
            engine.append(&writer, batch).await.unwrap();
        }
        assert_eq!(engine.close_orphans().await.map(|closed| closed.len()), Ok(names.len()));
        engine
    }

    async fn found(engine: &Engine) -> BTreeSet<String> {
        let query = ThreadQuery { words: Some("pear".to_owned()), limit: 10, ..ThreadQuery::default() };
        let found = engine.threads(&query).await.unwrap();
        found.into_iter().map(|thread| thread.key.thread.to_string()).collect()
    }

    fn names<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
        names.map(str::to_owned).into()
    }

    #[tokio::test]
    async fn a_run_that_cannot_be_read_keeps_no_other_from_being_folded() {
        let store = Arc::<GatedStore>::default();
        let engine = closed(&store, &["a", "b", "c"]).await;
        let unreadable = (thread("a"), RunNo(0));
        assert_eq!(store.unfolded().await.unwrap().first(), Some(&unreadable), "it is the first");
        store.set_unreadable(Some(unreadable.0.clone()));
        let mut unfolded = Unfolded::default();
        for _ in 0..2 {
            unfolded.fold_all(&engine).await;
            assert_eq!(found(&engine).await, names(["b", "c"]));
            assert_eq!(unfolded.all, None);
            let noted: Vec<_> = unfolded.runs.iter().collect();
            assert!(matches!(noted[..], [(run, Error::Unavailable(_))] if *run == unreadable), "{noted:?}");
        }
        store.set_unreadable(None);
        unfolded.fold_all(&engine).await;
        assert_eq!(found(&engine).await, names(["a", "b", "c"]));
        unfolded.fold_all(&engine).await;
        assert!(unfolded.runs.is_empty(), "it is forgotten");
    }

    #[tokio::test]
    async fn a_store_that_is_away_is_noted_for_all_until_it_is_back() {
        let store = Arc::<GatedStore>::default();
        let engine = closed(&store, &["a", "b"]).await;
        let missing = store.unfolded().await.unwrap();
        let mut unfolded = Unfolded::default();
        store.set(Gate::Away);
        unfolded.fold_closed(&engine, missing).await;
        let noted = unfolded.all.clone().expect("it is noted");
        assert!(noted.contains("the store is away"), "{noted}");
        unfolded.fold_all(&engine).await;
        // Nothing that could be folded says nothing of the rest.
        unfolded.fold_closed(&engine, Vec::new()).await;
        assert_eq!((unfolded.all.as_ref(), unfolded.runs.len()), (Some(&noted), 0));
        store.set(Gate::Open);
        unfolded.fold_all(&engine).await;
        assert_eq!((unfolded.all.as_ref(), found(&engine).await), (None, names(["a", "b"])));
    }
}
