//! P6, P8: the network between one instance and the database is cut.

use super::appending::Appending;
use super::instances::{Cluster, INSTANCES, Lease};
use super::round::{Round, Struck, Tally};
use super::rounds;
use threadline_testkit::fault_proxy::FaultProxy;
use threadline_testkit::random::Random;
use tokio::time::Instant;

async fn part(lease: Lease, rounds: u32, cut: fn(&FaultProxy)) {
    let cluster = Cluster::start(lease).await;
    let (mut random, mut tally, mut repeated, mut struck) = (Random::new(13), Tally::default(), 0, 0);
    for number in 0..rounds {
        let victim = number as usize % INSTANCES;
        let appending = Appending::begin(&cluster, number);
        let mut round = Round::begin(&cluster, number, Struck::One(victim), &mut random).await;
        let parted = Instant::now();
        cut(cluster.network(victim));
        let told = round.taken_over(parted).await;
        // With short leases it is hardly noticed at the victim before others have closed its runs: once it is, so that its readers come back, too.
        if number + 1 == rounds {
            round.one_cut().await;
        }
        let healed = Instant::now();
        cluster.network(victim).heal();
        cluster.recovered(victim).await;
        let appended = appending.end(cluster.client(victim)).await;
        repeated += appended.iter().map(|one| one.repeated).sum::<usize>();
        struck += appended.iter().filter(|one| one.was_struck(parted, healed)).count();
        round.end(&cluster, told).await.iter().for_each(|seen| tally.add_as_struck(seen));
    }
    tally.print(&format!("{rounds} cuts, {struck} appends were under way, {repeated} were repeated"));
    assert!(struck > 0 || rounds == 1, "nobody ever appended at an instance that was cut off");
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p8_an_instance_whose_connections_to_the_database_break_loses_nothing_and_writes_nothing_stale() {
    part(Lease::Short, rounds(), FaultProxy::sever).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p8_an_instance_that_hears_nothing_of_the_database_loses_nothing_and_writes_nothing_stale() {
    part(Lease::Short, rounds(), FaultProxy::silence).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p8_runs_of_an_instance_that_is_cut_off_are_closed_in_time_with_leases_as_they_come() {
    part(Lease::Default, 1, FaultProxy::sever).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p8_runs_of_an_instance_that_hears_nothing_are_closed_in_time_with_leases_as_they_come() {
    part(Lease::Default, 1, FaultProxy::silence).await;
}
