//! What happens on one branch or thread does not happen on any other.

use super::growing::{grow, write_runs};
use super::stage::{Stage, answer, finished, ids, request, seen, thread};
use crate::random::Random;
use crate::store::Ending;
use serde_json::json;
use threadline_log::cloning::ClonePoint;
use threadline_log::lineage::chain;
use threadline_log::names::Owner;
use threadline_log::run::RunInfo;
use threadline_log::thread::ThreadInfo;
use threadline_log::transfer::ExportForm;
use threadline_log::{At, Error, Record, RunNo, Scope, ThreadId, ThreadKey};

/// How much is done to a family of threads.
const STEPS: usize = 8;

/// How many runs lie behind each other.
const DEPTH: usize = 64;

/// How many runs continue the same one.
const WIDTH: usize = 200;

/// Threads, copies of them and copies of copies, of which any grows, is trimmed, compacted or deleted: all others stay what they
/// were, in each byte of their records and in what each of their runs holds. And so do the branches of the one that it is done
/// to, as far as it is not their past that is let go.
pub async fn branches_and_clones_stay_what_they_were(mut stage: Stage) {
    for seed in 0..stage.cases() {
        let mut random = Random::new(seed);
        let first = thread(&format!("t{seed}"));
        write_runs(&stage, &first, &mut random).await;
        let mut family = vec![Kept::of(&stage, &first).await];
        for step in 0..STEPS {
            let what = format!("seed {seed}, step {step}");
            let changed = random.below(family.len());
            match random.below(10) {
                0..=2 => clone(&stage, &mut family, changed, &mut random, &what).await,
                3..=5 => {
                    branch_off(&stage, &mut family[changed], &format!("s{step}-"), &mut random, &what).await
                }
                6 => trim(&stage, &mut family[changed], &mut random, &what).await,
                7 => compact(&stage, &mut family[changed], &mut random, &what).await,
                _ if family.len() > 1 => {
                    let gone = family.remove(changed).info.key;
                    stage.engine.delete(&gone).await.expect("nothing goes on");
                    assert!(matches!(stage.store.thread(&gone).await, Err(Error::NoThread(_))), "{what}");
                }
                _ => {}
            }
            if random.chance(30) {
                stage.store.tidy().await.expect("it tidies up");
            }
            if stage.lasts() && random.chance(20) {
                let ending = if random.chance(50) { Ending::Crash } else { Ending::Clean };
                stage = stage.reopen(ending).await;
            }
            for kept in &family {
                kept.assert_same(&Kept::of(&stage, &kept.info.key).await, &what);
            }
        }
    }
}

/// Everything that can be told of a thread.
#[derive(Debug)]
struct Kept {
    info: ThreadInfo,
    /// What each run's branch holds at its end, or why that cannot be told any more.
    held: Vec<Result<String, Error>>,
    runs: Vec<RunInfo>,
    records: Vec<Record>,
    export: String,
}

impl Kept {
    async fn of(stage: &Stage, t: &ThreadKey) -> Self {
        let (engine, info) = (&stage.engine, stage.store.thread(t).await.expect("the thread is there"));
        let mut held = Vec::new();
        for run in stage.runs(t).await {
            let snapshot = engine.snapshot(t, At::Run(run.no)).await;
            held.push(snapshot.map(|snapshot| seen(&snapshot.fold)));
        }
        let page = stage.store.read(t, info.offsets.clone(), None, usize::MAX).await.expect("records");
        let mut exporter = engine.export(t, ExportForm::Raw).await.expect("it can be exported");
        let mut export = Vec::new();
        while let Some(lines) = exporter.next().await.expect("it is exported") {
            export.extend(lines);
        }
        let export = String::from_utf8(export).expect("JSON");
        Self { info, held, runs: stage.runs(t).await, records: page.records, export }
    }

    fn assert_same(&self, now: &Self, what: &str) {
        assert_eq!(now.info, self.info, "{what}");
        for (run, held) in self.runs.iter().zip(self.held.iter().zip(&now.held)) {
            assert_eq!(held.1, held.0, "{what}, {}, {:?}", self.info.key, run.no);
        }
        assert_eq!(now.runs, self.runs, "{what}");
        assert_eq!(now.records, self.records, "{what}");
        assert_eq!(now.export, self.export, "{what}");
    }

    /// Whether all records are there. What is told of a run whose records are gone has the time of its end, so that in a copy no record
    /// that comes after it is older.
    fn is_whole(&self) -> bool {
        self.info.offsets.start == 0 && self.runs.iter().all(|run| !run.compacted)
    }

    /// Its runs that can still be gone on from.
    fn readable(&self) -> impl Iterator<Item = &RunInfo> {
        self.runs.iter().zip(&self.held).filter(|(_, held)| held.is_ok()).map(|(run, _)| run)
    }

    fn records_of(&self, run: RunNo) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(move |record| record.run == run)
    }
}

/// Copies a branch, or all up to an offset. Names that clients were not given are made of the thread's id and the run's: a copy that
/// is another user's may have the same, and holds the same to the byte.
async fn clone(stage: &Stage, family: &mut Vec<Kept>, of: usize, random: &mut Random, what: &str) {
    let source = &family[of];
    let user = Owner::new(format!("user-{}", what.replace(' ', "-"))).expect("a short name");
    let scope = Scope { app: source.info.key.scope.app.clone(), user };
    let is_renamed = random.chance(30);
    let id = if is_renamed {
        ThreadId::new("copy").expect("a short name")
    } else {
        source.info.key.thread.clone()
    };
    let copy = ThreadKey::new(scope, id);
    let point = match random.chance(50) {
        true => ClonePoint::Run(random.pick(&source.runs).no),
        false => {
            ClonePoint::Offset(random.below(usize::try_from(source.info.offsets.end).expect("few")) as u64)
        }
    };
    match stage.engine.clone_thread(&source.info.key, point, &copy).await {
        Ok(()) => {}
        Err(Error::Trimmed { .. } | Error::Compacted { .. }) => {
            assert!(!source.is_whole(), "{what}: {point:?}");
            assert!(matches!(stage.store.thread(&copy).await, Err(Error::NoThread(_))), "{what}");
            return;
        }
        Err(error) => panic!("{what}: {point:?}: {error}"),
    }
    let copy = Kept::of(stage, &copy).await;
    let copied: Vec<RunNo> = match point {
        ClonePoint::Run(run) => chain(&source.runs, run),
        ClonePoint::Offset(offset) => {
            let begun = source.runs.iter().filter(|run| run.offsets.start <= offset);
            begun.map(|run| run.no).collect()
        }
    };
    assert_eq!(copy.runs.len(), copied.len(), "{what}");
    for (run, no) in copy.runs.iter().zip(copied) {
        let original = &source.runs[no.index()];
        let end = if let ClonePoint::Offset(offset) = point { offset + 1 } else { u64::MAX };
        let parent = original.parent.map(|parent| &source.runs[parent.index()].id);
        assert_eq!(
            (&run.id, run.parent.map(|parent| &copy.runs[parent.index()].id)),
            (&original.id, parent),
            "{what}"
        );
        let bytes = |record: &Record| {
            (record.kind, record.bytes.clone(), Some(record.time).filter(|_| source.is_whole()))
        };
        let theirs: Vec<_> = source.records_of(no).filter(|record| record.offset < end).map(bytes).collect();
        let ours: Vec<_> = copy.records_of(run.no).map(bytes).collect();
        assert!(ours.starts_with(&theirs), "{what}: {:?}", original.no);
        // One that was cut off is ended, and of one whose records are gone it is told what it held.
        if original.offsets.end <= end {
            assert!(original.compacted || ours.len() == theirs.len(), "{what}: {:?}", original.no);
            if !is_renamed {
                assert_eq!(copy.held[run.no.index()], source.held[no.index()], "{what}: {:?}", original.no);
            }
        }
    }
    family.push(copy);
}

/// Goes on with some runs, from wherever that can be.
async fn branch_off(stage: &Stage, kept: &mut Kept, names: &str, random: &mut Random, what: &str) {
    let ended = kept.readable().map(|run| run.id.to_string()).collect();
    grow(stage, &kept.info.key, names, ended, 1 + random.below(2), random).await;
    let now = Kept::of(stage, &kept.info.key).await;
    let runs = kept.runs.len();
    assert!(now.runs.len() > runs, "{what}");
    assert_eq!(now.runs[..runs], kept.runs, "{what}");
    assert_eq!(now.held[..runs], kept.held, "{what}");
    assert_eq!(now.records[..kept.records.len()], kept.records, "{what}");
    *kept = now;
}

/// Lets go of the past of all branches, which is not what they hold.
async fn trim(stage: &Stage, kept: &mut Kept, random: &mut Random, what: &str) {
    let first = random.below(usize::try_from(kept.info.offsets.end).expect("few") + 1) as u64;
    let first = stage.engine.trim(&kept.info.key, first).await.expect("nothing goes on");
    let now = Kept::of(stage, &kept.info.key).await;
    let is_tip = |run: &RunInfo| kept.runs.iter().all(|child| child.parent != Some(run.no));
    for run in kept.runs.iter().filter(|run| run.offsets.end > first || is_tip(run)) {
        assert_eq!(now.held[run.no.index()], kept.held[run.no.index()], "{what}: {:?}", run.no);
    }
    assert!(kept.records.ends_with(&now.records), "{what}");
    *kept = now;
}

/// Lets go of one run's records.
async fn compact(stage: &Stage, kept: &mut Kept, random: &mut Random, what: &str) {
    let whole: Vec<RunNo> = kept
        .runs
        .iter()
        .filter(|run| run.offsets.start >= kept.info.offsets.start)
        .map(|run| run.no)
        .collect();
    if whole.is_empty() {
        return;
    }
    let compacted = *random.pick(&whole);
    stage
        .store
        .compact_run(&kept.info.key, compacted, stage.engine.now())
        .await
        .expect("it has a checkpoint");
    let now = Kept::of(stage, &kept.info.key).await;
    assert_eq!(now.held, kept.held, "{what}");
    let others: Vec<Record> = kept.records.iter().filter(|record| record.run != compacted).cloned().collect();
    assert_eq!(now.records, others, "{what}");
    *kept = now;
}

/// However long a branch is, each of its runs holds what was said up to it: also in a copy whose source is gone.
pub async fn a_long_branch_holds_all_that_was_said(stage: Stage) {
    let (t, copy) = (thread("t"), thread("copy"));
    let mut expected = Vec::new();
    for run in 0..DEPTH {
        let (name, user) = (run.to_string(), format!("u{run}"));
        let writer = stage.start(&t, &request(&t, &name, &[&user])).await;
        let said: Vec<_> = answer(&name).into_iter().chain([finished(&t, &name)]).collect();
        stage.say(&writer, &said).await;
        expected.extend([user, format!("a-{name}")]);
    }
    let tip = stage.runs(&t).await.last().expect("a run").no;
    assert_eq!(chain(&stage.runs(&t).await, tip).len(), DEPTH);
    stage.engine.clone_thread(&t, ClonePoint::Run(tip), &copy).await.expect("the branch is copied");
    for run in stage.runs(&t).await {
        let so_far = 2 * (run.no.index() + 1);
        assert_eq!(ids(&stage.fold(&t, At::Run(run.no)).await), expected[..so_far], "run {}", run.id);
    }
    stage.engine.delete(&t).await.expect("nothing goes on");
    stage.store.tidy().await.expect("and gone");
    assert_eq!(ids(&stage.fold(&copy, At::Head).await), expected);
    let middle = RunNo(u32::try_from(DEPTH / 2).expect("few"));
    assert_eq!(ids(&stage.fold(&copy, At::Run(middle)).await), expected[..2 * (DEPTH / 2 + 1)]);
}

/// However many runs continue the same one, all at once, none of them holds anything of another.
pub async fn siblings_hold_nothing_of_each_other(stage: Stage) {
    let t = thread("t");
    let root = stage.converse(&t, &request(&t, "root", &["u"])).await;
    let mut writers = Vec::new();
    for child in 0..WIDTH {
        let mut beside = request(&t, &child.to_string(), &[&format!("u{child}")]);
        beside["parentRunId"] = json!("root");
        writers.push(stage.start(&t, &beside).await);
    }
    // The last that was opened speaks first.
    for (child, writer) in writers.iter().enumerate().rev() {
        let said: Vec<_> = answer(&child.to_string()).into_iter().chain([finished(&t, "whatever")]).collect();
        stage.say(writer, &said).await;
    }
    stage.store.tidy().await.expect("it tidies up");
    for (child, writer) in writers.iter().enumerate() {
        let held = ids(&stage.fold(&t, At::Run(writer.run)).await);
        assert_eq!(held, ["u".to_owned(), "a-root".to_owned(), format!("u{child}"), format!("a-{child}")]);
    }
    assert_eq!(ids(&stage.fold(&t, At::Run(root)).await), ["u", "a-root"]);
}
