//! A look at everything, which changes nothing.

use super::compare;
use super::report::{Report, Severity};
use crate::catalogue::Catalogue;
use crate::dirs::Directories;
use crate::entry::{CHECKPOINT, FactEntry};
use crate::history::{BlockEntry, BlockKind, HistoryError, HistoryFile, file_number, is_leftover};
use crate::identity::{Identity, IdentityError};
use crate::journal;
use crate::known::known_of_journal;
use crate::open::{CATALOGUE, DiskOptions, OpenError, loses};
use threadline_log::fact::Fact;

/// Looks at every frame, sidecar, block, index and checkpoint, and at the catalogue. Then the store is opened, with a copy of its catalogue and
/// without, and both must say the same: what the catalogue knows beyond the log was lost.
///
/// # Errors
/// If the store is open elsewhere, is of a newer format, or its files cannot be used at all.
pub fn check(options: &DiskOptions) -> Result<Report, OpenError> {
    let mut report = Report::default();
    let directories = options.directories()?;
    {
        let _lock = directories.root.lock()?;
        look(&directories, &mut report)?;
    }
    match compare::compare(options, &mut report) {
        Err(error @ (OpenError::Io(_) | OpenError::Lock(_))) => return Err(error),
        // What keeps it from being opened was found.
        Err(error) if report.severity() != Some(Severity::Damage) => return Err(error),
        _ => {}
    }
    Ok(report)
}

/// Looks at all files, one by one.
pub(super) fn look(directories: &Directories, report: &mut Report) -> Result<(), OpenError> {
    match Identity::read(&*directories.root) {
        Ok(Some(_)) => {}
        Ok(None) => report.find(Severity::Damage, "store", IdentityError::Missing),
        Err(error @ IdentityError::Newer { .. }) => return Err(error.into()),
        Err(error) => report.find(Severity::Damage, "store", error),
    }
    look_at_journal(directories, report)?;
    for name in directories.history.list()? {
        if is_leftover(&name) {
            report.find(Severity::Note, format!("history/{name}"), "it was not finished");
        } else if let Some(number) = file_number(&name) {
            let file = HistoryFile::open(&*directories.history, number)?;
            look_at_history(&file, report);
        }
    }
    look_at_catalogue(directories, report);
    Ok(())
}

fn look_at_journal(directories: &Directories, report: &mut Report) -> Result<(), OpenError> {
    let salt = Identity::read(&*directories.root).ok().flatten().and_then(|identity| identity.salt());
    let findings = journal::check(&*directories.log, salt, known_of_journal(directories)?)?;
    let damages: Vec<journal::Damage> = findings
        .iter()
        .filter_map(|finding| match finding {
            journal::Finding::Damage { damage, .. } => Some(damage.clone()),
            _ => None,
        })
        .collect();
    for finding in findings {
        match finding {
            journal::Finding::Damage { damage, entries } => {
                let severity = if loses(&damage, &damages) { Severity::Damage } else { Severity::Note };
                report.find(severity, "log", &damage);
                for (position, head) in entries {
                    let place = format!("log/{position}, thread={}, offset={}", head.thread, head.first);
                    report.find(severity, place, "an entry that is damaged");
                }
            }
            journal::Finding::TornTail(cut) => {
                let place =
                    format!("log/{}", journal::Position { segment: cut.segment, byte: cut.bytes.start });
                report.find(Severity::Note, place, "a torn tail, which nobody was told of");
            }
            journal::Finding::SidecarMissing { segment } => {
                report.find(Severity::Note, format!("log, segment={segment}"), "its sidecar is missing");
            }
            journal::Finding::SidecarWrong { segment } => {
                report.find(Severity::Derived, format!("log, segment={segment}"), "its sidecar is wrong");
            }
            journal::Finding::Leftover { file } => {
                report.find(Severity::Note, format!("log/{file}"), "it was not finished");
            }
        }
    }
    Ok(())
}

fn look_at_history(file: &HistoryFile, report: &mut Report) {
    let place = format!("history/{}", file.name());
    let index = match file.index() {
        Ok(index) => index,
        Err(error) => return report.find(Severity::Damage, place, error),
    };
    for entry in &index.blocks {
        if let Err(what) = look_at_block(file, entry) {
            let offsets = match entry.kind {
                BlockKind::Records => format!(", offset={}..{}", entry.first, entry.last + 1),
                BlockKind::Facts => String::new(),
            };
            report.find(Severity::Damage, format!("{place}, thread={}{offsets}", entry.thread), what);
        }
    }
}

/// What is wrong with a block, if anything is.
pub(super) fn look_at_block(file: &HistoryFile, entry: &BlockEntry) -> Result<(), String> {
    let block = file.block(entry.site()).map_err(|error| error.to_string())?;
    let head = &block.head;
    let is_it = (head.thread, head.kind, head.count) == (entry.thread, entry.kind, entry.count);
    if !is_it || (entry.kind == BlockKind::Records && head.offsets != (entry.first, entry.last)) {
        return Err("another block is in its place".to_owned());
    }
    let damaged = |error| HistoryError::Block { at: entry.at, error }.to_string();
    match entry.kind {
        BlockKind::Records => {
            for batch in block.batches().map_err(damaged)? {
                batch.records().map_err(|error| error.to_string())?;
            }
        }
        BlockKind::Facts => block.facts().map_err(damaged)?.iter().try_for_each(look_at_fact)?,
    }
    Ok(())
}

fn look_at_fact(entry: &FactEntry) -> Result<(), String> {
    let fact = entry.fact().map_err(|error| error.to_string())?;
    let attached = entry.attached().map_err(|error| error.to_string())?;
    match fact {
        Fact::Checkpointed { run, delta_bytes, .. } if delta_bytes > attached.len() as u64 => {
            Err(format!("a checkpoint is too short. run={}", run.0))
        }
        Fact::Checkpointed { .. } if entry.kind != CHECKPOINT => {
            Err("a checkpoint as another fact".to_owned())
        }
        _ => Ok(()),
    }
}

fn look_at_catalogue(directories: &Directories, report: &mut Report) {
    let Some(path) = directories.path.as_ref().map(|path| path.join(CATALOGUE)) else { return };
    let catalogue = match Catalogue::open(&path) {
        Ok(Some(catalogue)) => catalogue,
        Ok(None) => return report.find(Severity::Note, CATALOGUE, "it is missing or of another version"),
        Err(error) => return report.find(Severity::Derived, CATALOGUE, error),
    };
    match catalogue.check() {
        Ok(findings) => findings.iter().for_each(|what| report.find(Severity::Derived, CATALOGUE, what)),
        Err(error) => report.find(Severity::Derived, CATALOGUE, error),
    }
    // What the store does not open with, but makes anew, would not be there any more when it is compared.
    if let Ok(true) = catalogue.is_marked() {
        report.find(Severity::Derived, CATALOGUE, "something in it was found damaged");
    }
    for error in [catalogue.watermark().err(), catalogue.files().err()].into_iter().flatten() {
        report.find(Severity::Derived, CATALOGUE, error);
    }
    let numbers = catalogue.thread_numbers().unwrap_or_else(|error| {
        report.find(Severity::Derived, CATALOGUE, error);
        Vec::new()
    });
    let mut is_whole = true;
    for no in numbers {
        if let Err(error) = catalogue.thread_by_no(no) {
            is_whole = false;
            report.find(Severity::Derived, format!("{CATALOGUE}, thread={no}"), error);
        }
    }
    if let Some(error) = catalogue.running().err().filter(|_| is_whole) {
        report.find(Severity::Derived, CATALOGUE, error);
    }
}
