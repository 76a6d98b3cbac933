//! What the catalogue still knows of threads, and the log has lost.
//!
//! The catalogue is derived, but what was written to it was durable before. A thread's last offsets, how a run has ended and that a
//! thread was deleted are no gap that a reader would come across: with them forgotten, offsets would be given a second time, and what
//! was deleted would be back.

use super::orphans::lost_scope;
use super::report::{Report, Severity};
use crate::catalogue::{Catalogue, CatalogueError, StoredThread};
use crate::engine::Engine;
use crate::entry::{Attached, encode_fact};
use crate::history::{BlockEntry, BlockKind, HistoryWriter, Index, Mark, Span, file_number};
use crate::journal;
use crate::open::{CATALOGUE, DiskOptions, OpenError, open_knowing};
use crate::overlay::{self, Item};
use crate::restated::restated;
use crate::seal::FactBlocks;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use threadline_log::fact::Fact;
use threadline_log::run::RunInfo;
use threadline_log::sealed::batch::record_bytes;
use threadline_log::state::ThreadState;
use threadline_log::store::Ack;
use threadline_log::thread::MetadataChange;
use threadline_log::{AppendKey, RunNo, ThreadKey, Timestamp};

/// What is to be said again of threads, by their numbers.
#[derive(Debug, Default)]
struct Remembered {
    deleted: BTreeMap<u64, ThreadKey>,
    known: Vec<Known>,
    /// Checkpoints cannot be said again: they are made anew, as long as the records are there.
    unfolded: Vec<(ThreadKey, RunNo)>,
}

/// A thread of which more is known than the log says.
#[derive(Debug)]
struct Known {
    thread: StoredThread,
    /// Labels that were taken off it.
    unlabelled: MetadataChange,
    spans: Vec<Span>,
    /// Up to where the log knows it, if it does.
    logged_tail: Option<u64>,
}

/// Tells what the catalogue knows and the log does not: it was lost, and can be said again.
pub(super) fn tell_what_is_lost(
    old: &Catalogue,
    engine: &Engine,
    report: &mut Report,
) -> Result<(), OpenError> {
    let mut remembered = Remembered { deleted: superseded(engine)?, ..Remembered::default() };
    if let Some((watermark, end)) = as_new_as_history(old, engine) {
        remember(old, engine, watermark, end, &mut remembered)?;
    }
    remembered.tell_checkpoints(report);
    for (no, key) in &remembered.deleted {
        let what = "it was lost that this thread was deleted";
        report.find(Severity::Damage, format!("thread={key}, number={no}"), what);
    }
    for Known { thread, logged_tail, .. } in remembered.known {
        tell_offsets(engine, thread, logged_tail, report);
    }
    Ok(())
}

/// Names a thread that the catalogue knows more of, and its offsets that are lost beyond what a reader of the log would miss.
fn tell_offsets(engine: &Engine, thread: StoredThread, logged_tail: Option<u64>, report: &mut Report) {
    let (no, offsets) = (thread.no, thread.state.info().offsets);
    let place = format!("thread={}, number={no}", thread.key);
    let mut lost = Vec::new();
    match logged_tail {
        Some(tail) => lost.push(tail.max(offsets.start)..offsets.end),
        None => {
            engine.core.overlay().take_up(thread);
            lost = engine.lost(no).unwrap_or_default();
        }
    }
    lost.retain(|offsets| !offsets.is_empty());
    if lost.is_empty() {
        report.find(Severity::Damage, place.as_str(), "the catalogue knows more of it than the log");
    }
    for Range { start, end } in lost {
        let what = "the catalogue knows of these, and the log has lost them";
        report.find(Severity::Damage, format!("{place}, offset={start}..{end}"), what);
    }
}

/// States again what the catalogue knows and the log does not. Comes before the journal is sealed and the catalogue made anew.
pub(super) fn state_again(
    options: &DiskOptions,
    journal: journal::Known,
    report: &mut Report,
) -> Result<(), OpenError> {
    let (options, path) = options.without_catalogue()?;
    let (engine, _) = open_knowing(&options, journal)?;
    engine.flush()?;
    let mut threads_end = engine.core.overlay().threads_end;
    let mut remembered = Remembered { deleted: superseded(&engine)?, ..Remembered::default() };
    let old = path.and_then(|path| Catalogue::open(&path.join(CATALOGUE)).ok().flatten());
    if let Some(old) = old
        && let Some((watermark, end)) = as_new_as_history(&old, &engine)
    {
        threads_end = threads_end.max(end);
        remember(&old, &engine, watermark, end, &mut remembered)?;
    }
    remembered.tell_checkpoints(report);
    if !remembered.deleted.is_empty() || !remembered.known.is_empty() {
        write(&engine, &remembered, threads_end, report)?;
    }
    Ok(())
}

/// Up to where a catalogue knows the journal, and the end of its numbers, unless it is older than what was sealed: then it does not
/// know what was deleted since.
fn as_new_as_history(old: &Catalogue, engine: &Engine) -> Option<(Mark, u64)> {
    let (watermark, threads_end) = old.watermark().ok()??;
    let numbers = history_files(engine).ok()?;
    let mut indexes = numbers.into_iter().map(|number| engine.shelf.index(number));
    indexes.all(|index| index.is_ok_and(|index| index.last <= watermark)).then_some((watermark, threads_end))
}

fn history_files(engine: &Engine) -> Result<Vec<u64>, OpenError> {
    let names = engine.shelf.disk().list()?;
    Ok(names.iter().filter_map(|name| file_number(name)).collect())
}

/// Looks at every thread that either knows.
fn remember(
    old: &Catalogue,
    engine: &Engine,
    watermark: Mark,
    threads_end: u64,
    remembered: &mut Remembered,
) -> Result<(), OpenError> {
    let Ok(numbers) = old.thread_numbers() else { return Ok(()) };
    // Only of one that is whole it means something that a thread is not there.
    let mut is_whole =
        old.check().is_ok_and(|findings| findings.is_empty()) && matches!(old.has_stray_runs(), Ok(false));
    for no in &numbers {
        let Ok(Some(stored)) = old.thread_by_no(*no) else {
            is_whole = false;
            continue;
        };
        let Some(thread) = brought_up(engine, stored, watermark) else { continue };
        let logged = engine.catalogue.thread_by_no(*no)?;
        if remembered.deleted.contains_key(no) || logged.as_ref().is_some_and(|one| !is_same(one, &thread)) {
            continue;
        }
        let folded = thread.state.runs().iter().filter(|run| run.lineage.is_some());
        let is_lost = |run: &&RunInfo| {
            let there = logged.as_ref().and_then(|logged| logged.state.run(run.no).ok());
            there.is_some_and(|there| there.lineage.is_none())
        };
        remembered.unfolded.extend(folded.filter(is_lost).map(|run| (thread.key.clone(), run.no)));
        match engine.catalogue.thread_by_name(&thread.key)? {
            // Its name was given to another since.
            Some(other) if other.no > *no => _ = remembered.deleted.insert(*no, thread.key),
            _ if logged.as_ref().is_some_and(|logged| says_as_much(logged, &thread)) => {}
            _ => remembered.known.push(Known::of(thread, logged.as_ref())),
        }
    }
    let numbers: BTreeSet<u64> = numbers.into_iter().collect();
    let logged = engine.catalogue.thread_numbers()?.into_iter();
    for no in logged.filter(|no| is_whole && *no < threads_end && !numbers.contains(no)) {
        let Some(thread) = engine.catalogue.thread_by_no(no)? else { continue };
        if thread.key.scope != lost_scope()? && was_made_before(engine, no, watermark)? {
            remembered.deleted.insert(no, thread.key);
        }
    }
    Ok(())
}

/// Whether both are of the same thread.
fn is_same(one: &StoredThread, other: &StoredThread) -> bool {
    one.key == other.key && one.state.incarnation() == other.state.incarnation()
}

/// Whether nothing that can be said again is missing.
fn says_as_much(logged: &StoredThread, known: &StoredThread) -> bool {
    // Lineages go with checkpoints, which cannot be said again.
    let runs = |state: &ThreadState| -> Vec<RunInfo> {
        state.runs().iter().map(|run| RunInfo { lineage: None, ..run.clone() }).collect()
    };
    let keys = |state: &ThreadState| -> BTreeMap<(RunNo, AppendKey), Ack> {
        state.keys().map(|(run, key, ack)| ((run, key.clone()), *ack)).collect()
    };
    logged.state.info() == known.state.info()
        && logged.compacted == known.compacted
        && runs(&logged.state) == runs(&known.state)
        && keys(&logged.state) == keys(&known.state)
}

/// Whether the catalogue has taken in that a thread was made.
fn was_made_before(engine: &Engine, no: u64, watermark: Mark) -> Result<bool, CatalogueError> {
    let first = engine.core.overlay().unsealed.of(no).facts.first().map(|fact| fact.mark);
    Ok(first.is_some_and(|mark| mark <= watermark) || engine.catalogue.has_blocks_elsewhere(no, 0)?)
}

/// A thread as the catalogue knew it, with what the journal has of it since. None if it was deleted.
fn brought_up(engine: &Engine, stored: StoredThread, since: Mark) -> Option<StoredThread> {
    let StoredThread { no, key, state, mut compacted } = stored;
    let unsealed = engine.core.overlay().unsealed.of(no);
    // What cannot be read is lost, and told by who looks at the journal.
    let facts = unsealed.facts.iter().filter(|fact| fact.mark > since).filter_map(|fact| {
        Some((fact.mark, Item::of_fact(&engine.unsealed_fact(no, fact.mark).ok()?).ok()?))
    });
    let batches = unsealed.batches.iter().filter(|batch| batch.mark > since).filter_map(|batch| {
        let (head, body) = engine.unsealed_batch(no, batch.first, batch.mark).ok()?;
        Some((batch.mark, Item::Records { head, bytes: record_bytes(body.len() as u64, head.count) }))
    });
    let mut items: Vec<(Mark, Item)> = facts.chain(batches).collect();
    items.sort_by_key(|(mark, _)| *mark);
    let mut state = Some(state);
    for (_, item) in &items {
        overlay::apply(&key, &mut state, item);
        overlay::note_compacted(&mut compacted, item);
    }
    Some(StoredThread { no, key, state: state?, compacted })
}

/// Threads whose names were given to others, so that they were deleted, though nothing says so any more.
fn superseded(engine: &Engine) -> Result<BTreeMap<u64, ThreadKey>, OpenError> {
    let mut found = engine.core.overlay().superseded();
    for no in engine.catalogue.unknown_threads()? {
        if engine.core.overlay().unsealed.is_deleted(no) {
            continue;
        }
        if let Some(key) = name_in_history(engine, no)? {
            found.insert(no, key);
        }
    }
    Ok(found)
}

/// The name that history says a thread was made under.
pub(super) fn name_in_history(engine: &Engine, no: u64) -> Result<Option<ThreadKey>, OpenError> {
    for number in history_files(engine)? {
        let (Ok(file), Ok(index)) = (engine.shelf.file(number), engine.shelf.index(number)) else { continue };
        let is_its = |entry: &&BlockEntry| entry.thread == no && entry.kind == BlockKind::Facts;
        for entry in index.blocks.iter().filter(is_its) {
            let facts = file.block(entry.site()).ok().and_then(|block| block.facts().ok());
            for fact in facts.unwrap_or_default() {
                if let Ok(Fact::Created { key, .. }) = fact.fact() {
                    return Ok(Some(key));
                }
            }
        }
    }
    Ok(None)
}

impl Remembered {
    fn tell_checkpoints(&self, report: &mut Report) {
        for (key, run) in &self.unfolded {
            let place = format!("thread={key}, run={}", run.0);
            report.find(
                Severity::Damage,
                place,
                "the catalogue knows of a checkpoint, and the log has lost it",
            );
        }
    }
}

impl Known {
    fn of(thread: StoredThread, logged: Option<&StoredThread>) -> Self {
        let info = thread.state.info();
        let logged_info = logged.map(|logged| logged.state.info());
        let labels = logged_info.iter().flat_map(|info| info.metadata.labels.keys());
        let gone = labels.filter(|label| !info.metadata.labels.contains_key(*label));
        let labels = gone.map(|label| (label.clone(), None)).collect();
        let mut bytes = info.bytes.saturating_sub(logged_info.map_or(0, |info| info.bytes));
        let mut spans = Vec::new();
        for run in thread.state.runs() {
            let there = logged.and_then(|logged| logged.state.run(run.no).ok()).map_or(0, |run| run.records);
            let count = run.records.saturating_sub(there);
            if count > 0 {
                let (first, end, time) = (run.offsets.start, run.offsets.end, info.updated.0);
                // How many of the bytes are whose does not matter: they are counted for the thread.
                let bytes = std::mem::take(&mut bytes);
                spans.push(Span { thread: thread.no, run: run.no.0, first, end, count, bytes, time });
            }
        }
        let unlabelled = MetadataChange { labels, ..MetadataChange::default() };
        Self { thread, unlabelled, spans, logged_tail: logged.map(|logged| logged.state.tail()) }
    }
}

/// Writes it where it comes after all that is there.
fn write(
    engine: &Engine,
    remembered: &Remembered,
    threads_end: u64,
    report: &mut Report,
) -> Result<(), OpenError> {
    let mut order = 0;
    for number in history_files(engine)? {
        order = order.max(engine.shelf.index(number).map_or(0, |index| index.order));
    }
    if !engine.damaged.is_empty() {
        // All of the journal will be sealed before anything is written to it. One that is whole goes on from here.
        order = engine.journal.segments().last().map_or(order, |segment| segment.number);
    }
    let number = engine.shelf.take_number();
    let index = Index { number, order, threads_end, ..Index::default() };
    let mut writer = HistoryWriter::new(Arc::clone(engine.shelf.disk()), index)?;
    for Known { thread, unlabelled, spans, .. } in &remembered.known {
        let mut blocks = FactBlocks::new(thread.no);
        for fact in restated(&thread.state, &thread.compacted) {
            blocks.push(&mut writer, &fact)?;
        }
        let unlabelled = Fact::Described { change: unlabelled.clone() };
        let (time, tail) = (thread.state.info().updated, thread.state.tail());
        blocks.push(&mut writer, &encode_fact(time, tail, &unlabelled, &Attached::default()))?;
        blocks.end(&mut writer)?;
        writer.index_mut().spans.extend(spans);
        let place = format!("thread={}, number={}", thread.key, thread.no);
        let what = "something of it was lost; what the catalogue knew of it is said again";
        report.find(Severity::Damage, place, what);
    }
    for (no, key) in &remembered.deleted {
        let deleted = encode_fact(Timestamp(0), 0, &Fact::Deleted, &Attached::default());
        let mut blocks = FactBlocks::new(*no);
        blocks.about.tombstone = true;
        blocks.push(&mut writer, &deleted)?;
        blocks.end(&mut writer)?;
        let what = "it was lost that this thread was deleted; it is deleted again";
        report.find(Severity::Damage, format!("thread={key}, number={no}"), what);
    }
    writer.finish()?;
    Ok(())
}
