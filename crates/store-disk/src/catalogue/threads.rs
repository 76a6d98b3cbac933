//! Threads that the catalogue knows.

use super::connection::meta;
use super::rows::{KeysSum, decode_run, decode_thread, name_crc};
use super::{Catalogue, CatalogueError};
use crate::kept::Compacted;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use std::collections::{BTreeMap, HashMap};
use threadline_log::run::RunInfo;
use threadline_log::state::ThreadState;
use threadline_log::store::Ack;
use threadline_log::thread::ThreadInfo;
use threadline_log::{AppendKey, RunNo, ThreadKey, Timestamp};

type Keys = Vec<(RunNo, AppendKey, Ack)>;

/// A thread that the catalogue knows.
#[derive(Debug)]
pub(crate) struct StoredThread {
    pub(crate) no: u64,
    pub(crate) key: ThreadKey,
    pub(crate) state: ThreadState,
    pub(crate) compacted: Compacted,
}

impl Catalogue {
    /// The thread of this name.
    pub(crate) fn thread_by_name(&self, key: &ThreadKey) -> Result<Option<StoredThread>, CatalogueError> {
        let found = named(&self.reader(), key);
        self.noting(|| format!("thread={key}"), found)
    }

    /// The thread of this number.
    pub(crate) fn thread_by_no(&self, no: u64) -> Result<Option<StoredThread>, CatalogueError> {
        let found = numbered(&self.reader(), no);
        self.noting(|| format!("number={no}"), found)
    }

    /// The threads that have runs which go on. There may be many, so that they are not asked for one by one.
    pub(crate) fn running(&self) -> Result<Vec<StoredThread>, CatalogueError> {
        let reader = self.reader();
        let mut statement = reader.prepare_cached(
            "select no, body, crc from threads where no in (select thread from runs where running = 1)",
        )?;
        let mut infos: BTreeMap<u64, (ThreadInfo, KeysSum)> = BTreeMap::new();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (no, body): (u64, Vec<u8>) = (row.get(0)?, row.get(1)?);
            infos.insert(no, decode_thread(no, &body, row.get(2)?)?);
        }
        let mut runs: HashMap<u64, (Vec<RunInfo>, Compacted)> = HashMap::new();
        let mut statement = reader.prepare_cached(
            "select thread, body, crc, compacted from runs
             where thread in (select thread from runs where running = 1) order by thread, no",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let no = row.get(0)?;
            let (all, compacted) = runs.entry(no).or_default();
            take_run(no, all, compacted, &row.get::<_, Vec<u8>>(1)?, row.get(2)?, row.get(3)?)?;
        }
        let mut keys: HashMap<u64, Keys> = HashMap::new();
        let mut statement = reader.prepare_cached(
            "select run, key, first, count, time, thread from keys
             where thread in (select thread from runs where running = 1)",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            keys.entry(row.get(5)?).or_default().push(key_of(row)?);
        }
        let stored = infos.into_iter().map(|(no, info)| {
            self::stored(no, info, runs.remove(&no).unwrap_or_default(), keys.remove(&no).unwrap_or_default())
        });
        let stored: Vec<StoredThread> = stored.collect::<Result<_, _>>()?;
        let running = stored.iter().flat_map(|thread| thread.state.runs()).filter(|run| run.is_running());
        match meta(&reader)? {
            // One that is not found would go on for ever.
            Some(meta) if meta.running != running.count() as u64 => Err(CatalogueError::Row("runs")),
            _ => Ok(stored),
        }
    }

    /// The numbers of all threads.
    pub(crate) fn thread_numbers(&self) -> Result<Vec<u64>, CatalogueError> {
        let reader = self.reader();
        let mut statement = reader.prepare_cached("select no from threads order by no")?;
        Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
    }

    /// Whether there are runs of threads that are not there: those of a thread go with it when it is deleted.
    pub(crate) fn has_stray_runs(&self) -> Result<bool, CatalogueError> {
        let query = "select exists (select 1 from runs where thread not in (select no from threads))";
        Ok(self.reader().query_row(query, [], |row| row.get(0))?)
    }
}

fn named(connection: &Connection, key: &ThreadKey) -> Result<Option<StoredThread>, CatalogueError> {
    let connection = connection.unchecked_transaction()?;
    let no = connection
        .prepare_cached("select no from threads where app = ?1 and user = ?2 and thread = ?3")?
        .query_row(params![key.scope.app.as_str(), key.scope.user.as_str(), key.thread.as_str()], |row| {
            row.get(0)
        })
        .optional()?;
    let Some(no) = no else { return not_there(&connection, key).map(|()| None) };
    let found = load(&connection, no)?.filter(|found| found.key == *key);
    found.map(Some).ok_or(CatalogueError::Row("threads"))
}

fn numbered(connection: &Connection, no: u64) -> Result<Option<StoredThread>, CatalogueError> {
    load(&connection.unchecked_transaction()?, no)
}

/// An error if a thread of this name is there, though it was not found by it.
fn not_there(connection: &Connection, key: &ThreadKey) -> Result<(), CatalogueError> {
    let mut statement = connection.prepare_cached("select no from threads where name_crc = ?1")?;
    let numbers: Vec<u64> =
        statement.query_map([name_crc(key)], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for no in numbers {
        if info(connection, no)?.is_none_or(|(info, _)| info.key == *key) {
            return Err(CatalogueError::Row("threads"));
        }
    }
    Ok(())
}

pub(super) fn info(
    connection: &Connection,
    no: u64,
) -> Result<Option<(ThreadInfo, KeysSum)>, CatalogueError> {
    let row: Option<(Vec<u8>, u32)> = connection
        .prepare_cached("select body, crc from threads where no = ?1")?
        .query_row([no], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    row.map(|(body, crc)| decode_thread(no, &body, crc)).transpose()
}

/// Within a transaction: what changes between two of its queries would look like damage.
fn load(connection: &Transaction<'_>, no: u64) -> Result<Option<StoredThread>, CatalogueError> {
    let Some(info) = info(connection, no)? else { return Ok(None) };
    stored(no, info, load_runs(connection, no)?, load_keys(connection, no)?).map(Some)
}

fn stored(
    no: u64,
    (info, keys_sum): (ThreadInfo, KeysSum),
    (runs, compacted): (Vec<RunInfo>, Compacted),
    keys: Keys,
) -> Result<StoredThread, CatalogueError> {
    let are_in_order = runs.iter().enumerate().all(|(place, run)| run.no.index() == place);
    if runs.len() != info.runs as usize || !are_in_order {
        return Err(CatalogueError::Row("runs"));
    }
    if KeysSum::of(keys.iter().map(|(run, key, ack)| (*run, key, ack))) != keys_sum {
        return Err(CatalogueError::Row("keys"));
    }
    let state = ThreadState::restore(&info, runs, keys);
    Ok(StoredThread { no, key: info.key, state, compacted })
}

fn load_runs(connection: &Connection, no: u64) -> Result<(Vec<RunInfo>, Compacted), CatalogueError> {
    let mut statement =
        connection.prepare_cached("select body, crc, compacted from runs where thread = ?1 order by no")?;
    let mut found = statement.query([no])?;
    let (mut runs, mut compacted) = (Vec::new(), Compacted::new());
    while let Some(row) = found.next()? {
        take_run(no, &mut runs, &mut compacted, &row.get::<_, Vec<u8>>(0)?, row.get(1)?, row.get(2)?)?;
    }
    Ok((runs, compacted))
}

fn take_run(
    thread: u64,
    runs: &mut Vec<RunInfo>,
    compacted: &mut Compacted,
    body: &[u8],
    crc: u32,
    tail: Option<u64>,
) -> Result<(), CatalogueError> {
    let run = decode_run(thread, body, crc, tail)?;
    compacted.extend(tail.map(|tail| (run.no, tail)));
    runs.push(run);
    Ok(())
}

fn load_keys(connection: &Connection, no: u64) -> Result<Keys, CatalogueError> {
    let mut statement =
        connection.prepare_cached("select run, key, first, count, time from keys where thread = ?1")?;
    let mut found = statement.query([no])?;
    let mut keys = Keys::new();
    while let Some(row) = found.next()? {
        keys.push(key_of(row)?);
    }
    Ok(keys)
}

fn key_of(row: &Row<'_>) -> Result<(RunNo, AppendKey, Ack), CatalogueError> {
    let key = AppendKey::new(row.get::<_, String>(1)?).ok().ok_or(CatalogueError::Row("keys"))?;
    let ack = Ack { first: row.get(2)?, count: row.get(3)?, time: Timestamp(row.get(4)?), repeated: false };
    Ok((RunNo(row.get(0)?), key, ack))
}
