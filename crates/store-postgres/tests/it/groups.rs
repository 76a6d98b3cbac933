//! Batches of several threads that are committed together, one of which another instance has fenced or locked: it drops out alone.

use crate::place::{Place, open_run, texts, thread};
use futures_util::future::join_all;
use std::time::Duration;
use threadline_log::store::{Append, Claim};
use threadline_log::{AppendKey, Epoch, Error, NewRecord, RunNo, Store, ThreadKey, Timestamp};
use threadline_store_postgres::PostgresStore;

const THREADS: [&str; 4] = ["a", "b", "c", "d"];
/// Neither the first nor the last of the group.
const OTHER: &str = "b";

fn appending(store: &PostgresStore, thread: &ThreadKey, key: Option<&str>) -> Append {
    Append {
        thread: thread.clone(),
        incarnation: None,
        run: RunNo(0),
        epoch: Epoch(1),
        records: vec![NewRecord::event(key.unwrap_or("plain").to_owned())],
        key: key.map(|key| AppendKey::new(key).expect("a short key")),
        expected_tail: None,
        end: None,
        time: store.clock().now(),
    }
}

/// On one thread of the process, so that nothing is committed before all of it waits.
#[tokio::test]
async fn a_batch_that_another_instance_has_fenced_drops_out_alone() {
    let place = Place::new();
    let (owner, other) = (place.instance().await, place.instance().await);
    let threads = THREADS.map(thread);
    for thread in &threads {
        open_run(&owner, thread).await;
    }
    let now = other.clock().now();
    let claim = Claim::Seize(Timestamp(now.0 + 60_000));
    let seized = other.claim(&thread(OTHER), RunNo(0), Epoch(1), claim, now).await;
    assert_eq!(seized, Ok(Epoch(2)));
    // What the heads of threads decide about, and what the database's function does.
    for (tail, key) in [(1, None), (2, Some("key"))] {
        let appends = threads.iter().map(|thread| owner.append(appending(&owner, thread, key)));
        let outcomes = join_all(appends.collect::<Vec<_>>()).await;
        for (name, outcome) in THREADS.iter().zip(outcomes) {
            let outcome = outcome.map(|ack| ack.offsets());
            let expected = match *name {
                OTHER => Err(Error::Fenced { given: Epoch(1), current: Epoch(2) }),
                _ => Ok(tail..tail + 1),
            };
            assert_eq!(outcome, expected, "{name}, {key:?}");
        }
        let written = "SELECT count(*), count(DISTINCT xmin::text) FROM batch WHERE first = $1";
        let written = place.inside().await.query_one(written, &[&tail.cast_signed()]).await.expect("a row");
        assert_eq!((written.get::<_, i64>(0), written.get::<_, i64>(1)), (3, 1), "one commit, {key:?}");
    }
    for name in THREADS {
        let expected: &[&str] = if name == OTHER { &["start"] } else { &["start", "plain", "key"] };
        assert_eq!(texts(&other, &thread(name)).await.expect("read"), expected, "{name}");
    }
}

/// One batch waits for a lock that somebody else has: the others of its group do not wait with it, nor does what comes next.
#[tokio::test]
async fn a_batch_that_waits_for_a_lock_waits_alone() {
    let place = Place::new();
    let mut options = place.options();
    options.hold_back = Duration::from_secs(120);
    let store = PostgresStore::open(&options).await.expect("a store");
    let threads = THREADS.map(thread);
    for thread in &threads {
        open_run(&store, thread).await;
    }
    let locker = place.inside().await;
    let lock = "BEGIN; SELECT FROM head WHERE thread = (SELECT id FROM thread WHERE name = 'b') FOR UPDATE";
    locker.batch_execute(lock).await.expect("a thread is locked");
    let mut waiting = Vec::new();
    for tail in [1, 2] {
        let appends: Vec<_> =
            threads.iter().map(|thread| store.append(appending(&store, thread, None))).collect();
        for (name, append) in THREADS.iter().zip(appends) {
            if *name == OTHER {
                waiting.push(append);
            } else {
                let acked = tokio::time::timeout(Duration::from_secs(30), append).await;
                let acked = acked.unwrap_or_else(|_| panic!("{name} waits with the other. tail={tail}"));
                assert_eq!(acked.map(|ack| ack.offsets()), Ok(tail..tail + 1), "{name}");
            }
        }
    }
    locker.batch_execute("COMMIT").await.expect("the thread is free");
    let acked: Vec<_> = join_all(waiting).await.into_iter().map(|ack| ack.map(|ack| ack.first)).collect();
    assert_eq!(acked, [Ok(1), Ok(2)], "in order");
}
