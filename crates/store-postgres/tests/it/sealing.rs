//! Packing by several instances at once.

use crate::place::{Place, append, finished, open_run, texts, thread};
use std::sync::Arc;
use threadline_log::store::Append;
use threadline_log::{Epoch, NewRecord, RunNo, Store};
use threadline_store_postgres::PostgresStore;
use tokio::task::JoinSet;

/// More rows than are packed at once.
const BATCHES: usize = 1_300;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instances_that_pack_the_same_run_lose_nothing() {
    let place = Place::new();
    let mut stores = Vec::new();
    for _ in 0..4 {
        stores.push(Arc::new(place.instance().await));
    }
    for round in 0..3 {
        let thread = thread(&format!("t{round}"));
        open_run(&stores[0], &thread).await;
        // In order, and without waiting for each.
        let mut appends = JoinSet::new();
        for number in 1..BATCHES {
            appends.spawn(append(&stores[0], &thread, &number.to_string()));
        }
        appends.join_all().await.into_iter().for_each(|appended| _ = appended.expect("appended"));
        end(&place, &stores[0], &thread).await;
        let before = texts(&stores[0], &thread).await.expect("read");
        assert_eq!(before.len(), BATCHES + 1);
        let mut sealing = JoinSet::new();
        for store in &stores {
            let store = Arc::clone(store);
            sealing.spawn(async move { store.tidy().await });
        }
        sealing.join_all().await.into_iter().for_each(|sealed| sealed.expect("tidied"));
        stores[0].tidy().await.expect("tidied");
        assert_eq!(texts(&stores[1], &thread).await.expect("read"), before);
        let packed = "SELECT count(*), bool_and(get_byte(body, 0) = 2) FROM batch JOIN thread ON thread.id = batch.thread WHERE name = $1";
        let row = place.inside().await.query_one(packed, &[&thread.thread.as_str()]).await.expect("a row");
        assert!(row.get::<_, i64>(0) < 20 && row.get(1), "all of it is packed: {row:?}");
    }
}

/// Somebody who has read rows that another has packed since, with others behind them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_late_with_packing_changes_nothing() {
    let place = Place::new();
    let store = place.instance().await;
    let thread = thread("t");
    open_run(&store, &thread).await;
    for number in 1..40 {
        append(&store, &thread, &number.to_string()).await.expect("appended");
    }
    end(&place, &store, &thread).await;
    let before = texts(&store, &thread).await.expect("read");
    let inside = place.inside().await;
    let seen = "SELECT thread, array_agg(first ORDER BY first), array_agg(count ORDER BY first) FROM batch WHERE first < 20 GROUP BY thread";
    let seen = inside.query_one(seen, &[]).await.expect("rows");
    let (id, firsts, counts): (i64, Vec<i64>, Vec<i32>) = (seen.get(0), seen.get(1), seen.get(2));
    assert_eq!(firsts.len(), 20);
    store.tidy().await.expect("tidied");
    // As it is while the other is not done with the run.
    inside.execute("UPDATE run SET sealed = false", &[]).await.expect("a row");
    let late = "SELECT seal($1, 0, 0, 41, 0, 20, $2, $3, '{0}', '{20}', '{0}', ARRAY['\\x02'::bytea])";
    let is_sealed: bool = inside.query_one(late, &[&id, &firsts, &counts]).await.expect("an answer").get(0);
    assert!(!is_sealed);
    assert_eq!(texts(&store, &thread).await.expect("read"), before);
}

/// Ends a run, which can be packed from then on.
async fn end(place: &Place, store: &PostgresStore, thread: &threadline_log::ThreadKey) {
    let append = Append {
        thread: thread.clone(),
        incarnation: None,
        run: RunNo(0),
        epoch: Epoch(1),
        records: vec![NewRecord::event("end")],
        key: None,
        expected_tail: None,
        end: Some(finished().into()),
        // As what was appended last, by the store's clock.
        time: threadline_log::Timestamp(0),
    };
    store.append(append).await.expect("ended");
    // That may be ahead of the database's, which says what can be packed.
    let wait = "SELECT pg_sleep(greatest(0, max(ended) - now_ms()) / 1000.0) FROM run";
    place.inside().await.execute(wait, &[]).await.expect("waited");
}
