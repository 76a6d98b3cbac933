//! The SQLite database and its schema.

use super::damaged::Damaged;
use super::rows::checksum;
use super::sums::Verified;
use crate::history::Mark;
use rusqlite::backup::Backup;
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Of another version it is made anew, whether older or newer.
const SCHEMA_VERSION: i64 = 6;

/// What a decision or a read depends on has a checksum: of threads and runs it is that of all that is there of them, keys are counted and
/// summed up by their thread, what it has in history in `sums`, and runs that go on by `meta`, so that it is noticed when one is missing. Names are looked for twice,
/// because nobody would notice that one is not found.
///
/// The words of a run have its id; those of a thread's name a negative one (see [`name_words`](super::change::name_words)).
const SCHEMA: &str = "
create table meta (one integer primary key check (one = 1), segment integer not null, byte integer not null,
    threads_end integer not null, running integer not null, crc integer not null);
create table threads (no integer primary key, app text not null, user text not null, thread text not null,
    name_crc integer not null, updated integer not null, trimmed integer not null, body blob not null,
    crc integer not null);
create unique index threads_by_name on threads (app, user, thread);
create index threads_by_name_crc on threads (name_crc);
create index threads_by_update on threads (updated);
create index threads_by_owner on threads (app, user, updated);
create table runs (id integer primary key, thread integer not null, no integer not null, running integer not null,
    unfolded integer not null, compacted integer, body blob not null, crc integer not null);
create unique index runs_by_no on runs (thread, no);
create index runs_running on runs (thread) where running = 1;
create index runs_unfolded on runs (thread, no) where unfolded = 1;
create table keys (thread integer not null, run integer not null, key text not null, first integer not null,
    count integer not null, time integer not null, primary key (thread, run, key)) without rowid;
create table files (number integer primary key, place integer not null, sources text not null, replaces text not null,
    crc integer not null);
create table blocks (thread integer not null, kind integer not null, first integer not null, file integer not null,
    at integer not null, bytes integer not null, base integer, base_bytes integer, last integer not null,
    tombstone integer not null, runs text not null, crc integer not null,
    primary key (thread, kind, first, file, at)) without rowid;
create index blocks_by_file on blocks (file);
create table block_runs (file integer not null, thread integer not null, run integer not null, at integer not null,
    first integer not null, primary key (file, thread, run, at)) without rowid;
create table places (thread integer not null, run integer not null, file integer not null, at integer not null,
    opened integer, checkpoint integer, crc integer not null, primary key (thread, run, file, at)) without rowid;
create table sums (thread integer primary key, count integer not null, sum integer not null);
create virtual table words using fts5 (text, content = '', contentless_delete = 1, tokenize = 'ascii', detail = none);
create table unscrubbed (one integer primary key check (one = 1));
create table damaged (one integer primary key check (one = 1));
";

/// What can go wrong with it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CatalogueError {
    #[error("the catalogue cannot be used: {0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("a row of the catalogue is damaged. table={0}")]
    Row(&'static str),
    #[error("the catalogue cannot be made durable while it is read")]
    Busy,
    #[error("the catalogue cannot be removed: {0}")]
    Io(#[from] std::io::Error),
}

/// The catalogue.
#[derive(Debug)]
pub(crate) struct Catalogue {
    path: Option<PathBuf>,
    writer: Mutex<Connection>,
    /// None in memory, where there is one connection for all.
    reader: Option<Mutex<Connection>>,
    pub(super) damaged: Damaged,
    pub(super) verified: Verified,
}

impl Catalogue {
    /// An empty one in memory.
    pub(crate) fn in_memory() -> Result<Self, CatalogueError> {
        let writer = Connection::open_in_memory()?;
        writer.execute_batch(SCHEMA)?;
        Ok(Self::on(None, writer, None))
    }

    /// The one in a file, if it is there, of this version, and whole as far as a glance shows.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, CatalogueError> {
        if !path.exists() {
            return Ok(None);
        }
        let writer = connect(path)?;
        let version: i64 = writer.query_row("pragma user_version", [], |row| row.get(0))?;
        let marked = writer.query_row("select one from meta", [], |row| row.get::<_, i64>(0)).optional();
        if version != SCHEMA_VERSION || !matches!(marked, Ok(Some(_))) {
            return Ok(None);
        }
        let reader = connect(path)?;
        Ok(Some(Self::on(Some(path), writer, Some(reader))))
    }

    /// A new one in a file, in place of what is there.
    pub(crate) fn create(path: &Path) -> Result<Self, CatalogueError> {
        Self::remove(path)?;
        let writer = connect(path)?;
        writer.execute_batch(SCHEMA)?;
        writer.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        let reader = connect(path)?;
        Ok(Self::on(Some(path), writer, Some(reader)))
    }

    fn on(path: Option<&Path>, writer: Connection, reader: Option<Connection>) -> Self {
        let (path, reader) = (path.map(Path::to_owned), reader.map(Mutex::new));
        Self {
            path,
            writer: Mutex::new(writer),
            reader,
            damaged: Damaged::default(),
            verified: Verified::default(),
        }
    }

    /// Removes the files of a catalogue, if there are any.
    pub(crate) fn remove(path: &Path) -> std::io::Result<()> {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            match std::fs::remove_file(name) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Puts an empty one in place of this one.
    pub(crate) fn clear(&mut self) -> Result<(), CatalogueError> {
        let Some(path) = self.path.clone() else {
            *self = Self::in_memory()?;
            return Ok(());
        };
        // The files are removed while nothing has them open.
        *self = Self::in_memory()?;
        *self = Self::create(&path)?;
        Ok(())
    }

    pub(super) fn writer(&self) -> MutexGuard<'_, Connection> {
        // A transaction that a panic interrupts is rolled back.
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn reader(&self) -> MutexGuard<'_, Connection> {
        self.reader
            .as_ref()
            .map_or_else(|| self.writer(), |one| one.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Up to where the journal has been taken in, and the end of the threads' numbers. None of a new one.
    pub(crate) fn watermark(&self) -> Result<Option<(Mark, u64)>, CatalogueError> {
        let reader = self.reader();
        Ok(meta(&reader)?.map(|meta| (meta.watermark, meta.threads_end)))
    }

    /// Makes all that was committed durable, and cuts the database's log.
    pub(crate) fn sync(&self) -> Result<(), CatalogueError> {
        self.cut_log(&self.writer())
    }

    fn cut_log(&self, writer: &Connection) -> Result<(), CatalogueError> {
        if self.path.is_some() && writer.query_row("pragma wal_checkpoint(truncate)", [], |row| row.get(0))? {
            // A reader was in the way for longer than the timeout. This is told by a row, not by an error.
            return Err(CatalogueError::Busy);
        }
        Ok(())
    }

    /// Removes what is left in the file of threads that were deleted. The index of words marks what is deleted, and has it until it
    /// is merged; the log of the database has pages as they were.
    pub(crate) fn scrub(&self) -> Result<(), CatalogueError> {
        let mut writer = self.writer();
        let transaction = writer.transaction()?;
        if transaction.execute("delete from unscrubbed", [])? == 0 {
            return Ok(());
        }
        transaction.execute("insert into words (words) values ('optimize')", [])?;
        transaction.commit()?;
        self.cut_log(&writer)
    }

    /// A copy in memory, for who must not change it.
    pub(crate) fn in_memory_copy(&self) -> Result<Self, CatalogueError> {
        let mut copy = Connection::open_in_memory()?;
        // All pages at once.
        Backup::new(&self.reader(), &mut copy)?.step(-1)?;
        Ok(Self::on(None, copy, None))
    }

    /// Copies it, as it is between two transactions.
    #[cfg(test)]
    pub(crate) fn copy(&self, to: &Path) -> Result<(), CatalogueError> {
        self.writer().execute("vacuum into ?1", [to.to_str()])?;
        Ok(())
    }

    /// Reads all of it and says what is wrong.
    pub(crate) fn check(&self) -> Result<Vec<String>, CatalogueError> {
        let reader = self.reader();
        let mut statement = reader.prepare("pragma integrity_check")?;
        let said = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
        Ok(said.into_iter().filter(|line| line != "ok").collect())
    }
}

/// What it says about itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meta {
    /// Up to where the journal is contained.
    pub(super) watermark: Mark,
    pub(super) threads_end: u64,
    /// How many runs go on.
    pub(super) running: u64,
}

impl Meta {
    pub(super) fn put(self, transaction: &Transaction<'_>) -> Result<(), CatalogueError> {
        let Mark { segment, byte } = self.watermark;
        transaction.execute(
            "insert or replace into meta (one, segment, byte, threads_end, running, crc) values (1, ?1, ?2, ?3, ?4, ?5)",
            params![segment, byte, self.threads_end, self.running, self.crc()],
        )?;
        Ok(())
    }

    fn crc(self) -> u32 {
        let Mark { segment, byte } = self.watermark;
        checksum(&[segment, byte.into(), self.threads_end, self.running], b"")
    }
}

/// None of a new one.
pub(super) fn meta(connection: &Connection) -> Result<Option<Meta>, CatalogueError> {
    let found =
        connection.query_row("select segment, byte, threads_end, running, crc from meta", [], |row| {
            let watermark = Mark { segment: row.get(0)?, byte: row.get(1)? };
            Ok((Meta { watermark, threads_end: row.get(2)?, running: row.get(3)? }, row.get(4)?))
        });
    match found.optional()? {
        Some((meta, crc)) if meta.crc() != crc => Err(CatalogueError::Row("meta")),
        found => Ok(found.map(|(meta, _): (_, u32)| meta)),
    }
}

fn connect(path: &Path) -> Result<Connection, CatalogueError> {
    let connection = Connection::open(path)?;
    // Derived data: a crash may roll back the last transactions, and the watermark with them.
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "normal")?;
    // What is deleted is to be gone.
    connection.pragma_update(None, "secure_delete", "on")?;
    connection.busy_timeout(std::time::Duration::from_secs(10))?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}
