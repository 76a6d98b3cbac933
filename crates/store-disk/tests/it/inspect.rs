//! Reading all that a thread of the load holds. What it says of itself must be true, whoever was told about it.

use crate::load::{BatchId, thread};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use threadline_log::run::{RunInfo, RunStatus};
use threadline_log::store::Append;
use threadline_log::{Error, Kind, NewRecord, Record, RunNo, Store, Timestamp};

/// Pages are so small that a thread takes several.
const PAGE_BYTES: usize = 16 << 10;

/// What a thread holds.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) tail: u64,
    pub(crate) runs: Vec<RunInfo>,
    pub(crate) batches: BTreeMap<BatchId, Place>,
}

/// Where a batch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) run: u32,
    pub(crate) first: u64,
    pub(crate) count: u64,
}

/// An event, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Told {
    r#type: String,
    /// The batch, the place in it and its length.
    #[serde(default)]
    load: Option<(u64, u32, u32)>,
}

/// Reads a thread whole. None if there is none.
///
/// Panics if what is read is not what somebody wrote.
pub(crate) async fn inspect(store: &dyn Store, slot: u16) -> Result<Option<Seen>, Error> {
    let key = thread(slot);
    let info = match store.thread(&key).await {
        Err(Error::NoThread(_)) => return Ok(None),
        info => info?,
    };
    let (tail, runs) = (info.offsets.end, store.runs(&key).await?);
    assert_eq!((info.offsets.start, info.runs as usize), (0, runs.len()), "slot={slot}");
    let mut records: Vec<Record> = Vec::new();
    while let next = records.len() as u64
        && next < tail
    {
        let page = store.read(&key, next..tail, None, PAGE_BYTES).await?;
        records.extend(page.records);
        assert_eq!(page.next, records.len() as u64, "slot={slot}");
    }
    let is_dense = records.iter().zip(0..).all(|(record, offset)| record.offset == offset);
    assert!(is_dense, "slot={slot}");
    let bytes: u64 = records.iter().map(|record| record.bytes.len() as u64).sum();
    assert_eq!((records.len() as u64, bytes), (tail, info.bytes), "slot={slot}");
    let records: Vec<(Record, Told)> = records.into_iter().map(read).collect();
    let batches = batches(slot, &records, &runs);
    check_runs(slot, &records, &runs);
    // Others the next time, when the tail has moved.
    for run in runs.iter().filter(|run| u64::from(run.no.0) % 4 == tail % 4) {
        let name = run_name(run);
        assert_eq!(store.request(&key, run.no).await?, name.request(slot), "slot={slot}");
        let checkpoint = store.checkpoint(&key, run.no).await?;
        assert!(run.end.is_some() || checkpoint.is_none(), "slot={slot}, run={}", run.no.0);
    }
    Ok(Some(Seen { tail, runs, batches }))
}

fn run_name(run: &RunInfo) -> BatchId {
    let number = run.id.as_str().strip_prefix("run-").and_then(|number| number.parse().ok());
    BatchId(number.expect("the name of a run of the load"))
}

fn read(record: Record) -> (Record, Told) {
    let told = serde_json::from_slice(&record.bytes).expect("an event");
    (record, told)
}

/// The batches, each whole and as it was written.
fn batches(slot: u16, records: &[(Record, Told)], runs: &[RunInfo]) -> BTreeMap<BatchId, Place> {
    let mut batches = BTreeMap::new();
    let mut records = records.iter().filter(|(record, _)| record.kind != Kind::Made).peekable();
    while let Some((first, told)) = records.peek() {
        let (id, _, count) = told.load.expect("an event of the load");
        let (id, run, first) = (BatchId(id), first.run, first.offset);
        assert_eq!(id.slot(), u64::from(slot), "a batch is in its thread");
        for index in 0..count {
            let (record, told) = records.next().expect("a batch is whole");
            assert_eq!((record.offset, record.run), (first + u64::from(index), run), "slot={slot}, {id:?}");
            let expected = match told.r#type.as_str() {
                "RUN_FINISHED" => id.terminal(runs[run.index()].id.as_str(), slot, index, count),
                _ => id.event(index, count),
            };
            assert_eq!(record.bytes, expected, "slot={slot}, offset={}", record.offset);
        }
        let place = Place { run: run.0, first, count: count.into() };
        assert_eq!(batches.insert(id, place), None, "a batch is there once");
    }
    batches
}

/// What is said about runs is what their records say.
fn check_runs(slot: u16, records: &[(Record, Told)], runs: &[RunInfo]) {
    let mut counts = vec![0; runs.len()];
    let mut ends: BTreeMap<RunNo, RunStatus> = BTreeMap::new();
    for (record, told) in records {
        counts[record.run.index()] += 1;
        let status = match (record.kind, told.r#type.as_str()) {
            (Kind::Event, "RUN_FINISHED") => RunStatus::Finished,
            (Kind::Made, "RUN_ERROR") => RunStatus::Abandoned,
            _ => continue,
        };
        assert_eq!(ends.insert(record.run, status), None, "a run ends once. slot={slot}");
    }
    for (run, count) in runs.iter().zip(counts) {
        assert_eq!(run.records, count, "slot={slot}, run={}", run.no.0);
        let status = ends.get(&run.no).copied().unwrap_or(RunStatus::Running);
        assert_eq!(run.status(), status, "slot={slot}, run={}", run.no.0);
    }
    let names: BTreeSet<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(names.len(), runs.len(), "slot={slot}");
}

/// Appends batches that are there again: they must be answered as repeated.
pub(crate) async fn repeat(store: &dyn Store, slot: u16, batches: impl Iterator<Item = (BatchId, Place)>) {
    for (id, place) in batches {
        let Some(key) = id.key() else { continue };
        let append = Append {
            thread: thread(slot),
            incarnation: None,
            run: RunNo(place.run),
            epoch: threadline_log::Epoch(1),
            records: vec![NewRecord::event("{}")],
            key: Some(key),
            expected_tail: None,
            end: None,
            time: Timestamp(0),
        };
        let ack = store.append(append).await.expect("a repetition is answered");
        assert_eq!((ack.repeated, ack.first, ack.count), (true, place.first, place.count), "{id:?}");
    }
}
