//! Random operations on a store and on the model, which must agree after each of them.

use super::copying::copies_are_the_same;
use super::model::{Model, plain};
use super::operations::{Choice, Description, Operation, Piece, Query, Step, THREADS, steps};
use super::scene::{self, Scene};
use super::view::View;
use super::{Ending, Harness};
use bytes::Bytes;
use proptest::test_runner::{Config, TestCaseError, TestCaseResult, TestRunner};
use proptest::{prop_assert, prop_assert_eq};
use std::ops::Range;
use threadline_log::run::{BaseState, RunEnd, RunLineage, RunStatus};
use threadline_log::store::{Append, Claim, OpenRun};
use threadline_log::thread::{MetadataChange, ThreadCursor, ThreadOrder, ThreadQuery};
use threadline_log::{
    AppendKey, Checkpoint, Epoch, Error, Incarnation, Kind, NewRecord, Record, RunId, RunNo, Store,
    ThreadKey, Timestamp,
};

/// Compares a store with the model over random operations, in as many cases as its harness says or `THREADLINE_STORE_CASES`.
///
/// # Panics
/// If they differ. The operations are then as few as could be found, and their seed is kept beside `source`.
pub fn matches_the_model<H: Harness + 'static>(harness: impl Fn() -> H, source: &'static str) {
    let cases = std::env::var("THREADLINE_STORE_CASES").ok();
    let cases = cases.map(|cases| cases.parse().expect("THREADLINE_STORE_CASES is a number"));
    let cases = cases.unwrap_or_else(|| harness().model_cases());
    let mut runner = TestRunner::new(Config { cases, source_file: Some(source), ..Config::default() });
    let runtime = super::runtime();
    let result = runner.run(&steps(), |steps| {
        runtime.block_on(async {
            let mut comparison = Comparison::new(Scene::new(Box::new(harness())).await);
            for (number, step) in steps.iter().enumerate() {
                comparison = comparison.step(number, step).await?;
            }
            copies_are_the_same(&comparison.scene, &comparison.threads, comparison.now).await
        })
    });
    if let Err(error) = result {
        panic!("{error}\n{runner}");
    }
}

struct Comparison {
    scene: Scene,
    model: Model,
    threads: Vec<ThreadKey>,
    now: Timestamp,
    made: u64,
    cursor: Option<ThreadCursor>,
}

fn refused<T>(result: Result<T, Error>) -> Result<T, Error> {
    result.map_err(plain)
}

impl Comparison {
    fn new(scene: Scene) -> Self {
        let key = |number: usize| {
            let user = if number < THREADS / 2 { "one" } else { "two" };
            ThreadKey::new(scene::scope("app", user), scene::thread_id(&(number % 3).to_string()))
        };
        let threads = (0..THREADS).map(key).collect();
        Self { scene, model: Model::default(), threads, now: Timestamp(1_000), made: 0, cursor: None }
    }

    async fn step(mut self, number: usize, step: &Step) -> Result<Self, TestCaseError> {
        self.now.0 += step.clock;
        let thread = self.thread(step);
        let what = format!("step {number} at {}: {:?}", self.now.0, step.operation);
        match &step.operation {
            Operation::Open { .. } | Operation::Append { .. } => {
                self.write_records(&thread, &step.operation, &what).await?;
            }
            Operation::Read { offsets, run, bytes_max } => {
                self.read(&thread, offsets, *run, *bytes_max, &what).await?;
            }
            Operation::List(query) => self.list(query, &what).await?,
            Operation::Tidy => self.scene.store.tidy().await.expect(&what),
            Operation::Reopen { crash } => {
                let ending = if *crash { Ending::Crash } else { Ending::Clean };
                self.scene = self.scene.reopen(ending).await;
            }
            operation => self.change(&thread, operation, &what).await?,
        }
        self.scene.settle().await;
        let view = View::of(&*self.scene.store, &self.threads, self.now).await.expect(&what);
        agree(&view, &self.model.view(&self.threads, self.now), &what)?;
        Ok(self)
    }

    async fn write_records(
        &mut self,
        thread: &ThreadKey,
        operation: &Operation,
        what: &str,
    ) -> TestCaseResult {
        match operation {
            Operation::Open { id, parent, stale, pieces, lease, description } => {
                self.made += 1;
                let mut seen = self.model.seen(thread);
                seen.ended += u32::from(*stale);
                let open = OpenRun {
                    thread: thread.clone(),
                    incarnation: Incarnation(self.made),
                    metadata: change(description),
                    seen,
                    id: RunId::new(id.to_string()).expect("short"),
                    parent: parent.and_then(|parent| self.parent(thread, parent)),
                    spawned_by: (id % 3 == 0).then(|| format!("{id}")),
                    base_state: if id % 2 == 0 { BaseState::Branch } else { BaseState::Input },
                    request: Bytes::from(vec![*id; usize::from(*id)]),
                    request_digest: format!("{id:064x}"),
                    records: records(pieces),
                    key: (id % 4 == 1).then(|| AppendKey::new("0").expect("short")),
                    expected_tail: (id % 5 < 2).then(|| self.model.tail(thread) + u64::from(id % 5)),
                    end: (id % 3 == 1).then(|| run_end(*id % 5)),
                    lease_until: Timestamp(self.now.0 + lease),
                    time: self.now,
                };
                let answer = refused(self.scene.store.open_run(open.clone()).await);
                prop_assert_eq!(answer, self.model.open_run(open), "{}", what);
            }
            Operation::Append { run, epoch, pieces, key, expected, end } => {
                let run = self.run(thread, *run);
                let key = key.map(|key| AppendKey::new(key.to_string()).expect("short"));
                let tail = self.model.tail(thread);
                let append = Append {
                    thread: thread.clone(),
                    incarnation: None,
                    run,
                    epoch: self.epoch(thread, run, *epoch),
                    records: records(pieces),
                    key,
                    expected_tail: expected.map(|by| tail.saturating_add_signed(by)),
                    end: end.map(run_end).map(Box::new),
                    time: self.now,
                };
                let answer = refused(self.scene.store.append(append.clone()).await);
                prop_assert_eq!(answer, self.model.append(append), "{}", what);
            }
            _ => {}
        }
        Ok(())
    }

    async fn change(&mut self, thread: &ThreadKey, operation: &Operation, what: &str) -> TestCaseResult {
        let (store, now) = (self.scene.store.clone(), self.now);
        let (answer, expected) = match operation {
            Operation::Claim { run, epoch, claim } => {
                let run = self.run(thread, *run);
                let epoch = self.epoch(thread, run, *epoch);
                let later = |lease: Timestamp| Timestamp(now.0 + lease.0);
                let claim = match *claim {
                    Claim::Renew(lease) => Claim::Renew(later(lease)),
                    Claim::TakeOver(lease) => Claim::TakeOver(later(lease)),
                    Claim::Seize(lease) => Claim::Seize(later(lease)),
                };
                let answer = refused(store.claim(thread, run, epoch, claim, now).await);
                let expected = refused(self.model.claim(thread, run, epoch, claim, now));
                prop_assert_eq!(&answer, &expected, "{}", what);
                (answer.map(|_| ()), expected.map(|_| ()))
            }
            Operation::Describe(description) => {
                let change = change(description);
                let answer = store.describe(thread, change.clone(), now).await;
                (answer, self.model.describe(thread, &change, now))
            }
            Operation::Checkpoint { run, version, said, full } => {
                let said = text(said);
                let checkpoint = Checkpoint {
                    stands_alone: version % 2 == 1,
                    run: self.run(thread, *run),
                    version: *version,
                    delta: scene::said(&said).into(),
                    full: full.clone().map(Bytes::from),
                    lineage: RunLineage { said: 1, hash: u64::from(*version), ids: vec![said.len() as u64] },
                    chained: None,
                };
                let answer = store.put_checkpoint(thread, None, checkpoint.clone(), now).await;
                (answer, self.model.put_checkpoint(thread, checkpoint, &said))
            }
            Operation::Trim(eighths) => {
                let first = self.offset(thread, *eighths);
                (store.trim(thread, first, now).await, self.model.trim(thread, first))
            }
            Operation::Compact(run) => {
                let run = self.run(thread, *run);
                (store.compact_run(thread, run, now).await, self.model.compact_run(thread, run))
            }
            _ => {
                let seen = self.model.thread_seen(thread);
                (store.delete(thread, seen, now).await, self.model.delete(thread))
            }
        };
        prop_assert_eq!(refused(answer), expected, "{}", what);
        Ok(())
    }

    async fn read(
        &mut self,
        thread: &ThreadKey,
        eighths: &Range<u64>,
        run: Option<Choice>,
        bytes_max: usize,
        what: &str,
    ) -> TestCaseResult {
        let offsets = self.offset(thread, eighths.start)..self.offset(thread, eighths.end);
        let run = run.map(|run| self.run(thread, run));
        let read = pages(&*self.scene.store, thread, &offsets, run, bytes_max, what).await?;
        prop_assert_eq!(refused(read), self.model.read(thread, &offsets, run), "{}", what);
        Ok(())
    }

    async fn list(&mut self, query: &Query, what: &str) -> TestCaseResult {
        let query = ThreadQuery {
            order: if query.by_name { ThreadOrder::Name } else { ThreadOrder::Updated },
            scope: query.of_one_user.then(|| self.threads[0].scope.clone()),
            archived: query.archived,
            agent: query.agent.map(|agent| agent.to_string()),
            labels: query.label.iter().map(|(label, value)| (label.to_string(), value.to_string())).collect(),
            words: query.words.as_deref().map(text),
            after: self.cursor.take().filter(|_| query.goes_on),
            limit: query.limit,
        };
        self.scene.settle().await;
        let listed = self.scene.store.threads(&query).await.expect(what);
        prop_assert_eq!(&listed, &self.model.threads(&query), "{}", what);
        self.cursor = listed.last().map(ThreadCursor::of);
        Ok(())
    }

    /// Any thread for a run to be opened, mostly one that is there for all else.
    fn thread(&self, step: &Step) -> ThreadKey {
        let is_there = |thread: &&ThreadKey| self.model.seen(thread).opened > 0;
        let there: Vec<&ThreadKey> = self.threads.iter().filter(is_there).collect();
        match step.thread {
            Choice::Known(number)
                if !matches!(step.operation, Operation::Open { .. }) && !there.is_empty() =>
            {
                there[number % there.len()].clone()
            }
            Choice::Known(number) => self.threads[number % THREADS].clone(),
            Choice::Unknown => self.threads[THREADS - 1].clone(),
        }
    }

    /// A run to continue; none if there is none yet.
    fn parent(&self, thread: &ThreadKey, choice: Choice) -> Option<RunNo> {
        let is_first = self.model.seen(thread).opened == 0;
        (!is_first || matches!(choice, Choice::Unknown)).then(|| self.run(thread, choice))
    }

    /// One of the runs that are there, or the next.
    fn run(&self, thread: &ThreadKey, choice: Choice) -> RunNo {
        let runs = self.model.seen(thread).opened;
        match choice {
            Choice::Known(number) if runs > 0 => RunNo(u32::try_from(number).expect("small") % runs),
            _ => RunNo(runs),
        }
    }

    fn epoch(&self, thread: &ThreadKey, run: RunNo, by: i64) -> Epoch {
        let epoch = i64::from(self.model.epoch(thread, run).0) + by;
        Epoch(u32::try_from(epoch.max(0)).expect("small"))
    }

    fn offset(&self, thread: &ThreadKey, eighths: u64) -> u64 {
        let tail = self.model.tail(thread);
        if eighths > 8 { tail + 1 } else { tail * eighths / 8 }
    }
}

/// Part by part, so that what differs is not one of a thousand things.
fn agree(view: &View, expected: &View, what: &str) -> TestCaseResult {
    prop_assert_eq!(&view.expired, &expected.expired, "{}", what);
    for (thread, expected) in view.threads.iter().zip(&expected.threads) {
        let (Some(thread), Some(expected)) = (thread, expected) else {
            prop_assert_eq!(thread, expected, "{}", what);
            continue;
        };
        prop_assert_eq!(&thread.info, &expected.info, "{}", what);
        prop_assert_eq!(&thread.records, &expected.records, "{}", what);
        prop_assert_eq!(thread.runs.len(), expected.runs.len(), "{}", what);
        for (run, expected) in thread.runs.iter().zip(&expected.runs) {
            prop_assert_eq!(run, expected, "{}", what);
        }
    }
    prop_assert_eq!(&view.listed, &expected.listed, "{}", what);
    Ok(())
}

/// Reads page by page until there is no more.
async fn pages(
    store: &dyn Store,
    thread: &ThreadKey,
    offsets: &Range<u64>,
    run: Option<RunNo>,
    bytes_max: usize,
    what: &str,
) -> Result<Result<Vec<Record>, Error>, TestCaseError> {
    let mut records = Vec::new();
    let mut next = offsets.start;
    loop {
        let page = match store.read(thread, next..offsets.end, run, bytes_max).await {
            Ok(page) => page,
            Err(error) => return Ok(Err(error)),
        };
        let is_end = page.next == offsets.end;
        prop_assert!(is_end || !page.records.is_empty(), "{what}: an empty page before the end");
        prop_assert!(is_end || page.next > next, "{what}: a page that does not go on");
        records.extend(page.records);
        next = page.next;
        if is_end {
            return Ok(Ok(records));
        }
    }
}

fn records(pieces: &[Piece]) -> Vec<NewRecord> {
    let kind = |code: u8| Kind::from_code(code).expect("a kind's number");
    pieces.iter().map(|(code, bytes)| NewRecord { kind: kind(*code), bytes: bytes.clone().into() }).collect()
}

fn run_end(number: u8) -> RunEnd {
    let statuses = [
        RunStatus::Finished,
        RunStatus::Interrupted,
        RunStatus::Cancelled,
        RunStatus::Failed,
        RunStatus::Abandoned,
    ];
    RunEnd {
        outcome: (number % 2 == 1).then(|| serde_json::json!({ "type": number })),
        interrupts: (0..number).map(|interrupt| interrupt.to_string()).collect(),
        ..scene::ended(statuses[usize::from(number)])
    }
}

fn change(description: &Description) -> MetadataChange {
    let labels = description.labels.iter();
    MetadataChange {
        name: description.name.as_deref().map(text),
        archived: description.archived,
        agent: description.agent.map(|agent| agent.to_string()),
        labels: labels
            .map(|(label, value)| (label.to_string(), value.map(|value| value.to_string())))
            .collect(),
    }
}

/// Some words, of which no two are alike and some begin alike, in different cases and with different things between.
fn text(words: &[u8]) -> String {
    const WORDS: [&str; 6] = ["cat", "Cat", "cats", "DOG", "x2", "dog-cat!"];
    words.iter().map(|word| WORDS[usize::from(*word)]).collect::<Vec<_>>().join(", ")
}
