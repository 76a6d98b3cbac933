//! Leases go by the database's clock, whatever the instances think that the time is.

use crate::place::{Place, append, open_run, opening, texts, thread};
use threadline_log::store::{Claim, OpenRun};
use threadline_log::{Epoch, Error, Store, Timestamp};

const HOUR_MS: i64 = 3_600_000;

#[tokio::test]
async fn nobody_takes_over_before_the_database_says_that_the_lease_is_over() {
    let place = Place::new();
    let (owner, other) = (place.instance().await, place.instance().await);
    let thread = thread("t");
    let run = open_run(&owner, &thread).await.run;
    let fast = Timestamp(other.clock().now().0 + HOUR_MS);
    let claim = Claim::TakeOver(Timestamp(fast.0 + 60_000));
    let taken = other.claim(&thread, run, Epoch(1), claim, fast).await;
    assert!(matches!(taken, Err(Error::RunActive(_))), "{taken:?}");
    assert_eq!(other.expired(fast).await, Ok(Vec::new()));
}

#[tokio::test]
async fn a_fast_clock_makes_no_lease_longer() {
    let place = Place::new();
    let store = place.instance().await;
    let thread = thread("t");
    let now = store.clock().now();
    let fast = Timestamp(now.0 + HOUR_MS);
    let open = OpenRun { lease_until: Timestamp(fast.0 + 1_000), ..opening(&thread, fast) };
    let run = store.open_run(open).await.expect("opened").run;
    let until = async || store.run(&thread, run).await.expect("a run").lease_until.0;
    assert!(until().await < now.0 + 30_000, "a second, and what the test takes");
    let renewal = Claim::Renew(Timestamp(fast.0 + 2_000));
    store.claim(&thread, run, Epoch(1), renewal, fast).await.expect("renewed");
    assert!(until().await < now.0 + 30_000);
}

/// Runs may be closed before their time then, but nobody writes behind that.
#[tokio::test]
async fn a_database_whose_clock_jumps_gives_runs_away_and_fences_their_writers() {
    let place = Place::new();
    let (owner, other) = (place.instance().await, place.instance().await);
    let thread = thread("t");
    let run = open_run(&owner, &thread).await.run;
    append(&owner, &thread, "before").await.expect("appended");
    let jump = "CREATE OR REPLACE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS \
        $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint + 3600000 $$";
    place.inside().await.batch_execute(jump).await.expect("the clock jumps");
    let late = Timestamp(other.clock().now().0 + HOUR_MS);
    assert_eq!(other.expired(late).await, Ok(vec![(thread.clone(), run)]));
    let claim = Claim::TakeOver(Timestamp(late.0 + 60_000));
    assert_eq!(other.claim(&thread, run, Epoch(1), claim, late).await, Ok(Epoch(2)));
    let fenced = append(&owner, &thread, "behind").await;
    assert_eq!(fenced, Err(Error::Fenced { given: Epoch(1), current: Epoch(2) }));
    assert_eq!(texts(&owner, &thread).await.expect("read"), ["start", "before"]);
}

/// Whoever died before cannot be told from who goes on, until the database's clock has come so far again. Who insists ends the run all the same.
#[tokio::test]
async fn a_database_whose_clock_jumps_back_keeps_the_runs_of_the_dead_for_as_long() {
    let place = Place::new();
    let (owner, other) = (place.instance().await, place.instance().await);
    let [dead, alive] = [thread("dead"), thread("alive")];
    let run = open_run(&owner, &dead).await.run;
    open_run(&owner, &alive).await;
    let jump = "CREATE OR REPLACE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS \
        $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint - 3600000 $$";
    place.inside().await.batch_execute(jump).await.expect("the clock jumps");
    let later = Timestamp(other.clock().now().0 + HOUR_MS / 2);
    assert_eq!(other.expired(later).await, Ok(Vec::new()));
    let claim = Claim::TakeOver(Timestamp(later.0 + 60_000));
    let taken = other.claim(&dead, run, Epoch(1), claim, later).await;
    assert!(matches!(taken, Err(Error::RunActive(_))), "{taken:?}");
    // A lease that is renewed is one by the new time, whoever asks by the old.
    let renewal = Claim::Renew(Timestamp(later.0 + 6_000));
    owner.claim(&alive, run, Epoch(1), renewal, later).await.expect("renewed");
    let said: i64 = place.inside().await.query_one("SELECT now_ms()", &[]).await.expect("a time").get(0);
    let until = other.run(&alive, run).await.expect("a run").lease_until.0;
    assert!(until <= said + 6_000, "{} ms", until - said);
    let claim = Claim::Seize(Timestamp(later.0 + 60_000));
    assert_eq!(other.claim(&dead, run, Epoch(1), claim, later).await, Ok(Epoch(2)));
}

#[tokio::test]
async fn instances_have_one_time() {
    let place = Place::new();
    let (a, b) = (place.instance().await, place.instance().await);
    let apart = (a.clock().now().0 - b.clock().now().0).abs();
    assert!(apart < 2_000, "{apart} ms");
    let said: i64 = place.inside().await.query_one("SELECT now_ms()", &[]).await.expect("a time").get(0);
    assert!((a.clock().now().0 - said).abs() < 2_000);
}
