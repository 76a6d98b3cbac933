//! P7: an instance sleeps for longer than its leases last, and wakes up.

use super::instances::{Cluster, INSTANCES, Lease};
use super::round::{Round, Struck, Tally};
use super::rounds;
use super::watching::records;
use std::collections::BTreeSet;
use threadline_testkit::random::Random;
use tokio::time::Instant;

async fn sleep_through(lease: Lease, rounds: u32) {
    let cluster = Cluster::start(lease).await;
    let (mut random, mut tally) = (Random::new(11), Tally::default());
    for number in 0..rounds {
        let victim = number as usize % INSTANCES;
        let mut round = Round::begin(&cluster, number, Struck::One(victim), &mut random).await;
        let fell_asleep = Instant::now();
        cluster.process(victim).freeze();
        let told = round.taken_over(fell_asleep).await;
        // When it wakes up, the threads have gone on: whatever it still wanted to write must not be behind this, or before.
        let threads: BTreeSet<String> = told.iter().map(|seen| seen.run.thread.clone()).collect();
        let mut before = Vec::new();
        for thread in &threads {
            let run = format!("meanwhile-{number}");
            cluster.client(victim + 1).run("brief", thread, &run).await.all().await;
            before.push(records(cluster.client(victim + 2), thread).await);
        }
        cluster.process(victim).thaw();
        // It has noticed when it has told its own readers.
        let told = round.all_told(told).await;
        for (thread, before) in threads.iter().zip(before) {
            assert_eq!(records(cluster.client(victim), thread).await, before, "{thread}");
        }
        round.end(&cluster, told).await.iter().for_each(|seen| tally.add_as_struck(seen));
    }
    tally.print(&format!("{rounds} sleeps"));
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_an_instance_that_was_asleep_finds_itself_fenced() {
    sleep_through(Lease::Short, rounds()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_an_instance_that_was_asleep_finds_itself_fenced_with_leases_as_they_come() {
    sleep_through(Lease::Default, 1).await;
}
