//! Opening a database.

use crate::place::{Place, finished, open_run, opening, texts, thread};
use bytes::Bytes;
use threadline_log::run::RunLineage;
use threadline_log::store::OpenRun;
use threadline_log::{Checkpoint, Error, RunNo, Store, Timestamp};
use threadline_store_postgres::{OpenError, PostgresOptions, PostgresStore};
use threadline_testkit::postgres::schema_url;
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_of_instances_start_at_once_on_an_empty_database() {
    let options = Place::new().options();
    let mut opening = JoinSet::new();
    for _ in 0..6 {
        let options = options.clone();
        opening.spawn(async move { PostgresStore::open(&options).await.map(|_| ()) });
    }
    for opened in opening.join_all().await {
        opened.expect("each of them opens it");
    }
}

#[tokio::test]
async fn a_store_that_must_be_there_is_not_made() {
    let place = Place::new();
    let mut options = place.options();
    options.must_exist = true;
    let missing = PostgresStore::open(&options).await;
    assert!(matches!(missing, Err(OpenError::Missing(_))), "{missing:?}");
    let schema: Option<String> =
        place.inside().await.query_one("SELECT current_schema()::text", &[]).await.expect("a row").get(0);
    assert_eq!(schema, None, "nothing was made");
    drop(place.instance().await);
    PostgresStore::open(&options).await.expect("it is there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_of_an_older_format_is_brought_to_this_one_by_one_of_those_that_start() {
    let place = Place::new();
    let inside = place.inside().await;
    let schema: String = inside.query_one("SHOW search_path", &[]).await.expect("a row").get(0);
    let first = [
        &format!("CREATE SCHEMA {schema}"),
        "CREATE TABLE format (version integer PRIMARY KEY, made timestamptz NOT NULL DEFAULT now())",
        include_str!("../../src/schema/0001.sql"),
        "INSERT INTO format (version) VALUES (1)",
    ];
    inside.batch_execute(&first.join(";\n")).await.expect("the first format");
    let mut opening = JoinSet::new();
    for _ in 0..6 {
        let options = place.options();
        opening.spawn(async move { PostgresStore::open(&options).await.map(drop) });
    }
    for opened in opening.join_all().await {
        opened.expect("each of them opens it");
    }
    let store = place.instance().await;
    let t = thread("t");
    open_run(&store, &t).await;
    assert_eq!(texts(&store, &t).await, Ok(vec!["start".to_owned()]));
    store.delete(&t, None, Timestamp(0)).await.expect("deleted");
    assert_eq!(store.thread(&t).await.map(drop), Err(Error::NoThread(t)));
}

/// How instances of format 2 keep a checkpoint.
const PUT_CHECKPOINT_OF_BEFORE: &str =
    "SELECT outcome, detail FROM put_checkpoint($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
/// What they would give it for the one that there is, but for its thread and run.
const KEPT: &str = "SELECT c.version, c.stands_alone, c.delta, c.whole, c.chained, c.words, r.said, r.history, r.messages \
    FROM checkpoint AS c JOIN run AS r ON r.thread = c.thread AND r.no = c.run";

#[tokio::test]
async fn an_instance_of_before_that_goes_on_keeps_checkpoints() {
    let place = Place::new();
    let store = place.instance().await;
    let (now, before, run, time) = (thread("now"), thread("before"), RunNo(0), Timestamp(1));
    for thread in [&now, &before] {
        let open = OpenRun { end: Some(finished()), ..opening(thread, time) };
        assert_eq!(store.open_run(open).await.expect("a run").run, run);
    }
    let checkpoint = Checkpoint {
        run,
        version: 1,
        stands_alone: false,
        delta: Bytes::from_static(b"delta"),
        full: Some(Bytes::from_static(b"full")),
        chained: None,
        lineage: RunLineage { said: 1, hash: 2, ids: vec![3] },
    };
    store.put_checkpoint(&now, None, checkpoint.clone(), time).await.expect("kept");
    assert_eq!(store.unfolded().await, Ok(vec![(before.clone(), run)]));
    let inside = place.inside().await;
    let row = inside.query_one(KEPT, &[]).await.expect("a row");
    let kept = inside
        .query_one(
            PUT_CHECKPOINT_OF_BEFORE,
            &[
                &"app",
                &"user",
                &"before",
                &i64::from(run.0),
                &row.get::<_, i64>(0),
                &row.get::<_, bool>(1),
                &row.get::<_, &[u8]>(2),
                &row.get::<_, Option<&[u8]>>(3),
                &row.get::<_, Option<&str>>(4),
                &row.get::<_, Vec<String>>(5),
                &row.get::<_, i64>(6),
                &row.get::<_, i64>(7),
                &row.get::<_, Vec<i64>>(8),
            ],
        )
        .await
        .expect("it is there to be called");
    assert_eq!(kept.get::<_, i32>(0), 0, "it is done");
    assert_eq!(store.checkpoint(&before, run).await, Ok(Some(checkpoint)));
    assert_eq!(store.unfolded().await, Ok(vec![]));
}

#[tokio::test]
async fn a_database_of_a_newer_format_is_left_alone() {
    let place = Place::new();
    drop(place.instance().await);
    place.inside().await.batch_execute("INSERT INTO format (version) VALUES (999)").await.expect("a row");
    let opened = PostgresStore::open(&place.options()).await;
    assert!(matches!(opened, Err(OpenError::Newer { found: 999, .. })), "{opened:?}");
}

#[tokio::test]
async fn a_database_that_may_lose_what_it_has_acknowledged_is_refused() {
    let url = format!("{}&options=-csynchronous_commit%3Doff", schema_url());
    let mut options = PostgresOptions::new(&url).expect("a URL");
    let refused = PostgresStore::open(&options).await.expect_err("refused").to_string();
    assert!(refused.contains("synchronous_commit is off"), "{refused}");
    options.unsafe_durability = true;
    PostgresStore::open(&options).await.expect("who insists has it");
}

#[tokio::test]
async fn a_database_that_is_not_there_is_said_to_be_so() {
    let options = PostgresOptions::new("postgres://nobody@127.0.0.1:1/nothing").expect("a URL");
    let refused = PostgresStore::open(&options).await.expect_err("refused").to_string();
    assert!(refused.contains("cannot connect") && refused.contains("refused"), "{refused}");
}
