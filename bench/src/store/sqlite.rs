//! SQLite in the layout that appends best: rows in the order they come, and a small index.

use super::committer::{Engine, Entry, Reader, Stored};
use super::fjall::CACHE_BYTES;
use super::subject::Durability;
use rusqlite::{Connection, params};
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS batch (
        id INTEGER PRIMARY KEY,
        thread INTEGER NOT NULL,
        last INTEGER NOT NULL,
        value BLOB NOT NULL
    );
    CREATE UNIQUE INDEX IF NOT EXISTS batch_by_thread ON batch (thread, last);
";

/// One table of batches.
pub(super) struct Sqlite(Connection);

fn connect(dir: &Path, durability: Durability) -> rusqlite::Result<Connection> {
    let connection = Connection::open(dir.join("batches.sqlite"))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let synchronous = match durability {
        Durability::Durable => "FULL",
        Durability::Buffered => "OFF",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    let cache_kib = i64::try_from(CACHE_BYTES >> 10).expect("it is small");
    connection.pragma_update(None, "cache_size", -cache_kib)?;
    Ok(connection)
}

impl Engine for Sqlite {
    type Reader = SqliteReader;

    fn open(dir: &Path, durability: Durability) -> io::Result<(Self, SqliteReader)> {
        let connection = connect(dir, durability).map_err(io::Error::other)?;
        connection.execute_batch(SCHEMA).map_err(io::Error::other)?;
        let reader = connect(dir, durability).map_err(io::Error::other)?;
        Ok((Self(connection), SqliteReader(Mutex::new(reader))))
    }

    fn commit(&mut self, group: &[Entry]) -> io::Result<()> {
        insert(&mut self.0, group).map_err(io::Error::other)
    }
}

fn insert(connection: &mut Connection, group: &[Entry]) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    let mut insert =
        transaction.prepare_cached("INSERT INTO batch (thread, last, value) VALUES (?1, ?2, ?3)")?;
    for Entry { thread, last, value } in group {
        insert.execute(params![thread, last.cast_signed(), value])?;
    }
    drop(insert);
    transaction.commit()
}

/// Reads with a connection of its own.
pub(super) struct SqliteReader(Mutex<Connection>);

impl SqliteReader {
    fn with<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> io::Result<T> {
        work(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).map_err(io::Error::other)
    }
}

impl Reader for SqliteReader {
    fn settle(&self) -> io::Result<()> {
        self.with(|connection| connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())))
    }

    fn batches(&self, thread: u32, offset: u64, each: &mut dyn FnMut(Stored<'_>) -> bool) -> io::Result<()> {
        self.with(|connection| {
            let mut select = connection.prepare_cached(
                "SELECT last, value FROM batch WHERE thread = ?1 AND last >= ?2 ORDER BY last",
            )?;
            let mut rows = select.query(params![thread, offset.cast_signed()])?;
            while let Some(row) = rows.next()? {
                let last: i64 = row.get(0)?;
                let value = row.get_ref(1)?.as_blob()?;
                if !each(Stored { last: last.cast_unsigned(), value }) {
                    break;
                }
            }
            Ok(())
        })
    }

    fn tail(&self, thread: u32) -> io::Result<u64> {
        self.with(|connection| {
            let mut select =
                connection.prepare_cached("SELECT max(last) + 1 FROM batch WHERE thread = ?1")?;
            let tail: Option<i64> = select.query_row(params![thread], |row| row.get(0))?;
            Ok(tail.unwrap_or_default().cast_unsigned())
        })
    }
}
