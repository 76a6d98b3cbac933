//! A database that goes away, and comes back.

use crate::place::{Place, append, open_run, texts, thread};
use std::time::Duration;
use threadline_log::{Error, Store};
use threadline_store_postgres::PostgresStore;
use threadline_testkit::postgres::{Postgres, in_new_schema};

async fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_are_held_back_for_a_while_and_nothing_acked_is_lost() {
    let mut postgres = Postgres::start();
    let mut options = Place::at(in_new_schema(&postgres.url())).options();
    options.hold_back = Duration::from_secs(30);
    let patient = PostgresStore::open(&options).await.expect("a store");
    options.hold_back = Duration::from_millis(100);
    let impatient = PostgresStore::open(&options).await.expect("a store");
    let thread = thread("t");
    open_run(&patient, &thread).await;
    append(&patient, &thread, "before").await.expect("appended");

    postgres.kill();
    until(|| impatient.trouble().is_some() && patient.trouble().is_some()).await;
    let read = texts(&impatient, &thread).await;
    assert!(matches!(read, Err(Error::Unavailable(_))), "{read:?}");
    let refused = append(&impatient, &thread, "refused").await;
    assert!(matches!(refused, Err(Error::Unavailable(_))), "nothing was sent: {refused:?}");
    let held_back = tokio::spawn(append(&patient, &thread, "held back"));

    let _postgres = tokio::task::spawn_blocking(move || {
        postgres.restart();
        postgres
    })
    .await
    .expect("it starts");
    held_back.await.expect("a task").expect("appended when it is back");
    until(|| impatient.trouble().is_none() && patient.trouble().is_none()).await;
    append(&impatient, &thread, "after").await.expect("appended");
    assert_eq!(texts(&impatient, &thread).await.expect("read"), ["start", "before", "held back", "after"]);
}
