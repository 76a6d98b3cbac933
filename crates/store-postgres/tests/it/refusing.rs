//! A database that can be read and takes no writes, because its disk is full, for example.

use crate::place::{Place, append, open_run, opening, texts, thread};
use std::time::Duration;
use threadline_log::{Error, Store};
use threadline_store_postgres::PostgresStore;
use threadline_testkit::postgres::{Postgres, in_new_schema};
use tokio_postgres::Client;

/// The most that anybody waits for anything.
const PATIENCE: Duration = Duration::from_secs(30);

async fn until(mut holds: impl FnMut() -> bool) {
    let waited = async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, waited).await.expect("it comes to that");
}

async fn impatient(place: &Place) -> PostgresStore {
    let mut options = place.options();
    options.hold_back = Duration::from_millis(100);
    PostgresStore::open(&options).await.expect("a store")
}

/// From now on the database refuses rows of batches with this code, and counts how often.
async fn refuse(inside: &Client, code: &str) {
    let refuse = format!(
        "CREATE SEQUENCE refused; \
         CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
           PERFORM nextval('refused'); RAISE EXCEPTION USING ERRCODE = '{code}', MESSAGE = 'no room'; END $$; \
         CREATE TRIGGER refuse BEFORE INSERT ON batch FOR EACH ROW EXECUTE FUNCTION refuse()"
    );
    inside.batch_execute(&refuse).await.expect("a trigger");
}

async fn refused(inside: &Client) -> i64 {
    inside.query_one("SELECT last_value FROM refused", &[]).await.expect("a number").get(0)
}

/// Writes nothing, and waits until the store has noticed by itself that it could.
async fn take_again(inside: &Client, store: &PostgresStore) {
    let known = refused(inside).await;
    while refused(inside).await < known + 2 {}
    assert!(store.trouble().is_some(), "it was tried, and refused");
    inside.batch_execute("DROP FUNCTION refuse CASCADE; DROP SEQUENCE refused").await.expect("dropped");
    until(|| store.trouble().is_none()).await;
    let left = "SELECT count(*) FROM batch WHERE thread = 0";
    let left: i64 = inside.query_one(left, &[]).await.expect("a count").get(0);
    assert_eq!(left, 0, "nothing is left of having tried");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_takes_no_writes_is_in_trouble_until_it_takes_them_again() {
    let (place, thread) = (Place::new(), thread("t"));
    let (store, inside) = (impatient(&place).await, place.inside().await);
    open_run(&store, &thread).await;
    let room = Err(Error::Unavailable("the database: no room (53100)".to_owned()));
    // What the committers write, and what the others do: full, and broken.
    refuse(&inside, "53100").await;
    assert_eq!(append(&store, &thread, "refused").await, room);
    assert_eq!(store.trouble().as_deref(), Some("the database: no room (53100)"));
    assert_eq!(texts(&store, &thread).await, Ok(vec!["start".to_owned()]), "it can be read");
    take_again(&inside, &store).await;
    append(&store, &thread, "taken").await.expect("appended");
    refuse(&inside, "58030").await;
    let opened = store.open_run(opening(&crate::place::thread("other"), store.clock().now())).await;
    assert!(matches!(opened, Err(Error::Unavailable(_))), "{opened:?}");
    assert_eq!(store.trouble().as_deref(), Some("the database: no room (58030)"));
    take_again(&inside, &store).await;
    // One that is refused for its own sake is nobody else's trouble.
    refuse(&inside, "23514").await;
    append(&store, &thread, "wrong").await.expect_err("refused");
    assert_eq!(store.trouble(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_can_only_be_read_is_in_trouble_until_it_can_be_written_again() {
    let postgres = Postgres::start();
    let (place, thread) = (Place::at(in_new_schema(&postgres.url())), thread("t"));
    let (store, inside) = (impatient(&place).await, place.inside().await);
    open_run(&store, &thread).await;
    append(&store, &thread, "before").await.expect("appended");
    // As providers do it when a disk is nearly full: sessions that are there learn of it, too.
    let set = async |value: &str| {
        inside.batch_execute("SET default_transaction_read_only = off").await.expect("not here");
        let alter = format!("ALTER SYSTEM SET default_transaction_read_only = {value}");
        inside.batch_execute(&alter).await.expect("a setting");
        inside.batch_execute("SELECT pg_reload_conf()").await.expect("settings are read anew");
    };
    set("on").await;
    while append(&store, &thread, "on its way").await.is_ok() {}
    let trouble = store.trouble().expect("trouble");
    assert!(trouble.contains("(25006)"), "{trouble}");
    set("off").await;
    until(|| store.trouble().is_none()).await;
    append(&store, &thread, "after").await.expect("appended");
}
