//! Followers that come and go, while everything else goes on.

use super::stage::{Stage, end_of, finished, request, thread};
use crate::random::Random;
use crate::store::Ending;
use std::collections::BTreeMap;
use std::time::Duration;
use threadline_log::{Batch, Engine, Follower, Incarnation, NewRecord, Record, RunWriter, ThreadKey};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How many threads are written and followed.
const THREADS: usize = 3;

/// How often everybody begins anew; the store may be opened anew in between.
const ROUNDS: usize = 8;

/// How many follow at most.
const READERS_MAX: usize = 9;

/// Nothing that is waited for takes this long.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whoever follows from anywhere, is cut off, comes back with the last offset, waits or lags behind, while several write, runs
/// begin and end, and the store tidies up and is opened anew: it has seen the log from where it began, each record once
/// and in order. A seed repeats who does what; which of two comes first is for the machine to say.
pub async fn followers_see_the_log_however_they_come_and_go(mut stage: Stage) {
    for seed in 0..stage.cases() {
        let mut random = Random::new(seed);
        let mut written: Vec<Written> =
            (0..THREADS).map(|number| Written::new(thread(&format!("t{seed}-{number}")))).collect();
        let mut readers: Vec<Reader> = Vec::new();
        for _ in 0..ROUNDS {
            for one in &mut written {
                one.open_runs(&stage, &mut random).await;
            }
            while readers.len() < READERS_MAX && random.chance(60) {
                readers.push(Reader::new(random.pick(&written), &mut random, seed));
            }
            let ending = if random.chance(50) { Ending::Crash } else { Ending::Clean };
            let ending = Some(ending).filter(|_| stage.lasts() && random.chance(25));
            // Nobody else may have the store when it is lost, not even a read that was given up.
            let is_cut_off = ending != Some(Ending::Crash);
            readers = round(&stage, &mut written, readers, is_cut_off, &mut random).await;
            if let Some(ending) = ending {
                readers.iter_mut().for_each(|reader| reader.follower = None);
                stage = stage.reopen(ending).await;
            }
        }
        for one in &written {
            let log = one.log(&stage, seed).await;
            for reader in readers.iter_mut().filter(|reader| reader.thread == one.thread) {
                reader.read_to(&stage.engine, log.len()).await;
                assert_eq!(reader.seen, log[reader.start..], "seed {seed}, from {}", reader.start);
            }
        }
    }
}

/// Everybody at once: those who follow, those who write, and now and then who tidies up. In the end those who follow are cut off in
/// the middle of whatever they do, or leave when they have what there is.
async fn round(
    stage: &Stage,
    written: &mut [Written],
    readers: Vec<Reader>,
    is_cut_off: bool,
    random: &mut Random,
) -> Vec<Reader> {
    let (over, is_over) = watch::channel(false);
    let reading: Vec<_> = readers
        .into_iter()
        .map(|reader| tokio::spawn(reader.read(stage.engine.clone(), is_over.clone(), is_cut_off)))
        .collect();
    let mut writing = JoinSet::new();
    for (number, one) in written.iter_mut().enumerate() {
        for writer in std::mem::take(&mut one.open) {
            let random = Random::new(random.bits());
            let write = write(stage.engine.clone(), writer, random);
            writing.spawn(async move { (number, write.await) });
        }
    }
    if random.chance(30) {
        let tidied = stage.store.tidy().await;
        tidied.expect("it tidies up while others write");
    }
    for (number, wrote) in writing.join_all().await {
        written[number].take(wrote);
    }
    over.send_replace(true);
    let mut back = Vec::new();
    for reader in reading {
        back.push(reader.await.expect("it follows"));
    }
    back
}

/// A thread, and what those who wrote it were told.
struct Written {
    thread: ThreadKey,
    /// Tells the thread from others of this name, as a cursor does. None before it is there.
    incarnation: Option<Incarnation>,
    open: Vec<RunWriter>,
    runs: usize,
    /// The last run that has ended.
    ended: Option<usize>,
    acknowledged: BTreeMap<u64, String>,
}

/// What came of a writer's work in a round.
struct Wrote {
    writer: RunWriter,
    has_ended: bool,
    acknowledged: Vec<(u64, String)>,
}

impl Written {
    fn new(thread: ThreadKey) -> Self {
        let acknowledged = BTreeMap::new();
        Self { thread, incarnation: None, open: Vec::new(), runs: 0, ended: None, acknowledged }
    }

    /// At most two runs at once, on branches of their own, so that their records lie between each other's.
    async fn open_runs(&mut self, stage: &Stage, random: &mut Random) {
        while self.runs == 0 || self.open.len() < 2 && self.ended.is_some() && random.chance(70) {
            let mut request = request(&self.thread, &self.runs.to_string(), &[&format!("u{}", self.runs)]);
            if let Some(parent) = self.ended {
                request["parentRunId"] = parent.to_string().into();
            }
            let writer = stage.start(&self.thread, &request).await;
            self.incarnation = Some(writer.incarnation);
            self.open.push(writer);
            self.runs += 1;
        }
    }

    fn take(&mut self, wrote: Wrote) {
        for (offset, event) in wrote.acknowledged {
            assert_eq!(self.acknowledged.insert(offset, event), None, "offset {offset} is given twice");
        }
        match wrote.has_ended {
            true => self.ended = Some(wrote.writer.run.index()),
            false => self.open.push(wrote.writer),
        }
    }

    /// Where one may begin to follow: the tail is one past the last record.
    fn tail(&self) -> usize {
        self.runs + self.acknowledged.len()
    }

    /// All records: those that were acknowledged, where the writers were told that they are, and the starts of runs.
    async fn log(&self, stage: &Stage, seed: u64) -> Vec<Record> {
        let page = stage.engine.read(&self.thread, 0..u64::MAX, None, usize::MAX).await.expect("records");
        assert_eq!(page.records.len(), self.tail(), "seed {seed}");
        for (record, offset) in page.records.iter().zip(0..) {
            assert_eq!(record.offset, offset, "seed {seed}");
            match self.acknowledged.get(&offset) {
                Some(event) => assert_eq!(record.bytes, event.as_bytes(), "seed {seed}, offset {offset}"),
                None => {
                    assert!(record.bytes.windows(13).any(|part| part == b"\"RUN_STARTED\""), "seed {seed}")
                }
            }
        }
        page.records
    }
}

/// Appends some batches, and may end the run with the last.
async fn write(engine: Engine, writer: RunWriter, mut random: Random) -> Wrote {
    let mut wrote = Wrote { writer, has_ended: random.chance(40), acknowledged: Vec::new() };
    let batches = random.below(5) + usize::from(wrote.has_ended);
    for batch in 0..batches {
        let mut events: Vec<String> = (0..1 + random.below(8)).map(|_| event(&mut random)).collect();
        let mut end = None;
        if wrote.has_ended && batch + 1 == batches {
            let last = finished(&wrote.writer.thread, "whatever").to_string();
            end = end_of(&last);
            events.push(last);
        }
        let records = events.iter().map(|event| NewRecord::event(event.clone())).collect();
        let batch = Batch { records, end, ..Batch::default() };
        let ack = engine.append(&wrote.writer, batch).await.expect("events are appended");
        assert_eq!((ack.count, ack.repeated), (events.len() as u64, false));
        wrote.acknowledged.extend((ack.first..).zip(events));
        for _ in 0..random.below(10) {
            tokio::task::yield_now().await;
        }
    }
    wrote
}

/// Some are so large that what is kept in memory of a thread is soon gone, and that whoever lags gets them in several pages.
fn event(random: &mut Random) -> String {
    let length = if random.chance(4) { 20_000 + random.below(40_000) } else { random.below(100) };
    let mark = random.bits();
    format!(r#"{{"type":"RAW","event":"{mark} {}"}}"#, "x".repeat(length))
}

/// Somebody who follows a thread, with whatever was seen so far.
struct Reader {
    thread: ThreadKey,
    incarnation: Option<Incarnation>,
    start: usize,
    seen: Vec<Record>,
    /// None while it is away.
    follower: Option<Follower>,
    random: Random,
    seed: u64,
}

impl Reader {
    fn new(written: &Written, random: &mut Random, seed: u64) -> Self {
        Self {
            thread: written.thread.clone(),
            incarnation: written.incarnation,
            start: random.below(written.tail() + 1),
            seen: Vec::new(),
            follower: None,
            random: Random::new(random.bits()),
            seed,
        }
    }

    fn next(&self) -> u64 {
        (self.start + self.seen.len()) as u64
    }

    /// Follows until the round is over, or not at all.
    async fn read(mut self, engine: Engine, mut is_over: watch::Receiver<bool>, is_cut_off: bool) -> Self {
        match self.random.below(8) {
            // It is away for the whole round.
            0 => self.follower = None,
            // It is there, and takes nothing.
            1 => {}
            _ if is_cut_off => loop {
                tokio::select! {
                    () = self.take_next(&engine) => {}
                    _ = is_over.wait_for(|is_over| *is_over) => break,
                }
                self.be_slow().await;
            },
            _ => {
                while !*is_over.borrow() {
                    if self.come_back(&engine).await.is_behind() {
                        self.take_next(&engine).await;
                    }
                    self.be_slow().await;
                }
            }
        }
        self
    }

    async fn be_slow(&mut self) {
        for _ in 0..=self.random.below(12) {
            tokio::task::yield_now().await;
        }
    }

    /// Its follower, which is a new one after it was away.
    async fn come_back(&mut self, engine: &Engine) -> &mut Follower {
        let from = self.next();
        match &mut self.follower {
            Some(follower) => follower,
            away => {
                let follower = engine.follow(&self.thread, self.incarnation, from).await;
                away.insert(follower.expect("the cursor is good"))
            }
        }
    }

    /// The next records, by a new follower now and then.
    async fn take_next(&mut self, engine: &Engine) {
        if self.random.chance(20) {
            self.follower = None;
        }
        let records = self.come_back(engine).await.next().await.expect("records come");
        assert!(!records.is_empty(), "seed {}", self.seed);
        for record in &*records {
            assert_eq!(record.offset, self.next(), "seed {}", self.seed);
            self.seen.push(record.clone());
        }
    }

    /// Follows until it has seen as many records as there are.
    async fn read_to(&mut self, engine: &Engine, tail: usize) {
        while self.start + self.seen.len() < tail {
            let came = timeout(PATIENCE, self.take_next(engine)).await;
            assert!(came.is_ok(), "seed {}: no record comes. next={}, tail={tail}", self.seed, self.next());
        }
    }
}
