//! Lists, and searches that take long.

use crate::place::{Place, open_run, thread};
use std::sync::Arc;
use std::time::Duration;
use threadline_log::thread::{ThreadInfo, ThreadQuery};
use threadline_log::{Error, Store};
use threadline_store_postgres::PostgresStore;
use threadline_testkit::fault_proxy::FaultProxy;
use threadline_testkit::postgres::{Postgres, in_new_schema};
use tokio::time::timeout;

/// Less than an answer may take that is about many threads.
const PATIENCE: Duration = Duration::from_secs(30);

fn all() -> ThreadQuery {
    ThreadQuery { scope: Some(thread("t").scope.clone()), limit: 10, ..ThreadQuery::default() }
}

fn search() -> ThreadQuery {
    ThreadQuery { words: Some("word".to_owned()), ..all() }
}

fn names(listed: &[ThreadInfo]) -> Vec<&str> {
    listed.iter().map(|thread| thread.key.thread.as_str()).collect()
}

async fn with_a_thread(place: &Place) -> Arc<PostgresStore> {
    let store = Arc::new(place.instance().await);
    open_run(&store, &thread("t")).await;
    store
}

#[tokio::test]
async fn a_list_does_not_wait_for_a_search() {
    let place = Place::new();
    let store = with_a_thread(&place).await;
    let (locker, inside) = (place.inside().await, place.inside().await);
    locker.batch_execute("BEGIN; LOCK TABLE checkpoint").await.expect("searches wait");
    let searching = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.threads(&search()).await }
    });
    let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'checkpoint'::regclass";
    while inside.query_one(waits, &[]).await.expect("a count").get::<_, i64>(0) == 0 {}
    let listed = timeout(PATIENCE, store.threads(&all())).await.expect("it does not wait").expect("a list");
    assert_eq!(names(&listed), ["t"]);
    assert!(!searching.is_finished());
    locker.batch_execute("COMMIT").await.expect("searches go on");
    let found = searching.await.expect("a task").expect("a list");
    assert_eq!(names(&found), [""; 0]);
}

#[tokio::test]
async fn a_search_that_is_under_way_when_the_network_swallows_everything_is_given_up() {
    let postgres = Postgres::start();
    let proxy = FaultProxy::start(postgres.address()).await;
    let place = Place::at(in_new_schema(&postgres.url())).through(proxy.address());
    let store = with_a_thread(&place).await;
    store.threads(&search()).await.expect("a list");
    proxy.silence();
    let found = timeout(PATIENCE, store.threads(&search())).await.expect("it is given up");
    assert!(
        matches!(&found, Err(Error::Unavailable(why)) if Some(why) == store.trouble().as_ref()),
        "{found:?}"
    );
}
