//! P7: an instance is killed while it executes runs.

use super::instances::{Cluster, INSTANCES, Lease};
use super::round::{Round, Struck, Tally};
use super::rounds;
use threadline_testkit::random::Random;
use tokio::time::Instant;

async fn kill(lease: Lease, rounds: u32) {
    let mut cluster = Cluster::start(lease).await;
    let (mut random, mut tally) = (Random::new(7), Tally::default());
    for number in 0..rounds {
        let victim = number as usize % INSTANCES;
        let mut round = Round::begin(&cluster, number, Struck::One(victim), &mut random).await;
        let killed = Instant::now();
        cluster.kill(victim);
        let told = round.taken_over(killed).await;
        cluster.start_again(victim);
        round.end(&cluster, told).await.iter().for_each(|seen| tally.add_as_struck(seen));
    }
    tally.print(&format!("{rounds} kills"));
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
