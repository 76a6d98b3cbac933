//! fjall: a log-structured merge tree.

use super::committer::{Engine, Entry, Reader, Stored, key};
use super::subject::Durability;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use std::io;
use std::path::Path;

/// The same for all peers.
pub(super) const CACHE_BYTES: u64 = 256 << 20;

/// One keyspace of batches.
pub(super) struct Fjall {
    database: Database,
    batches: Keyspace,
    mode: PersistMode,
}

impl Engine for Fjall {
    type Reader = FjallReader;

    fn open(dir: &Path, durability: Durability) -> io::Result<(Self, FjallReader)> {
        let database = Database::builder(dir).cache_size(CACHE_BYTES).open().map_err(io::Error::other)?;
        let batches =
            database.keyspace("batches", KeyspaceCreateOptions::default).map_err(io::Error::other)?;
        let mode = match durability {
            Durability::Durable => PersistMode::SyncData,
            Durability::Buffered => PersistMode::Buffer,
        };
        let reader = FjallReader(batches.clone());
        Ok((Self { database, batches, mode }, reader))
    }

    fn commit(&mut self, group: &[Entry]) -> io::Result<()> {
        let mut batch = self.database.batch().durability(Some(self.mode));
        for entry in group {
            batch.insert(&self.batches, entry.key(), entry.value.as_slice());
        }
        batch.commit().map_err(io::Error::other)
    }
}

/// Reads the same keyspace.
pub(super) struct FjallReader(Keyspace);

impl Reader for FjallReader {
    fn settle(&self) -> io::Result<()> {
        self.0.rotate_memtable_and_wait().map_err(io::Error::other)?;
        self.0.major_compact().map_err(io::Error::other)
    }

    fn batches(&self, thread: u32, offset: u64, each: &mut dyn FnMut(Stored<'_>) -> bool) -> io::Result<()> {
        for guard in self.0.range(key(thread, offset)..=key(thread, u64::MAX)) {
            let (key, value) = guard.into_inner().map_err(io::Error::other)?;
            if !each(Stored { last: last(&key)?, value: &value }) {
                break;
            }
        }
        Ok(())
    }

    fn tail(&self, thread: u32) -> io::Result<u64> {
        let Some(guard) = self.0.range(key(thread, 0)..=key(thread, u64::MAX)).next_back() else {
            return Ok(0);
        };
        Ok(last(&guard.key().map_err(io::Error::other)?)? + 1)
    }
}

fn last(key: &[u8]) -> io::Result<u64> {
    let (_, last) = key.split_last_chunk().ok_or(io::ErrorKind::InvalidData)?;
    Ok(u64::from_be_bytes(*last))
}
