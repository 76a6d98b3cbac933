//! Connections that are lost in the middle of an append: it lands once.

use crate::place::{Place, append, open_run, texts, thread};
use std::sync::Arc;
use std::time::Duration;
use threadline_log::ThreadKey;
use threadline_store_postgres::PostgresStore;
use threadline_testkit::fault_proxy::FaultProxy;
use threadline_testkit::postgres::{Postgres, in_new_schema};
use tokio_postgres::Client;

/// A store behind a network that fails, and whoever looks at the database past it.
async fn behind_a_proxy(postgres: &Postgres) -> (FaultProxy, Arc<PostgresStore>, Client) {
    let place = Place::at(in_new_schema(&postgres.url()));
    let inside = place.inside().await;
    let proxy = FaultProxy::start(postgres.address()).await;
    let mut options = place.through(proxy.address()).options();
    options.hold_back = Duration::from_secs(30);
    let store = PostgresStore::open(&options).await.expect("a store");
    (proxy, Arc::new(store), inside)
}

/// Waits until so many batches are in the database.
async fn until_there_are(inside: &Client, batches: i64) {
    loop {
        let count: i64 = inside.query_one("SELECT count(*) FROM batch", &[]).await.expect("a count").get(0);
        if count == batches {
            return;
        }
    }
}

/// Waits until an append waits for a lock.
async fn until_it_waits(inside: &Client) {
    // As of now, not as of the beginning of the transaction.
    let count = "SELECT count(*) FROM (SELECT pg_stat_clear_snapshot()) AS now, pg_stat_activity \
        WHERE wait_event_type = 'Lock' AND query ~ 'FROM append\\(|INTO batch'";
    while inside.query_one(count, &[]).await.expect("a count").get::<_, i64>(0) == 0 {}
}

/// Reads are not held back, so that they are tried until the store has found its way again.
async fn said(store: &PostgresStore, thread: &ThreadKey) -> Vec<String> {
    loop {
        if let Ok(said) = texts(store, thread).await {
            return said;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_appended_before_the_connection_broke_is_not_appended_again() {
    let postgres = Postgres::start();
    let (proxy, store, inside) = behind_a_proxy(&postgres).await;
    let thread = thread("t");
    open_run(&store, &thread).await;
    for round in 0..10 {
        // The question is there before answers are lost.
        inside.batch_execute("BEGIN; SELECT FROM head FOR UPDATE").await.expect("the thread is locked");
        let appending = tokio::spawn(append(&store, &thread, &round.to_string()));
        until_it_waits(&inside).await;
        proxy.mute();
        inside.batch_execute("COMMIT").await.expect("the thread is free");
        until_there_are(&inside, round + 2).await;
        proxy.sever();
        proxy.heal();
        let offset = appending.await.expect("a task").expect("it is known to be there");
        assert_eq!(offset, round.cast_unsigned() + 1);
    }
    let expected: Vec<String> =
        std::iter::once("start".to_owned()).chain((0..10).map(|round| round.to_string())).collect();
    assert_eq!(said(&store, &thread).await, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_arrives_after_it_was_given_up_does_not_land_a_second_time() {
    let postgres = Postgres::start();
    let (proxy, store, inside) = behind_a_proxy(&postgres).await;
    let thread = thread("t");
    open_run(&store, &thread).await;
    append(&store, &thread, "before").await.expect("appended");
    // What is sent on the connections that there are comes late; it is given up, and asked for on a new one.
    let old = "SELECT array_agg(pid) FROM pg_stat_activity WHERE application_name = 'threadline' AND query ~ 'FROM append\\(|INTO batch'";
    let old: Vec<i32> = inside.query_one(old, &[]).await.expect("a list").get(0);
    proxy.get_stuck();
    assert_eq!(append(&store, &thread, "once").await.expect("it is appended in the end"), 2);
    proxy.heal();
    assert_eq!(append(&store, &thread, "after").await.expect("appended"), 3);
    // Whoever has the late question has answered it when it is gone.
    let left = "SELECT count(*) FROM pg_stat_activity WHERE pid = ANY ($1)";
    while inside.query_one(left, &[&old]).await.expect("a count").get::<_, i64>(0) > 0 {}
    assert_eq!(said(&store, &thread).await, ["start", "before", "once", "after"]);
}
