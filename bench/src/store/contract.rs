//! What every store that is read from must do, or its figures mean nothing.

use super::broadcast::Broadcast;
use super::committer::Grouped;
use super::fjall::Fjall;
use super::indexed::Indexed;
use super::instances::Instances;
use super::load::{BATCH_EVENTS_MAX, append_run};
use super::ours::Ours;
use super::sqlite::Sqlite;
use super::subject::{Durability, Follower, Live, Reads, Tally};
use crate::corpus::Deltas;
use crate::disk::Folder;
use tokio::runtime::Runtime;

async fn check_part<S: Reads>(subject: &S, thread: u32, events: &[String], start: usize, count: usize) {
    let mut tally = Tally::default();
    subject.read(thread, u64::try_from(start).unwrap(), count, &mut tally).await.unwrap();
    assert_eq!(tally, Tally::of(&events[start..start + count]), "thread={thread}, start={start}");
}

fn reads_back<S: Reads>(name: &str) {
    let folder = Folder::new(&std::env::temp_dir(), name).unwrap();
    Runtime::new().unwrap().block_on(async {
        let mut threads: Vec<Vec<String>> = vec![Vec::new(); 3];
        for times in 0..3 {
            let subject = S::open(folder.path(), Durability::Durable).await.unwrap();
            for (thread, events) in (0..).zip(&mut threads) {
                let run = Deltas::continued(thread, times).run(100);
                append_run(&subject, thread, &run, BATCH_EVENTS_MAX).await.unwrap();
                events.extend(run);
            }
            if times == 1 {
                subject.settle().await.unwrap();
            }
            for (thread, events) in (0..).zip(&threads) {
                for start in 0..events.len() {
                    check_part(&subject, thread, events, start, (events.len() - start).min(20)).await;
                }
                check_part(&subject, thread, events, 0, events.len()).await;
            }
            subject.close().await.unwrap();
        }
    });
}

#[test]
fn ours_gives_back_what_it_was_given() {
    reads_back::<Ours>("ours");
}

#[test]
fn ours_in_postgresql_gives_back_what_it_was_given() {
    reads_back::<Instances<2>>("instances");
}

#[test]
fn the_floor_gives_back_what_it_was_given() {
    reads_back::<Grouped<Indexed>>("floor");
}

#[test]
fn fjall_gives_back_what_it_was_given() {
    reads_back::<Grouped<Fjall>>("fjall");
}

#[test]
fn sqlite_gives_back_what_it_was_given() {
    reads_back::<Grouped<Sqlite>>("sqlite");
}

fn follows<S: Live>(name: &str) {
    let folder = Folder::new(&std::env::temp_dir(), name).unwrap();
    Runtime::new().unwrap().block_on(async {
        let subject = S::open(folder.path(), Durability::Durable).await.unwrap();
        let mut deltas = Deltas::of_thread(0);
        append_run(&subject, 0, &deltas.run(20), BATCH_EVENTS_MAX).await.unwrap();
        let mut follower = subject.follow(0).await.unwrap();
        let run = deltas.run(20);
        append_run(&subject, 0, &run, BATCH_EVENTS_MAX).await.unwrap();
        let mut tally = Tally::default();
        while tally.events < run.len() {
            follower.next(&mut tally).await.unwrap();
        }
        assert_eq!(tally, Tally::of(&run));
        assert_eq!(subject.messages(0).await.unwrap(), 2);
        subject.close().await.unwrap();
    });
}

#[test]
fn a_follower_is_given_what_comes_and_messages_are_counted() {
    follows::<Ours>("live-ours");
    follows::<Broadcast>("live-floor");
    follows::<Instances<2>>("live-instances");
}
