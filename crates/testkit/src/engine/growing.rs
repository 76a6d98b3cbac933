//! Threads that grow at random.

use super::stage::{Stage, end_of, request};
use crate::random::Random;
use crate::streams;
use serde_json::{Value, json};
use threadline_log::{Batch, NewRecord, RunWriter, ThreadKey};
use threadline_protocol::stages::close::Cause;

/// Some runs, of which two may go on at once on branches of their own, with whatever agents say.
pub(super) async fn write_runs(stage: &Stage, t: &ThreadKey, random: &mut Random) {
    let runs = 2 + random.below(4);
    grow(stage, t, "r", Vec::new(), runs, random).await;
}

/// The same on a thread that is there: so many runs of these names, on the branches of those that have ended.
pub(super) async fn grow(
    stage: &Stage,
    t: &ThreadKey,
    names: &str,
    mut ended: Vec<String>,
    runs: usize,
    random: &mut Random,
) {
    let mut open: Vec<(RunWriter, Vec<Value>)> = Vec::new();
    let mut started = 0;
    while started < runs || !open.is_empty() {
        if started < runs && open.len() < 2 && (open.is_empty() || random.chance(30)) {
            let name = format!("{names}{started}");
            let mut request = request(t, &name, &[&format!("u-{name}")]);
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
