//! P8: the network between one instance and the database is cut.

use super::instances::{Cluster, INSTANCES, Lease};
use super::round::{Round, Struck, Tally};
use super::rounds;
use threadline_testkit::fault_proxy::FaultProxy;
use threadline_testkit::random::Random;
use tokio::time::Instant;

async fn part(lease: Lease, rounds: u32, cut: fn(&FaultProxy)) {
    let cluster = Cluster::start(lease).await;
    let (mut random, mut tally) = (Random::new(13), Tally::default());
    for number in 0..rounds {
        let victim = number as usize % INSTANCES;
        let mut round = Round::begin(&cluster, number, Struck::One(victim), &mut random).await;
        let parted = Instant::now();
        cut(cluster.network(victim));
        let told = round.taken_over(parted).await;
        // With short leases it is hardly noticed at the victim before others have closed its runs: once it is, so that its readers come back, too.
        if number + 1 == rounds {
            round.one_cut().await;
        }
        cluster.network(victim).heal();
        cluster.recovered(victim).await;
        round.end(&cluster, told).await.iter().for_each(|seen| tally.add_as_struck(seen));
    }
    tally.print(&format!("{rounds} cuts"));
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
