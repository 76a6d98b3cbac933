//! Seeing any point again.

use super::stage::{Stage, end_of, request, seen, thread};
use crate::random::Random;
use crate::store::Ending;
use crate::streams;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use threadline_log::lineage::chain;
use threadline_log::run::RunInfo;
use threadline_log::run_fold::RunFold;
use threadline_log::transfer::{ExportForm, ImportOptions};
use threadline_log::{At, Batch, Engine, NewRecord, Record, RunNo, RunWriter, ThreadKey};
use threadline_protocol::stages::close::Cause;
use threadline_protocol::stages::fold::Fold;

/// For every offset and every branch, the snapshot is the fold of that prefix: of any streams, right after they were
/// appended, after the store has tidied up, after a restart, and in a store that they were imported into.
pub async fn every_point_in_time_can_be_seen_again(mut stage: Stage) {
    for seed in 0..stage.cases() {
        let t = thread(&format!("t{seed}"));
        write_runs(&stage, &t, &mut Random::new(seed)).await;
        let points = points(&stage.engine, &t).await;
        compare(&stage.engine, &t, &points, seed).await;
        stage.store.tidy().await.expect("it tidies up");
        compare(&stage.engine, &t, &points, seed).await;
        if stage.lasts() {
            let ending = if seed % 2 == 0 { Ending::Crash } else { Ending::Clean };
            stage = stage.reopen(ending).await;
            compare(&stage.engine, &t, &points, seed).await;
        }
        let other = stage.other();
        copy(&stage.engine, &other, &t).await;
        compare(&other, &t, &points, seed).await;
    }
}

/// Whatever is trimmed and compacted, each branch that is left holds at its runs' ends what it held before.
pub async fn ends_outlive_their_records(stage: Stage) {
    for seed in 0..stage.cases() {
        let t = thread(&format!("t{seed}"));
        let mut random = Random::new(seed);
        write_runs(&stage, &t, &mut random).await;
        let runs = stage.runs(&t).await;
        let mut ends = Vec::new();
        for run in &runs {
            ends.push(seen(&stage.fold(&t, At::Run(run.no)).await));
        }
        let tail = stage.store.thread(&t).await.expect("the thread is there").offsets.end;
        for _ in 0..3 {
            let first = random.below(to_index(tail) + 1) as u64;
            let first = stage.engine.trim(&t, first).await.expect("it is trimmed");
            let whole: Vec<RunNo> =
                runs.iter().filter(|run| run.offsets.start >= first).map(|run| run.no).collect();
            if !whole.is_empty() {
                let compacted = *random.pick(&whole);
                stage.store.compact_run(&t, compacted, stage.engine.now()).await.expect("it is compacted");
            }
            let is_tip = |run: &RunInfo| runs.iter().all(|child| child.parent != Some(run.no));
            for run in runs.iter().filter(|run| run.offsets.end > first || is_tip(run)) {
                let there = stage.engine.snapshot(&t, At::Run(run.no)).await;
                let there = there.unwrap_or_else(|error| panic!("seed {seed}, {:?}: {error}", run.no));
                assert_eq!(seen(&there.fold), ends[run.no.index()], "seed {seed}, {:?}", run.no);
            }
        }
    }
}

/// Some runs, of which two may go on at once on branches of their own, with whatever agents say.
async fn write_runs(stage: &Stage, t: &ThreadKey, random: &mut Random) {
    let mut open: Vec<(RunWriter, Vec<Value>)> = Vec::new();
    let mut ended: Vec<String> = Vec::new();
    let runs = 2 + random.below(4);
    let mut started = 0;
    while started < runs || !open.is_empty() {
        if started < runs && open.len() < 2 && (open.is_empty() || random.chance(30)) {
            let name = format!("r{started}");
            let mut request = request(t, &name, &[&format!("u{started}")]);
            if let Some(parent) = (!ended.is_empty()).then(|| random.pick(&ended).clone()) {
                request["parentRunId"] = json!(parent);
            } else if started > 0 {
                // Only the first has nothing to go on from, so wait for it.
                finish(stage, &mut open, 0, &mut ended).await;
                continue;
            }
            let stream = match random.below(5) {
                0 => streams::wild(random),
                1 => streams::old(random),
                2 => streams::breaching(random),
                _ => streams::valid(random),
            };
            open.push((stage.start_answering(t, request).await, stream));
            started += 1;
            continue;
        }
        let which = random.below(open.len());
        if open[which].1.is_empty() {
            finish(stage, &mut open, which, &mut ended).await;
            continue;
        }
        let (writer, rest) = &mut open[which];
        let count = (1 + random.below(6)).min(rest.len());
        let records = rest.drain(..count).map(|event| match random.chance(3) {
            true => NewRecord::rejected(event.to_string()),
            false => NewRecord::event(event.to_string()),
        });
        let batch = Batch { records: records.collect(), ..Batch::default() };
        stage.clock.advance(1);
        stage.engine.append(writer, batch).await.expect("events are appended");
    }
}

async fn finish(
    stage: &Stage,
    open: &mut Vec<(RunWriter, Vec<Value>)>,
    which: usize,
    ended: &mut Vec<String>,
) {
    let (writer, rest) = open.remove(which);
    let mut records: Vec<NewRecord> = rest.iter().map(|event| NewRecord::event(event.to_string())).collect();
    let name = stage.runs(&writer.thread).await[writer.run.index()].id.to_string();
    if writer.run.0.is_multiple_of(2) {
        let last = json!({"type": "RUN_FINISHED", "threadId": "elsewhere", "runId": "other"}).to_string();
        let end = end_of(&last);
        records.push(NewRecord::event(last));
        stage.engine.append(&writer, Batch { records, end, ..Batch::default() }).await.expect("it ends");
    } else {
        if !records.is_empty() {
            stage.engine.append(&writer, records.into()).await.expect("events are appended");
        }
        stage.engine.end_run(&writer, Cause::Truncated).await.expect("it is ended");
    }
    ended.push(name);
}

/// What every point must show, folded from the first record of its branch on.
async fn points(engine: &Engine, t: &ThreadKey) -> BTreeMap<(RunNo, u64), String> {
    let tail = engine.store().thread(t).await.expect("the thread is there").offsets.end;
    let runs = engine.store().runs(t).await.expect("the thread is there");
    let records = engine.read(t, 0..tail, None, usize::MAX).await.expect("records are read").records;
    let mut points = BTreeMap::new();
    for run in &runs {
        for offset in 0..tail {
            points.insert((run.no, offset), seen(&fold_of(t, &runs, run.no, &records[..=to_index(offset)])));
        }
    }
    points
}

fn to_index(offset: u64) -> usize {
    usize::try_from(offset).expect("few records")
}

fn fold_of(t: &ThreadKey, runs: &[RunInfo], run: RunNo, records: &[Record]) -> Fold {
    let mut fold = Fold::new();
    for run in chain(runs, run) {
        let mut own = records.iter().filter(|record| record.run == run).peekable();
        if own.peek().is_some() {
            let mut run_fold = RunFold::new(&t.thread, &runs[run.index()], fold);
            own.for_each(|record| {
                run_fold.push(record.kind, &record.bytes);
            });
            fold = run_fold.fold().clone();
        }
    }
    fold
}

async fn compare(engine: &Engine, t: &ThreadKey, points: &BTreeMap<(RunNo, u64), String>, seed: u64) {
    for ((run, offset), expected) in points {
        let snapshot = engine.snapshot(t, At::RunAndOffset(*run, *offset)).await.expect("the point is there");
        assert_eq!(seen(&snapshot.fold), *expected, "seed {seed}, run {run:?}, offset {offset}");
    }
    let tail = engine.store().thread(t).await.expect("the thread is there").offsets.end;
    let records = engine.read(t, 0..tail, None, usize::MAX).await.expect("records are read").records;
    for record in records {
        let snapshot = engine.snapshot(t, At::Offset(record.offset)).await.expect("the point is there");
        assert_eq!(snapshot.run, Some(record.run));
        assert_eq!(seen(&snapshot.fold), points[&(record.run, record.offset)], "seed {seed}");
    }
}

async fn copy(from: &Engine, to: &Engine, t: &ThreadKey) {
    let options =
        ImportOptions { scope: None, default_scope: t.scope.clone(), thread: None, cause: Cause::Truncated };
    let mut importer = to.import(options);
    let mut exporter = from.export(t, ExportForm::Raw).await.expect("it can be exported");
    while let Some(lines) = exporter.next().await.expect("it is exported") {
        for line in String::from_utf8(lines).expect("JSON").lines() {
            importer.push(line).await.expect("the line makes sense");
        }
    }
    importer.finish().await.expect("it is imported");
}
