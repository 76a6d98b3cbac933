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
                Some(runs) = closed.recv() => unfolded.fold(app.engine(), runs).await,
            }
        }
    }
}

/// What could not be folded, and why. It is said once for as long as it is the same.
#[derive(Default)]
struct Unfolded {
    runs: BTreeMap<(ThreadKey, RunNo), Error>,
    /// Nothing can be, now.
    all: Option<Error>,
}

impl Unfolded {
    async fn fold_all(&mut self, engine: &Engine) {
        match engine.store().unfolded().await {
            Ok(missing) => {
                let missing_still: BTreeSet<_> = missing.iter().collect();
                self.runs.retain(|run, _| missing_still.contains(run));
                self.fold(engine, missing).await;
            }
            Err(error) => self.note_all(error),
        }
    }

    async fn fold(&mut self, engine: &Engine, runs: Runs) {
        for (thread, run) in runs {
            let Err(error) = engine.keep_missing_checkpoint(&thread, run).await else { continue };
            match error {
                Error::Unavailable(_) | Error::Indeterminate(_) => return self.note_all(error),
                // It was deleted meanwhile, and perhaps made anew.
                Error::NoThread(_) | Error::NoRun(_) | Error::RunActive(_) | Error::OtherIncarnation(_) => {}
                error => self.note(thread, run, error),
            }
        }
        self.all = None;
    }

    fn note(&mut self, thread: ThreadKey, run: RunNo, error: Error) {
        let noted = self.runs.get(&(thread.clone(), run));
        if noted != Some(&error) {
            tracing::warn!(%thread, run = run.0, %error, "what a run said cannot be folded, so that it is not found");
            self.runs.insert((thread, run), error);
        }
    }

    fn note_all(&mut self, error: Error) {
        if self.all.as_ref() != Some(&error) {
            tracing::warn!(%error, "what runs said that were closed cannot be folded now");
            self.all = Some(error);
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
