//! Several engines on one store keep their contract, also where news is late or lost.

use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;
use threadline_log::clock::{Clock, Ids};
use threadline_log::engine::ThreadChange;
use threadline_log::names::Owner;
use threadline_log::store::News;
use threadline_log::{
    Engine, Error, Follower, HistoryMode, NewRecord, Options, RunWriter, Scope, StartRun, Started, Store,
    ThreadId, ThreadKey,
};
use threadline_protocol::stages::close::Cause;
use threadline_testkit::engine::{CountingIds, ManualClock};
use threadline_testkit::store::{Ending, Gate, GatedStore, Harness, Hearing, SharedStore};
use tokio::time::{Instant, sleep, timeout};

#[derive(Debug, Default)]
struct InShared(SharedStore);

#[async_trait]
impl Harness for InShared {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.0.second())
    }

    async fn reopen(&self, store: Arc<dyn Store>, _ending: Ending) -> Arc<dyn Store> {
        store
    }

    async fn second(&self) -> Option<Arc<dyn Store>> {
        Some(Arc::new(self.0.second()))
    }

    fn lasts(&self) -> bool {
        false
    }
}

threadline_testkit::engines_contract!(InShared::default());

/// Two engines on one store, of which the second listens.
struct Two {
    writes: Engine,
    listens: Engine,
    handle: Arc<SharedStore>,
    /// Before the store of the one that listens.
    gate: Arc<GatedStore>,
    t: ThreadKey,
}

impl Two {
    fn new() -> Self {
        let (clock, ids) = (Arc::new(ManualClock::default()), Arc::new(CountingIds::default()));
        let engine = |store: Arc<dyn Store>| {
            let (clock, ids): (Arc<dyn Clock>, Arc<dyn Ids>) = (clock.clone(), ids.clone());
            Engine::new(store, clock, ids, Options::default())
        };
        let first = SharedStore::default();
        let handle = Arc::new(first.second());
        let gate = Arc::new(GatedStore::before(handle.clone()));
        let owner = |name| Owner::new(name).expect("a short name");
        let scope = Scope { app: owner("app"), user: owner("user") };
        let t = ThreadKey::new(scope, ThreadId::new("t").expect("a short name"));
        let (writes, listens) = (engine(Arc::new(first)), engine(gate.clone()));
        let listening = listens.clone();
        tokio::spawn(async move { listening.listen().await });
        Self { writes, listens, handle, gate, t }
    }

    async fn start(&self) -> RunWriter {
        let request = r#"{"threadId":"t","runId":"r","messages":[],"tools":[],"context":[],"state":{}}"#;
        let start = StartRun {
            thread: self.t.clone(),
            request: request.into(),
            history: HistoryMode::Client,
            agent: None,
        };
        match self.writes.start_run(start).await {
            Ok(Started::New(writer)) => writer,
            other => panic!("{other:?}"),
        }
    }

    async fn say(&self, writer: &RunWriter) {
        self.writes.append(writer, vec![NewRecord::event("{}")].into()).await.expect("appended");
    }

    async fn follow(&self) -> Follower {
        let tail = self.listens.store().thread(&self.t).await.expect("it is there").offsets.end;
        self.listens.follow(&self.t, None, tail).await.expect("it can be followed")
    }
}

/// After how long something came, in a time that passes only where everybody waits.
async fn after<T>(what: impl Future<Output = T>) -> (T, Duration) {
    let begun = Instant::now();
    let came = timeout(Duration::from_secs(60), what).await.expect("it comes");
    (came, begun.elapsed())
}

#[tokio::test(start_paused = true)]
async fn news_is_seen_at_once_and_lost_news_within_a_second() {
    let two = Two::new();
    let writer = two.start().await;
    let mut follower = two.follow().await;
    two.say(&writer).await;
    let (records, took) = after(follower.next()).await;
    assert_eq!((records.unwrap()[0].offset, took), (1, Duration::ZERO));
    two.handle.set_hearing(Hearing::Deaf);
    two.say(&writer).await;
    let (records, took) = after(follower.next()).await;
    assert_eq!(records.unwrap()[0].offset, 2);
    assert!(took > Duration::ZERO && took <= Duration::from_secs(1), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn whoever_may_have_missed_something_looks_at_once() {
    let two = Two::new();
    let writer = two.start().await;
    let mut follower = two.follow().await;
    // What is looked at from time to time has just been.
    tokio::task::yield_now().await;
    let mut changes = two.listens.changes();
    two.handle.set_hearing(Hearing::Deaf);
    two.say(&writer).await;
    two.handle.set_hearing(Hearing::Good);
    two.handle.tell(&News::Missed);
    let (records, took) = after(follower.next()).await;
    assert_eq!((records.unwrap()[0].offset, took), (1, Duration::ZERO));
    assert_eq!(changes.try_recv(), Ok(ThreadChange::Missed));
}

#[tokio::test(start_paused = true)]
async fn news_that_comes_late_harms_nothing() {
    let two = Two::new();
    let writer = two.start().await;
    let mut follower = two.follow().await;
    two.handle.set_hearing(Hearing::Late);
    for offset in 1..4 {
        two.say(&writer).await;
        assert_eq!(after(follower.next()).await.0.unwrap()[0].offset, offset);
    }
    two.handle.set_hearing(Hearing::Good);
    two.say(&writer).await;
    let (records, took) = after(follower.next()).await;
    assert_eq!((records.unwrap()[0].offset, took), (4, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_thread_that_is_gone_is_found_without_news() {
    let two = Two::new();
    let writer = two.start().await;
    two.writes.end_run(&writer, Cause::Cancelled).await.unwrap();
    let mut follower = two.follow().await;
    two.handle.set_hearing(Hearing::Deaf);
    two.writes.delete(&two.t).await.unwrap();
    let (gone, took) = after(follower.next()).await;
    assert!(matches!(gone, Err(Error::OtherIncarnation(_))), "{gone:?}");
    assert!(took <= Duration::from_secs(1), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn nothing_of_a_new_thread_is_given_to_those_who_follow_an_old_one() {
    let two = Two::new();
    let writer = two.start().await;
    let mut follower = two.listens.follow(&two.t, None, 0).await.unwrap();
    two.handle.set_hearing(Hearing::Late);
    two.writes.end_run(&writer, Cause::Cancelled).await.unwrap();
    two.writes.delete(&two.t).await.unwrap();
    two.start().await;
    let (gone, took) = after(follower.next()).await;
    assert!(matches!(gone, Err(Error::OtherIncarnation(_))), "{gone:?}");
    assert_eq!(took, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn whoever_follows_where_the_store_is_away_is_cut_off() {
    let two = Two::new();
    let writer = two.start().await;
    let mut follower = two.follow().await;
    two.handle.set_hearing(Hearing::Deaf);
    // Not if it is back soon.
    two.gate.set(Gate::Away);
    two.say(&writer).await;
    sleep(Duration::from_secs(2)).await;
    two.gate.set(Gate::Open);
    assert_eq!(after(follower.next()).await.0.unwrap()[0].offset, 1);
    two.gate.set(Gate::Away);
    let (cut, took) = after(follower.next()).await;
    assert!(matches!(cut, Err(Error::Unavailable(_))), "{cut:?}");
    assert!(took >= Duration::from_secs(3) && took <= Duration::from_secs(5), "{took:?}");
    // Those who come back when it is back are served, though others hold what they share.
    two.gate.set(Gate::Open);
    let mut again = two.follow().await;
    two.say(&writer).await;
    assert_eq!(after(again.next()).await.0.unwrap()[0].offset, 2);
}
