//! Threads of which something is left, but not that they were made: nobody could ask for them.

use super::remembered::name_in_history;
use super::report::{Report, Severity};
use crate::catalogue::{Catalogue, CatalogueError, StoredThread};
use crate::engine::Engine;
use crate::entry::{Attached, FactEntry, encode_fact};
use crate::history::{HistoryWriter, Index};
use crate::journal;
use crate::open::{CATALOGUE, DiskOptions, OpenError, open_knowing};
use crate::restated::restated;
use crate::seal::FactBlocks;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use threadline_log::fact::Fact;
use threadline_log::names::Owner;
use threadline_log::{Incarnation, Scope, ThreadId, ThreadKey, Timestamp};

/// The application and the user of threads whose own are lost.
const LOST: &str = "lost";

/// Comes before all segments, whose numbers begin at 1: what is stated there is true from the beginning.
const FIRST: u64 = 0;

/// Makes it known again that threads were made: as the catalogue knew them, or else under names that say where they come from.
pub(super) fn name_anew(
    options: &DiskOptions,
    journal: journal::Known,
    report: &mut Report,
) -> Result<(), OpenError> {
    // What the log alone says. The catalogue is derived, and may still know what is lost.
    let (options, path) = options.without_catalogue()?;
    let (engine, _) = open_knowing(&options, journal)?;
    let orphans = orphans(&engine)?;
    if orphans.is_empty() {
        return Ok(());
    }
    let old = path.and_then(|path| Catalogue::open(&path.join(CATALOGUE)).ok().flatten());
    let threads_end = engine.core.overlay().threads_end;
    let number = engine.shelf.take_number();
    let index = Index { number, order: FIRST, threads_end, ..Index::default() };
    let mut writer = HistoryWriter::new(Arc::clone(engine.shelf.disk()), index)?;
    let mut taken = BTreeSet::new();
    for no in orphans {
        let remembered = old.as_ref().and_then(|old| old.thread_by_no(no).ok().flatten());
        let (key, facts) = named(&engine, no, remembered, &taken, options.time)?;
        let mut blocks = FactBlocks::new(no);
        for fact in &facts {
            blocks.push(&mut writer, fact)?;
        }
        blocks.end(&mut writer)?;
        let what = "it was lost that this thread was made; what is left of it has this name now";
        report.find(Severity::Damage, format!("thread={key}, number={no}"), what);
        taken.insert(key);
    }
    writer.finish()?;
    Ok(())
}

/// Whose threads are that nobody knows the names of.
pub(super) fn lost_scope() -> io::Result<Scope> {
    let owner = Owner::new(LOST).map_err(|error| unusual(&error))?;
    Ok(Scope { app: owner.clone(), user: owner })
}

fn unusual(error: &threadline_log::Error) -> io::Error {
    io::Error::other(error.to_string())
}

/// The numbers of threads that have data and are not known.
fn orphans(engine: &Engine) -> Result<BTreeSet<u64>, OpenError> {
    engine.flush()?;
    let mut orphans: BTreeSet<u64> = engine.catalogue.unknown_threads()?.into_iter().collect();
    let overlay = engine.core.overlay();
    orphans.retain(|no| !overlay.has(*no) && !overlay.unsealed.is_deleted(*no));
    let unsealed = overlay.unknown_threads();
    drop(overlay);
    // It is known that those were made, and that their names were given to others since.
    let mut nameless = BTreeSet::new();
    for no in orphans {
        if name_in_history(engine, no)?.is_none() {
            nameless.insert(no);
        }
    }
    for no in unsealed {
        if engine.catalogue.thread_by_no(no)?.is_none() && !engine.catalogue.has_tombstone(no)? {
            nameless.insert(no);
        }
    }
    Ok(nameless)
}

/// The name of a thread, and the facts that it is known by.
fn named(
    engine: &Engine,
    no: u64,
    remembered: Option<StoredThread>,
    taken: &BTreeSet<ThreadKey>,
    time: Timestamp,
) -> Result<(ThreadKey, Vec<FactEntry>), OpenError> {
    let is_free = |key: &ThreadKey| -> Result<bool, CatalogueError> {
        Ok(!taken.contains(key) && engine.catalogue.thread_by_name(key)?.is_none())
    };
    if let Some(stored) = remembered
        && is_free(&stored.key)?
    {
        let facts = restated(&stored.state, &stored.compacted);
        return Ok((stored.key, facts));
    }
    let scope = lost_scope()?;
    let mut name = format!("thread-{no}");
    let key = loop {
        let key =
            ThreadKey::new(scope.clone(), ThreadId::new(name.as_str()).map_err(|error| unusual(&error))?);
        if is_free(&key)? {
            break key;
        }
        name.push('x');
    };
    let mut incarnation = [0; 8];
    getrandom::fill(&mut incarnation).map_err(io::Error::other)?;
    let created =
        Fact::Created { key: key.clone(), incarnation: Incarnation(u64::from_le_bytes(incarnation)) };
    Ok((key, vec![encode_fact(time, 0, &created, &Attached::default())]))
}
