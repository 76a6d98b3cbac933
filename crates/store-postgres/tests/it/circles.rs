//! Instances that append to the same threads at once, in groups, do not wait for each other in a circle.

use crate::place::{Place, open_run, texts, thread};
use futures_util::future::{join_all, try_join_all};
use std::sync::Arc;
use threadline_log::store::Append;
use threadline_log::{AppendKey, Epoch, NewRecord, RunNo, Store, ThreadKey};
use threadline_store_postgres::{PostgresOptions, PostgresStore};
use threadline_testkit::postgres::{Postgres, in_new_schema};
use tokio_postgres::Client;

/// More than enough that those without a key are a commit of their own beside those with one.
const THREADS: usize = 48;
const ROUNDS: usize = 150;

/// A round's appends of one instance, to all threads. Of some of them, others each time, more has to be known than their heads say.
async fn append_to_all(store: &PostgresStore, threads: &[ThreadKey], name: &str, round: usize) {
    let append = |(at, thread): (usize, &ThreadKey)| {
        let key = (at + round).is_multiple_of(3).then(|| format!("{name}-{round}"));
        store.append(Append {
            thread: thread.clone(),
            incarnation: None,
            run: RunNo(0),
            epoch: Epoch(1),
            records: vec![NewRecord::event(format!("{name}-{round}"))],
            key: key.map(|key| AppendKey::new(key).expect("a short key")),
            expected_tail: None,
            end: None,
            time: store.clock().now(),
        })
    };
    let appends: Vec<_> = threads.iter().enumerate().map(append).collect();
    try_join_all(appends).await.expect("all of it is appended");
}

/// How many circles the database has found, once nobody is left who has not told.
async fn deadlocks(inside: &Client) -> i64 {
    let left = "SELECT count(*) FROM (SELECT pg_stat_clear_snapshot()) AS now, pg_stat_activity \
        WHERE application_name = 'threadline'";
    while inside.query_one(left, &[]).await.expect("a count").get::<_, i64>(0) > 0 {}
    let found = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    inside.query_one(found, &[]).await.expect("a count").get(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instances_that_append_to_the_same_threads_do_not_wait_in_a_circle() {
    // A server of its own, which counts for this test alone, and looks for circles before anybody gives up waiting.
    let postgres = Postgres::start();
    let url = in_new_schema(&postgres.url());
    let inside = Place::at(url.clone()).inside().await;
    let options = PostgresOptions::new(&format!("{url}&options=-cdeadlock_timeout%3D20ms")).expect("a URL");
    let mut appending = Vec::new();
    let mut threads: Vec<ThreadKey> = (0..THREADS).map(|no| thread(&no.to_string())).collect();
    for name in ["one", "other"] {
        let store = Arc::new(PostgresStore::open(&options).await.expect("a store"));
        if name == "one" {
            for thread in &threads {
                open_run(&store, thread).await;
            }
        }
        // Each has them in an order of its own.
        threads.reverse();
        let threads = threads.clone();
        appending.push(async move {
            for round in 0..ROUNDS {
                append_to_all(&store, &threads, name, round).await;
            }
            store
        });
    }
    let stores = join_all(appending.into_iter().map(tokio::spawn)).await;
    for thread in &threads {
        let store = stores[0].as_ref().expect("a task that ends");
        assert_eq!(texts(store, thread).await.expect("read").len(), 1 + 2 * ROUNDS);
    }
    drop(stores);
    assert_eq!(deadlocks(&inside).await, 0);
}
