//! P6, P7: an instance is killed while it executes runs, and while clients append.

use super::appending::Appending;
use super::instances::{Cluster, INSTANCES, Lease};
use super::round::{Round, Struck, TAKEOVER_MAX, Tally};
use super::rounds;
use std::collections::BTreeSet;
use threadline_testkit::random::Random;
use tokio::time::Instant;

/// How many runs there are at one instance, of which nobody has to be told piece by piece.
const MANY: usize = 300;

async fn kill(lease: Lease, rounds: u32) {
    let mut cluster = Cluster::start(lease).await;
    let (mut random, mut tally, mut repeated, mut struck) = (Random::new(7), Tally::default(), 0, 0);
    for number in 0..rounds {
        let victim = number as usize % INSTANCES;
        let appending = Appending::begin(&cluster, number);
        let mut round = Round::begin(&cluster, number, Struck::One(victim), &mut random).await;
        let killed = Instant::now();
        cluster.kill(victim);
        let told = round.taken_over(killed).await;
        let taken_over = Instant::now();
        cluster.start_again(victim);
        // Whoever was at the one that died has repeated what it said, elsewhere.
        let appended = appending.end(cluster.client(victim + 1)).await;
        repeated += appended.iter().map(|one| one.repeated).sum::<usize>();
        struck += appended.iter().filter(|one| one.was_struck(killed, taken_over)).count();
        round.end(&cluster, told).await.iter().for_each(|seen| tally.add_as_struck(seen));
    }
    tally.print(&format!("{rounds} kills, {struck} appends were under way, {repeated} were repeated"));
    assert!(struck > 0 || rounds == 1, "nobody ever appended at an instance that died");
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_runs_of_an_instance_that_dies_are_closed_by_another_and_their_readers_go_on_anywhere() {
    kill(Lease::Short, rounds()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_runs_of_a_dead_instance_are_closed_in_time_with_leases_as_they_come() {
    kill(Lease::Default, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_hundreds_of_runs_of_a_dead_instance_are_closed_in_time() {
    let mut cluster = Cluster::start(Lease::Default).await;
    let names: BTreeSet<String> = (0..MANY).map(|at| format!("many-{at}")).collect();
    for name in &names {
        // Who has seen the start of a run may go.
        cluster.client(0).run("quiet", name, "run").await.frame().await;
    }
    let mut changes = cluster.client(1).get("/v1/changes").await;
    while changes.frame().await.kind() != "listed" {}
    let killed = Instant::now();
    cluster.kill(0);
    let mut closed = BTreeSet::new();
    while closed.len() < MANY {
        let mut thread = changes.frame().await.value()["thread"].take();
        if thread["status"] == "abandoned" {
            closed.insert(thread["threadId"].take().as_str().expect("an id").to_owned());
        }
    }
    let took = killed.elapsed();
    assert!(took <= TAKEOVER_MAX, "{took:?}");
    assert_eq!(closed, names);
}
