//! Runs on all instances, each with readers on all of them.

use super::instances::{Cluster, INSTANCES};
use super::watching::{Run, Seen, Tick, check, check_records, watch};
use crate::serving::client::Frame;
use hyper::StatusCode;
use std::time::Duration;
use threadline_testkit::random::Random;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// How many runs go on at once.
const RUNS: usize = 6;
/// For so many rounds the same threads are used.
const ROUNDS_OF_THREADS: u32 = 4;
/// The most frames that all readers together see before something goes wrong: fewer than those runs have that end.
const FRAMES_MAX: usize = 1_500;
/// How long after the death of its instance a run is closed, at most.
pub(super) const TAKEOVER_MAX: Duration = Duration::from_secs(10);

/// To whom it happens. Their runs do not end by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Struck {
    Nobody,
    One(usize),
    All,
}

/// One round of a test.
#[derive(Debug)]
pub(super) struct Round {
    number: u32,
    /// Those who read the runs of the one who is struck, elsewhere.
    elsewhere: JoinSet<Seen>,
    /// All others.
    others: JoinSet<Seen>,
    ticks: UnboundedReceiver<Tick>,
}

impl Round {
    /// Starts the runs, and returns when all of them are read everywhere, and a while later.
    pub(super) async fn begin(cluster: &Cluster, number: u32, struck: Struck, random: &mut Random) -> Self {
        let (sender, ticks) = unbounded_channel();
        let mut round = Self { number, elsewhere: JoinSet::new(), others: JoinSet::new(), ticks };
        for slot in 0..RUNS {
            let executing = slot % INSTANCES;
            let is_struck = |instance| struck == Struck::All || struck == Struck::One(instance);
            let agent = if is_struck(executing) { "endless" } else { "steady" };
            let run = Run { agent, thread: thread(number, slot), id: format!("run-{number}") };
            let first = cluster.client(executing).run(agent, &run.thread, &run.id).await;
            assert_eq!(first.status, StatusCode::OK, "{run:?}");
            let watched = |answer| watch(run.clone(), answer, cluster.anyone(), sender.clone());
            for reader in 0..INSTANCES {
                let answer = cluster.client(reader).connect(agent, &run.thread, None).await;
                let is_elsewhere = is_struck(executing) && !is_struck(reader);
                let readers = if is_elsewhere { &mut round.elsewhere } else { &mut round.others };
                readers.spawn(watched(answer));
            }
            round.others.spawn(watched(first));
        }
        for _ in 0..random.below(FRAMES_MAX) {
            round.ticks.recv().await.expect("somebody who reads");
        }
        round
    }

    /// Waits until every reader was cut off, wherever it reads.
    pub(super) async fn all_cut(&mut self) {
        let mut left = RUNS * (INSTANCES + 1);
        while left > 0 {
            let tick = self.ticks.recv().await.expect("somebody who reads");
            left -= usize::from(tick == Tick::Cut);
        }
    }

    /// Waits until a reader was cut off in this round.
    pub(super) async fn one_cut(&mut self) {
        while self.ticks.recv().await.expect("somebody who reads") != Tick::Cut {}
    }

    /// Waits until those who read the runs of the one who is struck elsewhere are told that they were abandoned, in time.
    pub(super) async fn taken_over(&mut self, since: Instant) -> Vec<Seen> {
        let told: Vec<Seen> = std::mem::take(&mut self.elsewhere).join_all().await;
        for seen in &told {
            assert_eq!(seen.end(), "RUN_ERROR:abandoned", "{:?}", seen.run);
            let took = seen.ended.duration_since(since);
            assert!(took <= TAKEOVER_MAX, "{:?}: {took:?}", seen.run);
        }
        told
    }

    /// Waits until everybody else is told of an end, too.
    pub(super) async fn all_told(&mut self, mut told: Vec<Seen>) -> Vec<Seen> {
        for readers in [&mut self.elsewhere, &mut self.others] {
            told.extend(std::mem::take(readers).join_all().await);
        }
        told
    }

    /// Waits for everybody, and looks at what they have seen.
    pub(super) async fn end(mut self, cluster: &Cluster, told: Vec<Seen>) -> Vec<Seen> {
        let told = self.all_told(told).await;
        let number = self.number;
        for seen in &told {
            check(cluster, seen).await;
        }
        for slot in 0..RUNS {
            let thread = thread(number, slot);
            go_on(cluster, &thread, number, slot).await;
            for instance in 0..INSTANCES {
                check_records(cluster.client(instance), &thread).await;
            }
        }
        told
    }
}

/// What a test has seen in all of its rounds.
#[derive(Debug, Default)]
pub(super) struct Tally {
    frames: usize,
    cuts: usize,
    finished: usize,
    abandoned: usize,
}

impl Tally {
    /// Adds what a reader has seen. Runs end well, or are closed.
    pub(super) fn add(&mut self, seen: &Seen) {
        self.frames += seen.frames.len();
        self.cuts += seen.cuts;
        match seen.end().as_str() {
            "RUN_FINISHED" => self.finished += 1,
            "RUN_ERROR:abandoned" => self.abandoned += 1,
            end => panic!("{:?}: {end}", seen.run),
        }
    }

    /// Says what there was.
    #[expect(clippy::print_stdout, reason = "for who reads the output of tests")]
    pub(super) fn print(&self, what: &str) {
        println!("{what}: {self:?}");
    }

    /// The same, where runs end well that are not executed by the one who is struck.
    pub(super) fn add_as_struck(&mut self, seen: &Seen) {
        let end = if seen.run.agent == "endless" { "RUN_ERROR:abandoned" } else { "RUN_FINISHED" };
        assert_eq!(seen.end(), end, "{:?}", seen.run);
        self.add(seen);
    }
}

/// The names of threads.
fn thread(round: u32, slot: usize) -> String {
    format!("thread-{}-{slot}", round / ROUNDS_OF_THREADS)
}

/// Whether a thread is as good as new, on any instance.
async fn go_on(cluster: &Cluster, thread: &str, round: u32, instance: usize) {
    let client = cluster.client(instance + 1);
    let answer = client.run("brief", thread, &format!("next-{round}")).await;
    let kinds: Vec<String> = answer.all().await.iter().map(Frame::kind).collect();
    assert_eq!(kinds, ["RUN_STARTED", "TEXT_MESSAGE_CHUNK", "RUN_FINISHED"], "{thread}");
    let runs = cluster.client(instance + 2).runs(thread).await;
    assert_eq!(runs.last(), Some(&(format!("next-{round}"), "finished".to_owned())), "{thread}");
    assert!(runs.iter().all(|(_, status)| status != "running"), "{thread}: {runs:?}");
}
