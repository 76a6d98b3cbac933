//! redb: a B-tree that is copied on write.

use super::committer::{Engine, Entry};
use super::fjall::CACHE_BYTES;
use super::subject::Durability;
use redb::{Database, TableDefinition};
use std::io;
use std::path::Path;

const BATCHES: TableDefinition<'_, &[u8; 12], &[u8]> = TableDefinition::new("batches");

/// One table of batches.
pub(super) struct Redb {
    database: Database,
    durability: redb::Durability,
}

impl Engine for Redb {
    type Reader = ();

    fn open(dir: &Path, durability: Durability) -> io::Result<(Self, ())> {
        let cache = usize::try_from(CACHE_BYTES).map_err(io::Error::other)?;
        let file = dir.join("batches.redb");
        let database = Database::builder().set_cache_size(cache).create(file).map_err(io::Error::other)?;
        let durability = match durability {
            Durability::Durable => redb::Durability::Immediate,
            Durability::Buffered => redb::Durability::None,
        };
        Ok((Self { database, durability }, ()))
    }

    fn commit(&mut self, group: &[Entry]) -> io::Result<()> {
        let mut transaction = self.database.begin_write().map_err(io::Error::other)?;
        transaction.set_durability(self.durability).map_err(io::Error::other)?;
        let mut batches = transaction.open_table(BATCHES).map_err(io::Error::other)?;
        for entry in group {
            batches.insert(&entry.key(), entry.value.as_slice()).map_err(io::Error::other)?;
        }
        drop(batches);
        transaction.commit().map_err(io::Error::other)
    }
}
