//! Exports of which a line was lost, doubled or moved.

use super::growing::write_runs;
use super::stage::{Stage, request, thread};
use super::transfer::{export, import};
use crate::random::Random;
use serde_json::json;
use std::fmt::Debug;
use threadline_log::run::RunInfo;
use threadline_log::transfer::ExportForm;
use threadline_log::{Engine, Error, ErrorKind, NewRecord, RunNo, RunWriter, ThreadKey};

/// How many lines of an export are altered, one at a time.
const ALTERED: usize = 24;

/// An export of which any one line is missing, there twice or in another place is refused, and nothing is left of it; or it means the same:
/// where two lines are the same, and where the line of a run has moved past records of others. One of before, which says less, is taken in.
pub async fn an_export_that_was_altered_is_refused(stage: Stage) {
    for seed in 0..stage.cases() {
        let t = thread(&format!("t{seed}"));
        let mut random = Random::new(seed);
        write_thread(&stage, &t, &mut random).await;
        let exported = export(&stage.engine, &t, ExportForm::Raw).await;
        let held = taken_in(&stage, &t, &exported).await;
        let held = held.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let before = of_before(&exported);
        let taken = taken_in(&stage, &t, &before).await;
        assert!(taken.as_ref() == Ok(&held), "seed {seed}: {:?}", taken.err());
        let lines: Vec<&str> = exported.lines().collect();
        for _ in 0..ALTERED {
            let (one, other) = (random.below(lines.len()), random.below(lines.len()));
            for (how, altered) in alterations(&lines, one, other) {
                let what = || format!("seed {seed}, {how}, lines {one} and {other}");
                match taken_in(&stage, &t, &altered.join("\n")).await {
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Invalid, "{error}, {}", what()),
                    Ok(taken) => {
                        assert!(taken == held, "{}", what());
                        let moved = lines.iter().zip(&altered).filter(|(line, there)| line != there);
                        let has_run_moved =
                            how == "swapped" && moved.into_iter().any(|(line, _)| is_run(line));
                        assert!(altered == lines || has_run_moved, "{}", what());
                    }
                }
            }
        }
    }
}

/// Whatever the first line says that is not so, the export is refused.
pub async fn an_export_that_does_not_hold_what_it_says_is_refused(stage: Stage) {
    let t = thread("t");
    stage.converse(&t, &request(&t, "1", &["u1"])).await;
    stage.converse(&t, &request(&t, "2", &["u1", "a-1", "u2"])).await;
    let exported = export(&stage.engine, &t, ExportForm::Raw).await;
    let (head, rest) = exported.split_once('\n').expect("lines");
    let tail = stage.store.thread(&t).await.expect("it is there").offsets.end;
    for (member, value) in [("tail", tail), ("runs", 2), ("records", tail), ("first", 0)] {
        let said = format!("\"{member}\":{value}");
        assert!(head.contains(&said), "{head}");
        let others = [value.wrapping_sub(1), value + 1, 1_000];
        for other in others.iter().filter(|other| **other < u64::MAX) {
            let head = head.replace(&said, &format!("\"{member}\":{other}"));
            let refused = taken_in(&stage, &t, &format!("{head}\n{rest}")).await;
            assert!(matches!(refused, Err(Error::Invalid(_))), "{head}: {refused:?}");
        }
    }
    // The member of a line that says where in the export it stands.
    let moved = exported.replace("\"number\":2", "\"number\":1");
    assert!(matches!(taken_in(&stage, &t, &moved).await, Err(Error::Invalid(_))));
    let ended = rest.lines().last().expect("a record");
    let end = &ended[ended.find(",\"end\":").expect("it ends")..ended.len() - 1];
    let ends_early = |place: usize| {
        let mut lines: Vec<String> = exported.lines().map(str::to_owned).collect();
        let at = lines[place].len() - 1;
        lines[place].insert_str(at, end);
        lines.join("\n")
    };
    for place in 2..5 {
        let refused = taken_in(&stage, &t, &ends_early(place)).await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    }
}

/// What is compacted or trimmed while it is exported is missing in the export, which says so at its end.
pub async fn an_export_knows_what_went_meanwhile(stage: Stage) {
    for is_trimmed in [false, true] {
        let t = thread(if is_trimmed { "trimmed" } else { "compacted" });
        stage.converse(&t, &request(&t, "1", &["u1"])).await;
        stage.converse(&t, &request(&t, "2", &["u1", "a-1", "u2"])).await;
        let mut exporter = stage.engine.export(&t, ExportForm::Raw).await.expect("it can be exported");
        exporter.next().await.expect("it begins");
        match is_trimmed {
            true => stage.engine.trim(&t, 6).await.map(|_| ()).expect("it is trimmed"),
            false => {
                stage.engine.export_digest(&t).await.expect("everything is folded");
                let now = stage.engine.now();
                stage.store.compact_run(&t, RunNo(0), now).await.expect("it has a checkpoint");
            }
        }
        let ended = loop {
            match exporter.next().await {
                Ok(Some(_)) => {}
                other => break other,
            }
        };
        assert_eq!(ended, Err(Error::ThreadChanged(t)));
    }
}

/// A thread that has lost some of its past and goes on, as chance has it.
async fn write_thread(stage: &Stage, t: &ThreadKey, random: &mut Random) {
    write_runs(stage, t, random).await;
    let runs = stage.runs(t).await;
    if random.chance(50) {
        let tail = stage.store.thread(t).await.expect("it is there").offsets.end;
        let first = random.below(usize::try_from(tail).expect("few records") + 1) as u64;
        stage.engine.trim(t, first).await.expect("it is trimmed");
    }
    if random.chance(60) {
        let first = stage.store.thread(t).await.expect("it is there").offsets.start;
        stage.engine.export_digest(t).await.expect("everything is folded");
        let whole: Vec<&RunInfo> = runs.iter().filter(|run| run.offsets.start >= first).collect();
        if !whole.is_empty() {
            let run = random.pick(&whole).no;
            stage.store.compact_run(t, run, stage.engine.now()).await.expect("it is compacted");
        }
    }
    for run in runs.iter().filter(|_| random.chance(30)) {
        late(stage, t, run).await;
    }
    if random.chance(50) {
        let mut last = request(t, "last", &["u-last"]);
        last["parentRunId"] = json!(runs[0].id.as_str());
        let writer = stage.start_answering(t, last).await;
        for said in ["one", "two"] {
            stage.say(&writer, &[json!({"type": "CUSTOM", "name": said, "value": 1})]).await;
        }
    }
}

/// Something that came after the end of a run.
async fn late(stage: &Stage, t: &ThreadKey, run: &RunInfo) {
    let incarnation = stage.store.thread(t).await.expect("it is there").incarnation;
    let writer = RunWriter { thread: t.clone(), run: run.no, epoch: run.epoch, incarnation };
    let records = vec![NewRecord::rejected(format!("late {}", run.id)), NewRecord::rejected("later")];
    stage.engine.append(&writer, records.into()).await.expect("rejected records are kept");
}

fn alterations<'a>(lines: &[&'a str], one: usize, other: usize) -> Vec<(&'static str, Vec<&'a str>)> {
    let mut dropped = lines.to_vec();
    dropped.remove(one);
    let mut doubled = lines.to_vec();
    doubled.insert(one, lines[one]);
    let mut doubled_elsewhere = lines.to_vec();
    doubled_elsewhere.insert(other, lines[one]);
    let (mut swapped, mut neighbours) = (lines.to_vec(), lines.to_vec());
    swapped.swap(one, other);
    neighbours.swap(one, (one + 1) % lines.len());
    vec![
        ("dropped", dropped),
        ("doubled", doubled),
        ("doubled elsewhere", doubled_elsewhere),
        ("swapped", swapped),
        ("swapped", neighbours),
    ]
}

/// What a store holds that has taken an export in. Nothing, if that was refused.
async fn taken_in(stage: &Stage, t: &ThreadKey, lines: &str) -> Result<Vec<String>, Error> {
    let other = stage.other();
    let imported = import(&other, lines).await;
    if let Err(error) = imported {
        let left = other.store().thread(t).await;
        assert!(matches!(left, Err(Error::NoThread(_))), "{left:?}");
        return Err(error);
    }
    Ok(held(&other, t).await)
}

async fn held(engine: &Engine, t: &ThreadKey) -> Vec<String> {
    // An export of a thread without runs makes none.
    let Ok(runs) = engine.store().runs(t).await else { return Vec::new() };
    let mut held = vec![export(engine, t, ExportForm::Raw).await];
    held.extend(runs.iter().map(|run| shown(&(run.no, run.parent, &run.end, run.ended, run.ended_at))));
    for run in 0..runs.len() {
        let run = RunNo(u32::try_from(run).expect("few runs"));
        held.push(shown(&engine.store().request(t, run).await.expect("the run is there")));
    }
    held
}

fn shown(what: &impl Debug) -> String {
    format!("{what:?}")
}

fn is_run(line: &str) -> bool {
    line.starts_with("{\"run\":")
}

/// As versions wrote it that did not say how many records there are, and which run and which part of a compaction a line is.
fn of_before(exported: &str) -> String {
    let without = |line: &str, member: &str| match line.split_once(&format!(",\"{member}\":")) {
        Some((before, after)) => {
            format!("{before}{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
        None => line.to_owned(),
    };
    let lines = (0..).zip(exported.lines()).map(|(place, line)| match place {
        0 => without(line, "records"),
        _ if is_run(line) => without(line, "number"),
        // Behind it is the event, which may say anything.
        _ if line.contains("\"kind\":\"made\",\"part\":") => without(line, "part"),
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}
