//! Seeing any point again.

use super::growing::write_runs;
use super::stage::{Stage, seen, thread};
use super::transfer::{export, import};
use crate::random::Random;
use crate::store::Ending;
use std::collections::{BTreeMap, BTreeSet};
use threadline_log::lineage::chain;
use threadline_log::run::RunInfo;
use threadline_log::run_fold::RunFold;
use threadline_log::transfer::ExportForm;
use threadline_log::{At, Engine, Error, Record, RunId, RunNo, Snapshot, ThreadKey};
use threadline_protocol::stages::fold::Fold;

/// For every offset and every branch, the snapshot is the fold of that prefix: of any streams, right after they were
/// appended, after the store has tidied up, after a restart, and in another store that they were imported into.
pub async fn every_point_in_time_can_be_seen_again(mut stage: Stage) {
    let other = stage.another().await;
    for seed in 0..stage.cases() {
        let t = thread(&format!("t{seed}"));
        write_runs(&stage, &t, &mut Random::new(seed)).await;
        let past = Past::of(&stage.engine, &t).await;
        let mut answers = past.ask(&stage.engine, &format!("seed {seed}")).await;
        stage.store.tidy().await.expect("it tidies up");
        answers.add(&past.ask(&stage.engine, &format!("seed {seed}, tidy")).await);
        if stage.lasts() {
            stage = stage.reopen(ending(seed)).await;
            answers.add(&past.ask(&stage.engine, &format!("seed {seed}, reopened")).await);
        }
        let exported = export(&stage.engine, &t, ExportForm::Raw).await;
        import(&other.engine, &exported).await.expect("the export makes sense");
        answers.add(&past.ask(&other.engine, &format!("seed {seed}, imported")).await);
        assert_eq!(answers.gone(), 0, "nothing was let go of");
    }
}

/// Whatever is trimmed and compacted, each branch that is left holds at its runs' ends what it held before, and a run whose records are all
/// there holds it at each of them. Every other point says that it is gone, and why. So it is right then, after the store has tidied up, after a
/// restart and in a copy; and as far as an export tells of it, where that is imported.
pub async fn ends_outlive_their_records(mut stage: Stage) {
    let other = stage.another().await;
    let mut answers = Answers::default();
    for seed in 0..stage.cases() {
        let t = thread(&format!("t{seed}"));
        let mut random = Random::new(seed);
        write_runs(&stage, &t, &mut random).await;
        let mut past = Past::of(&stage.engine, &t).await;
        for step in 0..3 {
            past.let_go(&stage, &mut random).await;
            answers.add(&past.ask(&stage.engine, &format!("seed {seed}, step {step}")).await);
        }
        stage.store.tidy().await.expect("it tidies up");
        answers.add(&past.ask(&stage.engine, &format!("seed {seed}, tidy")).await);
        if stage.lasts() {
            stage = stage.reopen(ending(seed)).await;
            answers.add(&past.ask(&stage.engine, &format!("seed {seed}, reopened")).await);
        }
        stage.engine.copy_thread(&t, &other.engine, &|_| ()).await.expect("nothing goes on");
        answers.add(&past.ask(&other.engine, &format!("seed {seed}, copied")).await);
        let imported = stage.other();
        let exported = export(&stage.engine, &t, ExportForm::Raw).await;
        import(&imported, &exported).await.expect("the export makes sense");
        past.ask_imported(&imported, &format!("seed {seed}, imported")).await;
    }
    // Otherwise it was tried on nothing.
    assert!(answers.are_all_kinds(), "{answers:?}");
}

const fn ending(seed: u64) -> Ending {
    if seed.is_multiple_of(2) { Ending::Crash } else { Ending::Clean }
}

/// What is answered about a point.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    /// The last run that counts there, and what is held.
    Seen(Option<RunNo>, String),
    /// It lies before this offset, or needs what does.
    Trimmed(u64),
    /// It lies within this run.
    Compacted(RunId),
}

impl Answer {
    fn of(snapshot: Result<Snapshot, Error>, what: &str) -> Self {
        match snapshot {
            Ok(snapshot) => Self::Seen(snapshot.run, seen(&snapshot.fold)),
            Err(Error::Trimmed { first, .. }) => Self::Trimmed(first),
            Err(Error::Compacted { run, .. }) => Self::Compacted(run),
            Err(other) => panic!("{what}: {other}"),
        }
    }
}

/// How many answers there were of each kind.
#[derive(Debug, Default)]
struct Answers {
    seen: usize,
    trimmed: usize,
    compacted: usize,
    /// Those of them within a run that a cut has left the rest of.
    cut: usize,
}

impl Answers {
    fn add(&mut self, more: &Self) {
        self.seen += more.seen;
        self.trimmed += more.trimmed;
        self.compacted += more.compacted;
        self.cut += more.cut;
    }

    const fn gone(&self) -> usize {
        self.trimmed + self.compacted
    }

    const fn are_all_kinds(&self) -> bool {
        self.seen > 0 && self.trimmed > 0 && self.compacted > 0 && self.cut > 0
    }
}

/// A thread as it was when all of it was there, and what was let go of since.
#[derive(Debug)]
struct Past {
    t: ThreadKey,
    runs: Vec<RunInfo>,
    records: Vec<Record>,
    /// What every point must show, folded from the first record of its branch on.
    points: BTreeMap<(RunNo, u64), String>,
    /// The first offset that was not trimmed.
    first: u64,
    compacted: BTreeSet<RunNo>,
}

impl Past {
    async fn of(engine: &Engine, t: &ThreadKey) -> Self {
        let tail = engine.store().thread(t).await.expect("the thread is there").offsets.end;
        let runs = engine.store().runs(t).await.expect("the thread is there");
        let records = engine.read(t, 0..tail, None, usize::MAX).await.expect("records are read").records;
        let mut points = BTreeMap::new();
        for run in &runs {
            for offset in 0..tail {
                let fold = fold_of(t, &runs, run.no, &records[..=to_index(offset)]);
                points.insert((run.no, offset), seen(&fold));
            }
        }
        Self { t: t.clone(), runs, records, points, first: 0, compacted: BTreeSet::new() }
    }

    /// Trims the thread anywhere, and compacts a run that this leaves as it is.
    async fn let_go(&mut self, stage: &Stage, random: &mut Random) {
        let first = random.below(self.records.len() + 1) as u64;
        self.first = stage.engine.trim(&self.t, first).await.expect("it is trimmed");
        assert!(self.first >= first, "nothing goes on, and everything has a checkpoint");
        let whole: Vec<RunNo> =
            self.runs.iter().filter(|run| run.offsets.start >= self.first).map(|run| run.no).collect();
        if !whole.is_empty() {
            let compacted = *random.pick(&whole);
            stage.store.compact_run(&self.t, compacted, stage.engine.now()).await.expect("it is compacted");
            self.compacted.insert(compacted);
        }
    }

    /// Asks for every point, on every branch and by offset alone.
    async fn ask(&self, engine: &Engine, what: &str) -> Answers {
        let mut answers = Answers::default();
        for (run, offset) in self.points.keys().copied() {
            let what = format!("{what}, {run:?}, offset {offset}");
            let answer = engine.snapshot(&self.t, At::RunAndOffset(run, offset)).await;
            let answer = Answer::of(answer, &what);
            assert_eq!(answer, self.answer(run, offset), "{what}");
            match answer {
                Answer::Seen(..) => answers.seen += 1,
                Answer::Trimmed(_) => {
                    answers.trimmed += 1;
                    answers.cut +=
                        usize::from(self.last(run, offset).is_some_and(|last| !self.is_gone(last)));
                }
                Answer::Compacted(_) => answers.compacted += 1,
            }
        }
        for Record { offset, run, .. } in &self.records {
            let what = format!("{what}, offset {offset}");
            let answer = Answer::of(engine.snapshot(&self.t, At::Offset(*offset)).await, &what);
            match answer {
                _ if *offset < self.first => assert_eq!(answer, Answer::Trimmed(self.first), "{what}"),
                // Where runs overlap, nobody knows any more whose record it was.
                Answer::Compacted(id) if self.compacted.contains(run) => {
                    let of = self.runs.iter().find(|run| run.id == id).expect("a run of the thread");
                    assert!(self.compacted.contains(&of.no) && of.offsets.contains(offset), "{what}: {id}");
                }
                _ => assert_eq!(answer, self.answer(*run, *offset), "{what}"),
            }
        }
        answers
    }

    /// Asks for what an export tells, where it was imported: offsets are others there. Runs of which nothing is needed any more are not told.
    async fn ask_imported(&self, engine: &Engine, what: &str) {
        for run in &self.runs {
            let what = format!("{what}, {:?}", run.no);
            let there = engine.run_named(&self.t, &run.id).await.map(|there| there.no);
            if !self.is_end_kept(run) {
                assert!(matches!(there, Err(Error::NoRun(_))), "{what}: {there:?}");
                continue;
            }
            let there = there.unwrap_or_else(|error| panic!("{what}: {error}"));
            let end = engine.snapshot(&self.t, At::Run(there)).await.map(|end| seen(&end.fold));
            assert_eq!(end.as_ref(), Ok(&self.points[&(run.no, run.offsets.end - 1)]), "{what}");
            if !self.is_whole(run) {
                continue;
            }
            let page =
                engine.read(&self.t, 0..u64::MAX, Some(there), usize::MAX).await.expect("records are read");
            let own: Vec<&Record> = self.records.iter().filter(|record| record.run == run.no).collect();
            assert_eq!(page.records.len(), own.len(), "{what}");
            for (record, own) in page.records.iter().zip(own) {
                let point =
                    engine.snapshot(&self.t, At::Offset(record.offset)).await.map(|at| seen(&at.fold));
                assert_eq!(point.as_ref(), Ok(&self.points[&(run.no, own.offset)]), "{what}, {}", own.offset);
            }
        }
    }

    /// The last run of a branch that had begun by then.
    fn last(&self, run: RunNo, offset: u64) -> Option<&RunInfo> {
        let branch = chain(&self.runs, run).into_iter().rev();
        branch.map(|run| &self.runs[run.index()]).find(|run| run.offsets.start <= offset)
    }

    /// What must be answered about a point, after what was let go of.
    fn answer(&self, run: RunNo, offset: u64) -> Answer {
        let seen = |last| Answer::Seen(last, self.points[&(run, offset)].clone());
        let Some(last) = self.last(run, offset) else { return seen(None) };
        let is_end = offset + 1 >= last.offsets.end;
        match is_end {
            true if self.is_end_kept(last) => seen(Some(last.no)),
            false if self.is_whole(last) => seen(Some(last.no)),
            // Of a run that is there, compaction has taken all but the end.
            _ if self.compacted.contains(&last.no) && !self.is_gone(last) => {
                Answer::Compacted(last.id.clone())
            }
            _ => Answer::Trimmed(self.first),
        }
    }

    const fn is_gone(&self, run: &RunInfo) -> bool {
        run.offsets.end <= self.first
    }

    fn is_whole(&self, run: &RunInfo) -> bool {
        run.offsets.start >= self.first && !self.compacted.contains(&run.no)
    }

    /// What lies before the cut is kept at the ends that something goes on from, or could.
    fn is_end_kept(&self, run: &RunInfo) -> bool {
        let continues = |child: &&RunInfo| child.parent == Some(run.no);
        let is_tip = !self.runs.iter().any(|child| continues(&child));
        !self.is_gone(run) || is_tip || self.runs.iter().filter(continues).any(|child| !self.is_gone(child))
    }
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
