//! Threads that the catalogue knows.

use super::rows::{self, RunRow, ThreadRow};
use super::{Catalogue, CatalogueError};
use crate::kept::Compacted;
use rusqlite::{Connection, OptionalExtension, params};
use threadline_log::run::RunInfo;
use threadline_log::state::ThreadState;
use threadline_log::store::Ack;
use threadline_log::thread::ThreadInfo;
use threadline_log::{AppendKey, RunNo, ThreadKey, Timestamp};

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
        load(&self.reader(), no)
    }

    /// The numbers of the threads that have runs which go on.
    pub(crate) fn running(&self) -> Result<Vec<u64>, CatalogueError> {
        let reader = self.reader();
        let mut statement = reader.prepare_cached("select distinct thread from runs where running = 1")?;
        Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
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
    row.map(|(body, crc)| rows::decode::<ThreadRow>("threads", &body, crc).map(ThreadRow::into_info))
        .transpose()
}

fn load(connection: &Connection, no: u64) -> Result<Option<StoredThread>, CatalogueError> {
    let Some(info) = info(connection, no)? else { return Ok(None) };
    let (runs, compacted) = load_runs(connection, no)?;
    if runs.len() != info.runs as usize {
        return Err(CatalogueError::Row("runs"));
    }
    let keys = load_keys(connection, no)?;
    let state = ThreadState::restore(&info, runs, keys);
    Ok(Some(StoredThread { no, key: info.key, state, compacted }))
}

fn load_runs(connection: &Connection, no: u64) -> Result<(Vec<RunInfo>, Compacted), CatalogueError> {
    let mut statement =
        connection.prepare_cached("select body, crc, compacted from runs where thread = ?1 order by no")?;
    let mut found = statement.query([no])?;
    let (mut runs, mut compacted) = (Vec::new(), Compacted::new());
    while let Some(row) = found.next()? {
        let (body, crc): (Vec<u8>, u32) = (row.get(0)?, row.get(1)?);
        let run = rows::decode::<RunRow>("runs", &body, crc)?.into_info();
        compacted.extend(row.get::<_, Option<u64>>(2)?.map(|tail| (run.no, tail)));
        runs.push(run);
    }
    Ok((runs, compacted))
}

fn load_keys(connection: &Connection, no: u64) -> Result<Vec<(RunNo, AppendKey, Ack)>, CatalogueError> {
    let mut statement =
        connection.prepare_cached("select run, key, first, count, time from keys where thread = ?1")?;
    let mut found = statement.query([no])?;
    let mut keys = Vec::new();
    while let Some(row) = found.next()? {
        let key = AppendKey::new(row.get::<_, String>(1)?).ok().ok_or(CatalogueError::Row("keys"))?;
        let ack =
            Ack { first: row.get(2)?, count: row.get(3)?, time: Timestamp(row.get(4)?), repeated: false };
        keys.push((RunNo(row.get(0)?), key, ack));
    }
    Ok(keys)
}
