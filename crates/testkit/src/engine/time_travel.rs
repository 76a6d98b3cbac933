//! Seeing any point again.

use super::growing::write_runs;
use super::stage::{Stage, seen, thread};
use crate::random::Random;
use crate::store::Ending;
use std::collections::BTreeMap;
use threadline_log::lineage::chain;
use threadline_log::run::RunInfo;
use threadline_log::run_fold::RunFold;
use threadline_log::transfer::{ExportForm, ImportOptions};
use threadline_log::{At, Engine, Record, RunNo, ThreadKey};
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
