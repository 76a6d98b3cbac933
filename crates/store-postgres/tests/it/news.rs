//! What instances tell each other.

use crate::place::{Place, append, open_run, thread};
use std::sync::Arc;
use std::time::Duration;
use threadline_log::store::{News, Shared, Store};
use threadline_store_postgres::PostgresStore;
use tokio::time::timeout;

/// The most that anybody waits for anything.
const PATIENCE: Duration = Duration::from_secs(30);

async fn hear(store: &PostgresStore) -> Vec<News> {
    timeout(PATIENCE, store.heard()).await.expect("something is told")
}

#[tokio::test]
async fn whoever_comes_is_told_from_then_on_and_whoever_is_alone_tells_nobody() {
    let place = Place::new();
    let (first, thread) = (Arc::new(place.instance().await), thread("t"));
    let incarnation = open_run(&first, &thread).await.incarnation;
    let second = place.instance().await;
    // That something was missed is said as soon as it listens, and once more when the first one knows that it is there.
    let (mut said, mut is_told) = (0, false);
    while !is_told {
        for news in hear(&second).await {
            match news {
                News::Missed => {
                    append(&first, &thread, &said.to_string()).await.expect("an append");
                    said += 1;
                }
                News::Reached { thread, tail } => {
                    assert!(
                        thread == incarnation && (2..=said + 1).contains(&tail),
                        "tail={tail}, said={said}"
                    );
                    is_told = true;
                }
                news => panic!("{news:?}"),
            }
        }
    }
    drop(second);
    // Nobody hears himself.
    assert_eq!(hear(&first).await, [News::Missed]);
    while let Ok(news) = timeout(Duration::from_millis(100), first.heard()).await {
        assert_eq!(news, [News::Missed]);
    }
    first.close().await;
}

/// Ends the connections of the schema that listen, and says how many there were.
async fn end_listening(place: &Place) -> i64 {
    let end = "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity \
        WHERE query = 'LISTEN \"threadline:' || current_setting('search_path') || '\"'";
    place.inside().await.query_one(end, &[]).await.expect("a count").get(0)
}

#[tokio::test]
async fn who_listens_on_a_connection_that_breaks_listens_on_another_and_hears_what_comes() {
    let place = Place::new();
    let (first, thread) = (place.instance().await, thread("t"));
    let incarnation = open_run(&first, &thread).await.incarnation;
    assert_eq!(hear(&first).await, [News::Missed], "it listens");
    assert_eq!(end_listening(&place).await, 1, "nobody else does");
    let second = place.instance().await;
    let (mut said, mut is_told) = (0, false);
    while !is_told {
        for news in hear(&first).await {
            match news {
                News::Missed => {
                    append(&second, &thread, &said.to_string()).await.expect("an append");
                    said += 1;
                }
                News::Reached { thread, tail } => {
                    assert!(thread == incarnation && (2..=said + 1).contains(&tail), "tail={tail}");
                    is_told = true;
                }
                news => panic!("{news:?}"),
            }
        }
    }
}

#[tokio::test]
async fn whoever_writes_something_and_goes_at_once_has_told_it() {
    let place = Place::new();
    let (first, thread) = (place.instance().await, thread("t"));
    let incarnation = open_run(&first, &thread).await.incarnation;
    assert_eq!(hear(&first).await, [News::Missed], "it listens");
    for tail in 2..8 {
        let brief = place.instance().await;
        append(&brief, &thread, "said").await.expect("an append");
        brief.close().await;
        drop(brief);
        let is_told =
            |news: &News| [News::Missed, News::Reached { thread: incarnation, tail }].contains(news);
        let told = async { while !first.heard().await.iter().any(is_told) {} };
        // Sooner than it is noticed that one is gone.
        timeout(Duration::from_secs(4), told).await.expect("something is told");
    }
}

#[tokio::test]
async fn when_an_instance_is_gone_something_may_be_missed() {
    let place = Place::new();
    let (first, thread) = (place.instance().await, thread("t"));
    open_run(&first, &thread).await;
    let second = place.instance().await;
    // The first has heard of it.
    while !hear(&first).await.iter().any(|news| matches!(news, News::Reached { .. })) {
        append(&second, &thread, "said").await.expect("an append");
    }
    drop(second);
    while hear(&first).await != [News::Missed] {}
}
