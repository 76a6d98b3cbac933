//! A small history with everything in it.

use crate::fs::sim::Random;
use std::sync::LazyLock;
use threadline_log::names::Owner;
use threadline_log::run::{BaseState, RunEnd, RunLineage, RunStatus};
use threadline_log::store::{Append, Claim, OpenRun, RunsSeen};
use threadline_log::thread::MetadataChange;
use threadline_log::{
    AppendKey, Checkpoint, Epoch, Error, Incarnation, NewRecord, RunId, RunNo, Scope, Store, ThreadId,
    ThreadKey, Timestamp,
};
use threadline_testkit::store::view::View;

/// Something that is done to a store.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Open(&'static str, &'static str),
    Append(&'static str, u32, usize),
    /// One record of so many bytes, which cannot be packed into much less.
    Long(&'static str, u32, usize),
    Keyed(&'static str, u32, &'static str),
    End(&'static str, u32),
    /// Somebody else writes it from now on.
    TakeOver(&'static str, u32),
    Checkpoint(&'static str, u32),
    Compact(&'static str, u32),
    Trim(&'static str, u64),
    Name(&'static str, &'static str),
    Delete(&'static str),
    Tidy,
}

/// What the crash tests do, in order.
pub(super) const STEPS: &[Step] = &[
    Step::Open("a", "a0"),
    Step::Append("a", 0, 3),
    Step::Open("b", "b0"),
    Step::Keyed("b", 0, "k"),
    Step::Tidy,
    Step::End("a", 0),
    Step::Checkpoint("a", 0),
    Step::Name("a", "the name of a"),
    Step::Open("c", "c0"),
    Step::Append("c", 0, 40),
    Step::End("b", 0),
    Step::Tidy,
    Step::Open("a", "a1"),
    Step::Append("a", 1, 2),
    Step::Compact("a", 0),
    Step::Delete("b"),
    Step::Trim("c", 7),
    Step::Tidy,
    Step::Open("b", "b0"),
    Step::End("a", 1),
    Step::Checkpoint("a", 1),
    Step::Delete("c"),
    Step::Tidy,
    Step::Append("b", 0, 1),
    Step::TakeOver("b", 0),
];

/// Of them each is six bits.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// What is written at once here has more sectors than what [`STEPS`] does: in the journal, when it is sealed, and when some of it is erased.
pub(super) const WIDE_STEPS: &[Step] = &[
    Step::Open("a", "a0"),
    Step::Long("a", 0, 3000),
    Step::Open("b", "b0"),
    Step::Long("b", 0, 6900),
    Step::End("a", 0),
    Step::Tidy,
    Step::Append("b", 0, 5),
    Step::Long("b", 0, 4200),
    Step::End("b", 0),
    Step::Checkpoint("b", 0),
    Step::Trim("b", 3),
    Step::Tidy,
    Step::Delete("a"),
    Step::Tidy,
];

pub(super) fn thread(name: &str) -> ThreadKey {
    let owner = |name| Owner::new(name).unwrap();
    ThreadKey::new(Scope { app: owner("app"), user: owner("user") }, ThreadId::new(name).unwrap())
}

pub(super) static THREADS: LazyLock<Vec<ThreadKey>> = LazyLock::new(|| ["a", "b", "c"].map(thread).to_vec());

fn append(thread: ThreadKey, run: u32, records: usize, time: Timestamp) -> Append {
    let record = |number| NewRecord::event(format!("{{\"n\":{number},\"of\":\"{thread}\",\"run\":{run}}}"));
    let records = (0..records).map(record).collect();
    let end = None;
    let (run, epoch, incarnation) = (RunNo(run), Epoch(1), None);
    Append { run, epoch, incarnation, records, key: None, expected_tail: None, end, time, thread }
}

/// An append to a run of a thread.
pub(super) fn appending(name: &str, run: u32, records: usize) -> Append {
    append(thread(name), run, records, Timestamp(2_000))
}

/// Does a step; `number` makes it unlike others.
pub(super) async fn run(store: &dyn Store, number: usize, step: Step) -> Result<(), Error> {
    let time = Timestamp(1_000 + i64::try_from(number).unwrap());
    match step {
        Step::Open(name, id) => open(store, thread(name), id, number, time).await,
        Step::Append(name, run, records) => {
            store.append(append(thread(name), run, records, time)).await.map(|_| ())
        }
        Step::Long(name, run, bytes) => {
            let mut random = Random::new(number as u64);
            let text: String = (0..bytes).map(|_| char::from(LETTERS[random.below(64)])).collect();
            let event = serde_json::json!({ "long": text }).to_string();
            let records = vec![NewRecord::event(event)];
            store.append(Append { records, ..append(thread(name), run, 0, time) }).await.map(|_| ())
        }
        Step::Keyed(name, run, key) => {
            let key = Some(AppendKey::new(key).unwrap());
            store.append(Append { key, ..append(thread(name), run, 2, time) }).await.map(|_| ())
        }
        Step::End(name, run) => {
            let end = RunEnd {
                status: RunStatus::Finished,
                outcome: None,
                error_code: None,
                usage: None,
                interrupts: Vec::new(),
            };
            let ending = Append { end: Some(end.into()), ..append(thread(name), run, 1, time) };
            store.append(ending).await.map(|_| ())
        }
        Step::Checkpoint(name, run) => {
            let checkpoint = Checkpoint {
                stands_alone: false,
                run: RunNo(run),
                version: 1,
                delta: format!(
                    "{{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"word{number}\"}}\n"
                )
                .into(),
                full: Some("full ".repeat(300).into()),
                lineage: RunLineage { said: 1, hash: 2, ids: vec![3] },
                chained: None,
            };
            store.put_checkpoint(&thread(name), None, checkpoint, time).await
        }
        Step::TakeOver(name, run) => {
            let claim = Claim::TakeOver(Timestamp(9_000));
            // Its lease is over.
            store.claim(&thread(name), RunNo(run), Epoch(1), claim, Timestamp(5_000)).await.map(|_| ())
        }
        Step::Compact(name, run) => store.compact_run(&thread(name), RunNo(run), time).await,
        Step::Trim(name, first) => store.trim(&thread(name), first, time).await,
        Step::Name(name, said) => {
            let change = MetadataChange { name: Some(said.to_owned()), ..MetadataChange::default() };
            store.describe(&thread(name), change, time).await
        }
        Step::Delete(name) => store.delete(&thread(name), None, time).await,
        Step::Tidy => store.tidy().await,
    }
}

async fn open(
    store: &dyn Store,
    thread: ThreadKey,
    id: &str,
    number: usize,
    time: Timestamp,
) -> Result<(), Error> {
    let runs = match store.runs(&thread).await {
        Err(Error::NoThread(_)) => Vec::new(),
        runs => runs?,
    };
    let count =
        |ended: bool| u32::try_from(runs.iter().filter(|run| !ended || !run.is_running()).count()).unwrap();
    let open = OpenRun {
        incarnation: Incarnation(u64::try_from(number).unwrap()),
        metadata: MetadataChange::default(),
        seen: RunsSeen { opened: count(false), ended: count(true) },
        id: RunId::new(id).unwrap(),
        parent: None,
        spawned_by: None,
        base_state: BaseState::Branch,
        request: format!("{{\"request\":{number}}}").into(),
        request_digest: "digest".to_owned(),
        records: vec![NewRecord::made(format!("{{\"opened\":\"{id}\"}}"))],
        key: None,
        expected_tail: None,
        end: None,
        lease_until: Timestamp(5_000),
        time,
        thread,
    };
    store.open_run(open).await.map(|_| ())
}

pub(super) async fn view(store: &dyn Store) -> Result<View, Error> {
    View::of(store, &THREADS, Timestamp(i64::MAX)).await
}

/// What can be seen before each step, and at the end.
pub(super) async fn expected(steps: &[Step]) -> Vec<View> {
    let store = threadline_log::MemoryStore::new();
    let mut views = vec![view(&store).await.unwrap()];
    for (number, step) in steps.iter().enumerate() {
        run(&store, number, *step).await.unwrap();
        views.push(view(&store).await.unwrap());
    }
    views
}
