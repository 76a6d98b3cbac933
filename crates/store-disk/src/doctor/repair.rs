//! Mending: what damaged files still hold goes into new ones, and they are put aside.

use super::check::look_at_block;
use super::compare;
use super::identity::repair_identity;
use super::orphans::name_anew;
use super::remembered::state_again;
use super::report::{Report, Severity};
use crate::catalogue::Catalogue;
use crate::dirs::Directories;
use crate::entry::{CHECKPOINT, DELETED, OPENED};
use crate::fs::Disk;
use crate::history::{
    Block, BlockEntry, BlockKind, HistoryError, HistoryWriter, Index, Place, Salvaged, Shelf, Span, file_name,
};
use crate::journal::format::{segment_name, sidecar_name};
use crate::journal::{self, Damage, Finding, Known};
use crate::known::known_of_journal;
use crate::open::{CATALOGUE, DiskOptions, OpenError, loses, open, open_knowing};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// Makes the catalogue anew, unless something is damaged: it may be all that knows what was lost. That is for [`repair`], and in the report.
///
/// # Errors
/// As those of [`check`](super::check()).
pub fn rebuild(options: &DiskOptions) -> Result<Report, OpenError> {
    let mut report = super::check(options)?;
    if report.severity() != Some(Severity::Damage) {
        make_anew(options, &mut report)?;
    }
    Ok(report)
}

fn make_anew(options: &DiskOptions, report: &mut Report) -> Result<(), OpenError> {
    let directories = options.directories()?;
    {
        let _lock = directories.root.lock()?;
        if let Some(path) = &directories.path {
            Catalogue::remove(&path.join(CATALOGUE))?;
        }
    }
    let (engine, _) = open(options)?;
    engine.flush()?;
    engine.catalogue.sync()?;
    report.is_rebuilt = true;
    Ok(())
}

/// Salvages what damaged files hold, puts them aside in `damaged/`, and makes the catalogue anew. What is lost is in the report, and
/// whoever reads it is told that it is. A thread of which it is lost that it was made is named anew.
///
/// # Errors
/// If the store is open elsewhere or of a newer format, or its files cannot be used at all.
pub fn repair(options: &DiskOptions) -> Result<Report, OpenError> {
    let options = DiskOptions { segments_waiting_max: 0, ..options.clone() };
    let directories = options.directories()?;
    let mut report = Report::default();
    let known = {
        let _lock = directories.root.lock()?;
        let known = known_of_journal(&directories)?;
        super::check::look(&directories, &mut report)?;
        let files_end = repair_identity(&options, &directories, &mut report)?;
        repair_history(&directories, files_end, &mut report)?;
        forget_sidecars(&*directories.log, known)?;
        known
    };
    name_anew(&options, known, &mut report)?;
    state_again(&options, known, &mut report)?;
    // The states of threads are those that are left of them. The catalogue, which knows more, goes last: a repair that is interrupted may
    // need it again.
    repair_journal(&options.without_catalogue()?.0, known, &directories, &mut report)?;
    make_anew(&options, &mut report)?;
    compare::compare(&options, &mut report)?;
    Ok(report)
}

/// Removes the sidecars of segments that have lost something: with one a segment is not read, and its damage not seen.
fn forget_sidecars(log: &dyn Disk, known: Known) -> Result<(), OpenError> {
    let findings = journal::check(log, None, known)?.into_iter();
    let damages: Vec<Damage> = findings
        .filter_map(|finding| match finding {
            Finding::Damage { damage, .. } => Some(damage),
            _ => None,
        })
        .collect();
    for damage in damages.iter().filter(|damage| loses(damage, &damages)) {
        match log.remove(&sidecar_name(damage.segment)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(log.sync_dir()?)
}

fn repair_journal(
    options: &DiskOptions,
    known: Known,
    directories: &Directories,
    report: &mut Report,
) -> Result<(), OpenError> {
    let (mut engine, _) = open_knowing(options, known)?;
    let damaged = std::mem::take(&mut engine.damaged);
    if damaged.is_empty() {
        return Ok(());
    }
    for segment in damaged.keys() {
        copy_aside(&*directories.log, &segment_name(*segment), directories, report)?;
    }
    engine.tidy().map_err(|error| OpenError::Io(io::Error::other(error.to_string())))
}

fn repair_history(directories: &Directories, files_end: u64, report: &mut Report) -> Result<(), OpenError> {
    let (shelf, numbers) = Shelf::open(Arc::clone(&directories.history))?;
    shelf.begin_at(files_end);
    for number in numbers {
        let file = shelf.file(number)?;
        let failed = |error: HistoryError| io::Error::other(error.to_string());
        let whole = |entry: &BlockEntry| look_at_block(&file, entry).is_ok();
        let (mut index, blocks) = match file.index() {
            Ok(index) if index.blocks.iter().all(whole) => continue,
            Ok(index) => {
                let blocks = index.blocks.iter().filter(|entry| whole(entry)).cloned().collect();
                (index, blocks)
            }
            Err(HistoryError::Newer(version)) => {
                let what = HistoryError::Newer(version).to_string();
                return Err(OpenError::History { file: file_name(number), what });
            }
            // Without its head it is put where its number is, which is right unless files were rewritten.
            Err(_) => {
                derive(file.head().map_or(number, |(_, order)| order), &file.salvage().map_err(failed)?)
            }
        };
        index.blocks = Vec::new();
        (index.number, index.replaces) = (shelf.take_number(), vec![number]);
        let mut writer = HistoryWriter::new(Arc::clone(shelf.disk()), index)?;
        for entry in &blocks {
            let (_, bytes) = file.block_bytes(entry.site()).map_err(failed)?;
            writer.push_copy(entry, &bytes)?;
        }
        copy_aside(&*directories.history, &file_name(number), directories, report)?;
        writer.finish()?;
        shelf.remove(number)?;
    }
    Ok(())
}

/// The index of a file, as far as its blocks tell.
fn derive(order: u64, found: &[Salvaged]) -> (Index, Vec<BlockEntry>) {
    let mut spans: BTreeMap<(u64, u32), Span> = BTreeMap::new();
    let mut blocks = Vec::new();
    for Salvaged { site, block } in found {
        let head = &block.head;
        let mut entry = BlockEntry {
            thread: head.thread,
            kind: head.kind,
            at: site.extent.at,
            bytes: site.extent.bytes,
            base: site.base,
            first: head.offsets.0,
            last: head.offsets.1,
            count: head.count,
            times: head.times,
            runs: Vec::new(),
            places: Vec::new(),
            tombstone: false,
        };
        if head.kind == BlockKind::Records {
            derive_runs(block, &mut entry, &mut spans);
        } else {
            derive_places(block, &mut entry);
        }
        blocks.push(entry);
    }
    let threads_end = blocks.iter().map(|block| block.thread + 1).max().unwrap_or_default();
    let spans = spans.into_values().collect();
    (Index { order, threads_end, spans, ..Index::default() }, blocks)
}

fn derive_runs(block: &Block, entry: &mut BlockEntry, spans: &mut BTreeMap<(u64, u32), Span>) {
    for batch in block.batches().unwrap_or_default() {
        let head = batch.head;
        if !entry.runs.iter().any(|(run, _)| *run == head.run.0) {
            entry.runs.push((head.run.0, head.first));
        }
        let span = spans.entry((entry.thread, head.run.0)).or_insert(Span::before(entry.thread, &head));
        span.add(&head, &batch.body);
    }
}

fn derive_places(block: &Block, entry: &mut BlockEntry) {
    let facts = block.facts().unwrap_or_default();
    for (item, fact) in (0..).zip(&facts) {
        if [OPENED, CHECKPOINT].contains(&fact.kind) {
            entry.places.push(Place { item, kind: fact.kind, run: fact.run.0 });
        }
    }
    entry.tombstone = facts.iter().all(|fact| fact.kind == DELETED);
}

/// Copies a file to where damaged ones are kept.
fn copy_aside(from: &dyn Disk, name: &str, directories: &Directories, report: &mut Report) -> io::Result<()> {
    directories.copy_aside(from, name)?;
    report.put_aside.push(name.to_owned());
    report.find(Severity::Damage, name, "what it still held was salvaged, and it was put aside");
    Ok(())
}
