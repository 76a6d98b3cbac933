//! P6, P8: the database goes away, and comes back.

use super::appending::Appending;
use super::instances::{Cluster, INSTANCES, Lease};
use super::round::{Round, Struck, Tally};
use super::rounds;
use super::watching::assert_unavailable;
use std::time::Duration;
use threadline_testkit::postgres::Postgres;
use threadline_testkit::random::Random;
use tokio::task::block_in_place;
use tokio::time::Instant;

/// How long after the database is back the last run has ended, at most: those that go on have a second to go, others are closed
/// when their leases are over.
const RESUMED_MAX: Duration = Duration::from_secs(10);

/// Waits until every instance reaches the database again.
async fn all_recovered(cluster: &Cluster) {
    for instance in 0..INSTANCES {
        cluster.recovered(instance).await;
    }
}

/// Takes the database away under load, and gives it back at once.
async fn interrupt(lease: Lease, rounds: u32, take_away: fn(&mut Postgres)) {
    let mut cluster = Cluster::start(lease).await;
    let (mut random, mut tally, mut repeated, mut struck) = (Random::new(17), Tally::default(), 0, 0);
    for number in 0..rounds {
        let appending = Appending::begin(&cluster, number);
        let mut round = Round::begin(&cluster, number, Struck::Nobody, &mut random).await;
        block_in_place(|| take_away(&mut cluster.postgres));
        let gone = Instant::now();
        block_in_place(|| cluster.postgres.restart());
        let back = Instant::now();
        all_recovered(&cluster).await;
        let told = round.all_told(Vec::new()).await;
        let appended = appending.end(cluster.client(number as usize)).await;
        for seen in &told {
            let took = seen.ended.saturating_duration_since(back);
            assert!(took <= RESUMED_MAX, "{:?}: {took:?}", seen.run);
        }
        repeated += appended.iter().map(|one| one.repeated).sum::<usize>();
        struck += appended.iter().filter(|one| one.was_struck(gone, back)).count();
        round.end(&cluster, told).await.iter().for_each(|seen| tally.add(seen));
    }
    tally.print(&format!("{rounds} outages, {struck} appends were under way, {repeated} were repeated"));
    assert!(struck > 0, "the database went away while nobody appended");
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p8_nothing_is_lost_when_the_database_is_restarted_under_load() {
    interrupt(Lease::Short, rounds(), Postgres::stop).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p8_nothing_is_lost_when_the_database_is_killed_under_load() {
    interrupt(Lease::Short, rounds(), Postgres::kill).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p8_nothing_is_lost_when_the_database_is_restarted_with_leases_as_they_come() {
    interrupt(Lease::Default, 1, Postgres::stop).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p8_nothing_is_lost_when_the_database_is_killed_with_leases_as_they_come() {
    interrupt(Lease::Default, 1, Postgres::kill).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p8_while_the_database_is_away_streams_are_cut_and_it_is_said_so_and_all_goes_on_by_itself() {
    let mut cluster = Cluster::start(Lease::Short).await;
    let (mut random, mut tally) = (Random::new(19), Tally::default());
    let mut round = Round::begin(&cluster, 0, Struck::All, &mut random).await;
    block_in_place(|| cluster.postgres.stop());
    round.all_cut().await;
    for instance in 0..INSTANCES {
        let client = cluster.client(instance);
        let thread = "/v1/threads/thread-0-0";
        let parts = ["", "/messages", "/state", "/runs", "/events"].map(|part| format!("{thread}{part}"));
        for path in parts.iter().map(String::as_str).chain(["/v1/threads"]) {
            assert_unavailable(&client.get(path).await, &format!("{path}, instance {instance}"));
        }
        assert_unavailable(&client.run("brief", "new", "run").await, "a run");
        assert_unavailable(&client.connect("brief", "thread-0-0", None).await, "connect");
        assert_eq!(client.get("/readyz").await.status, 503);
        assert_eq!(client.get("/healthz").await.status, 200);
    }
    // What is held back for less than the outage is written after it, and its run goes on.
    for instance in 0..INSTANCES {
        cluster.given_up(instance).await;
    }
    block_in_place(|| cluster.postgres.restart());
    let back = Instant::now();
    all_recovered(&cluster).await;
    let told = round.all_told(Vec::new()).await;
    for seen in &told {
        let took = seen.ended.duration_since(back);
        assert!(took <= RESUMED_MAX, "{:?}: {took:?}", seen.run);
    }
    round.end(&cluster, told).await.iter().for_each(|seen| tally.add_as_struck(seen));
    tally.print("an outage");
    cluster.stop().await;
}
