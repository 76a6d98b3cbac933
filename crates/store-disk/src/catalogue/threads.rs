//! Threads that the catalogue knows.

use super::rows::{decode_run, decode_thread};
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
        let reader = self.reader();
        let reader = reader.unchecked_transaction()?;
        let no = reader
            .prepare_cached("select no from threads where app = ?1 and user = ?2 and thread = ?3")?
            .query_row(params![key.scope.app.as_str(), key.scope.user.as_str(), key.thread.as_str()], |row| {
                row.get(0)
            })
            .optional()?;
        let found = no.map_or(Ok(None), |no| load(&reader, no))?;
        if found.as_ref().is_some_and(|found| found.key != *key) {
            return Err(CatalogueError::Row("threads"));
        }
        Ok(found)
    }

    /// The thread of this number.
    pub(crate) fn thread_by_no(&self, no: u64) -> Result<Option<StoredThread>, CatalogueError> {
        load(&self.reader().unchecked_transaction()?, no)
    }

    /// The threads that have runs which go on. There may be many, so that they are not asked for one by one.
    pub(crate) fn running(&self) -> Result<Vec<StoredThread>, CatalogueError> {
        let reader = self.reader();
        let mut statement = reader.prepare_cached(
            "select no, body, crc from threads where no in (select thread from runs where running = 1)",
        )?;
        let mut infos: BTreeMap<u64, ThreadInfo> = BTreeMap::new();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (body, crc): (Vec<u8>, u32) = (row.get(1)?, row.get(2)?);
            infos.insert(row.get(0)?, decode_thread(&body, crc)?);
        }
        let mut runs: HashMap<u64, (Vec<RunInfo>, Compacted)> = HashMap::new();
        let mut statement = reader.prepare_cached(
            "select thread, body, crc, compacted from runs
             where thread in (select thread from runs where running = 1) order by thread, no",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (all, compacted) = runs.entry(row.get(0)?).or_default();
            take_run(all, compacted, &row.get::<_, Vec<u8>>(1)?, row.get(2)?, row.get(3)?)?;
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
            stored(no, info, runs.remove(&no).unwrap_or_default(), keys.remove(&no).unwrap_or_default())
        });
        stored.collect()
    }

    /// The numbers of all threads.
    pub(crate) fn thread_numbers(&self) -> Result<Vec<u64>, CatalogueError> {
        let reader = self.reader();
        let mut statement = reader.prepare_cached("select no from threads order by no")?;
        Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
    }
}

pub(super) fn info(connection: &Connection, no: u64) -> Result<Option<ThreadInfo>, CatalogueError> {
    let row: Option<(Vec<u8>, u32)> = connection
        .prepare_cached("select body, crc from threads where no = ?1")?
        .query_row([no], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    row.map(|(body, crc)| decode_thread(&body, crc)).transpose()
}

/// Within a transaction: what changes between two of its queries would look like damage.
fn load(connection: &Transaction<'_>, no: u64) -> Result<Option<StoredThread>, CatalogueError> {
    let Some(info) = info(connection, no)? else { return Ok(None) };
    stored(no, info, load_runs(connection, no)?, load_keys(connection, no)?).map(Some)
}

fn stored(
    no: u64,
    info: ThreadInfo,
    (runs, compacted): (Vec<RunInfo>, Compacted),
    keys: Keys,
) -> Result<StoredThread, CatalogueError> {
    if runs.len() != info.runs as usize {
        return Err(CatalogueError::Row("runs"));
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
        take_run(&mut runs, &mut compacted, &row.get::<_, Vec<u8>>(0)?, row.get(1)?, row.get(2)?)?;
    }
    Ok((runs, compacted))
}

fn take_run(
    runs: &mut Vec<RunInfo>,
    compacted: &mut Compacted,
    body: &[u8],
    crc: u32,
    tail: Option<u64>,
) -> Result<(), CatalogueError> {
    let run = decode_run(body, crc)?;
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
