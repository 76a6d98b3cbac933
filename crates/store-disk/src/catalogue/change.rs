//! What the catalogue is told.

use super::connection::Meta;
use super::rows::{KeysSum, encode_run, encode_thread, name_crc};
use super::{Catalogue, CatalogueError};
use crate::history::Mark;
use rusqlite::{OptionalExtension, Transaction, params};
use std::collections::BTreeSet;
use threadline_log::run::RunInfo;
use threadline_log::store::Ack;
use threadline_log::thread::ThreadInfo;
use threadline_log::{AppendKey, RunNo};

/// Everything that became durable since the last time.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) threads: Vec<ThreadChange>,
    /// Up to where the journal is contained in them.
    pub(crate) watermark: Mark,
    pub(crate) threads_end: u64,
}

/// What has changed about a thread.
#[derive(Debug)]
pub(crate) struct ThreadChange {
    pub(crate) no: u64,
    /// None if it was deleted.
    pub(crate) info: Option<ThreadInfo>,
    /// Runs, and the tail when each was compacted.
    pub(crate) runs: Vec<(RunInfo, Option<u64>)>,
    pub(crate) keys: Vec<(RunNo, AppendKey, Ack)>,
    /// All keys that it then has.
    pub(crate) keys_sum: KeysSum,
    /// The runs whose keys are kept, if some may have been forgotten.
    pub(crate) keyed_runs: Option<BTreeSet<RunNo>>,
    /// The words of its name, or of a run.
    pub(crate) words: Vec<(Option<RunNo>, BTreeSet<String>)>,
}

/// The id of the words of a thread's name.
pub(super) fn name_words(thread: u64) -> i64 {
    -1 - thread.cast_signed()
}

impl Catalogue {
    /// Takes in changes and their watermark, all or nothing.
    pub(crate) fn apply(&self, changes: &Changes) -> Result<(), CatalogueError> {
        let mut writer = self.writer();
        let transaction = writer.transaction()?;
        // Names that become free may be taken in the same step.
        let (gone, there): (Vec<_>, Vec<_>) =
            changes.threads.iter().partition(|change| change.info.is_none());
        for change in gone {
            forget(&transaction, change.no)?;
        }
        for change in there {
            put(&transaction, change)?;
        }
        let Changes { watermark, threads_end, .. } = *changes;
        let running = transaction
            .prepare_cached("select count(*) from runs where running = 1")?
            .query_row([], |row| row.get(0))?;
        Meta { watermark, threads_end, running }.put(&transaction)?;
        Ok(transaction.commit()?)
    }
}

/// Its blocks stay listed until the files that hold them are rewritten.
fn forget(transaction: &Transaction<'_>, no: u64) -> Result<(), CatalogueError> {
    for statement in [
        "delete from words where rowid in (select id from runs where thread = ?1)",
        "delete from words where rowid = -1 - ?1",
        "delete from keys where thread = ?1",
        "delete from runs where thread = ?1",
        "delete from threads where no = ?1",
    ] {
        transaction.prepare_cached(statement)?.execute([no])?;
    }
    transaction.execute("insert or ignore into unscrubbed (one) values (1)", [])?;
    Ok(())
}

fn put(transaction: &Transaction<'_>, change: &ThreadChange) -> Result<(), CatalogueError> {
    let Some(info) = &change.info else { return Ok(()) };
    if !put_thread(transaction, change.no, info, change.keys_sum)? {
        return Ok(());
    }
    for (run, compacted) in &change.runs {
        let (body, crc) = encode_run(change.no, run, *compacted);
        transaction
            .prepare_cached(
                "insert into runs (thread, no, running, unfolded, compacted, body, crc) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                 on conflict (thread, no) do update set running = excluded.running, unfolded = excluded.unfolded,
                     compacted = excluded.compacted, body = excluded.body, crc = excluded.crc",
            )?
            .execute(params![
                change.no,
                run.no.0,
                run.is_running(),
                run.is_unfolded(),
                compacted,
                body,
                crc
            ])?;
    }
    for (run, key, ack) in &change.keys {
        transaction
            .prepare_cached(
                "insert or replace into keys (thread, run, key, first, count, time) values (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![change.no, run.0, key.as_str(), ack.first, ack.count, ack.time.0])?;
    }
    if let Some(kept) = &change.keyed_runs {
        forget_keys(transaction, change.no, kept)?;
    }
    for (run, words) in &change.words {
        put_words(transaction, change.no, *run, words)?;
    }
    Ok(())
}

/// A name is that of the last thread that was made under it: the others were deleted before, even if that is lost. False if it is
/// another's.
fn put_thread(
    transaction: &Transaction<'_>,
    no: u64,
    info: &ThreadInfo,
    keys: KeysSum,
) -> Result<bool, CatalogueError> {
    match insert_thread(transaction, no, info, keys) {
        Err(rusqlite::Error::SqliteFailure(failure, _))
            if failure.code == rusqlite::ErrorCode::ConstraintViolation => {}
        inserted => return Ok(inserted.map(|()| true)?),
    }
    let (scope, thread) = (&info.key.scope, &info.key.thread);
    let other: u64 = transaction
        .prepare_cached("select no from threads where app = ?1 and user = ?2 and thread = ?3")?
        .query_row(params![scope.app.as_str(), scope.user.as_str(), thread.as_str()], |row| row.get(0))?;
    if other > no {
        return Ok(false);
    }
    forget(transaction, other)?;
    insert_thread(transaction, no, info, keys)?;
    Ok(true)
}

fn insert_thread(
    transaction: &Transaction<'_>,
    no: u64,
    info: &ThreadInfo,
    keys: KeysSum,
) -> rusqlite::Result<()> {
    let (body, crc) = encode_thread(no, info, keys);
    let (scope, thread) = (&info.key.scope, &info.key.thread);
    transaction
        .prepare_cached(
            "insert into threads (no, app, user, thread, name_crc, updated, trimmed, body, crc)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) on conflict (no) do update
             set updated = excluded.updated, trimmed = excluded.trimmed, body = excluded.body, crc = excluded.crc",
        )?
        .execute(params![
            no,
            scope.app.as_str(),
            scope.user.as_str(),
            thread.as_str(),
            name_crc(&info.key),
            info.updated.0,
            info.offsets.start,
            body,
            crc
        ])?;
    Ok(())
}

fn forget_keys(
    transaction: &Transaction<'_>,
    thread: u64,
    kept: &BTreeSet<RunNo>,
) -> Result<(), CatalogueError> {
    let mut statement = transaction.prepare_cached("select distinct run from keys where thread = ?1")?;
    let runs: Vec<u32> = statement.query_map([thread], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for run in runs.into_iter().filter(|run| !kept.contains(&RunNo(*run))) {
        transaction
            .prepare_cached("delete from keys where thread = ?1 and run = ?2")?
            .execute(params![thread, run])?;
    }
    Ok(())
}

fn put_words(
    transaction: &Transaction<'_>,
    thread: u64,
    run: Option<RunNo>,
    words: &BTreeSet<String>,
) -> Result<(), CatalogueError> {
    let id = match run {
        None => name_words(thread),
        Some(run) => {
            let id = transaction
                .prepare_cached("select id from runs where thread = ?1 and no = ?2")?
                .query_row(params![thread, run.0], |row| row.get(0))
                .optional()?;
            // What damage has left of a run that nobody knows is not searched for, and nothing else depends on it.
            let Some(id) = id else { return Ok(()) };
            id
        }
    };
    transaction.prepare_cached("delete from words where rowid = ?1")?.execute([id])?;
    if !words.is_empty() {
        let text = words.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        transaction
            .prepare_cached("insert into words (rowid, text) values (?1, ?2)")?
            .execute(params![id, text])?;
    }
    Ok(())
}
