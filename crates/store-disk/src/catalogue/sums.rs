//! How many blocks and places of facts a thread has in history, and the sum of their checksums.
//!
//! A row that is not found would not be missed: offsets are dense, but within what was compacted nobody knows which of them are left. So
//! they are added up before a thread's history is first read, and again after files have come and gone.

use super::files::checksums;
use super::{Catalogue, CatalogueError};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many threads are known to be right at once.
const VERIFIED_MAX: usize = 100_000;

/// By thread, how many rows there are more and what their checksums add. What goes is added as less than nothing: both wrap.
#[derive(Debug, Default)]
pub(super) struct Sums(BTreeMap<u64, (i64, u32)>);

impl Sums {
    pub(super) fn add(&mut self, thread: u64, crc: u32) {
        let (count, sum) = self.0.entry(thread).or_default();
        (*count, *sum) = (*count + 1, sum.wrapping_add(crc));
    }

    pub(super) fn take_off(&mut self, thread: u64, crc: u32) {
        let (count, sum) = self.0.entry(thread).or_default();
        (*count, *sum) = (*count - 1, sum.wrapping_sub(crc));
    }

    pub(super) fn put(self, transaction: &Transaction<'_>) -> Result<(), CatalogueError> {
        for (thread, (count, sum)) in self.0 {
            transaction
                .prepare_cached(
                    "insert into sums (thread, count, sum) values (?1, ?2, ?3) on conflict (thread) do update
                     set count = count + excluded.count, sum = (sum + excluded.sum) & 0xffffffff",
                )?
                .execute(params![thread, count, sum])?;
        }
        transaction.execute("delete from sums where count = 0", [])?;
        Ok(())
    }
}

/// The threads whose rows were added up since files have last come or gone.
#[derive(Debug, Default)]
pub(super) struct Verified(Mutex<HashSet<u64>>);

impl Verified {
    fn threads(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn clear(&self) {
        self.threads().clear();
    }
}

impl Catalogue {
    /// An error if a row about the thread's history is missing.
    pub(super) fn verify(&self, reader: &Connection, thread: u64) -> Result<(), CatalogueError> {
        if self.verified.threads().contains(&thread) {
            return Ok(());
        }
        let transaction = reader.unchecked_transaction()?;
        let known = transaction
            .prepare_cached("select count, sum from sums where thread = ?1")?
            .query_row([thread], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?
            .unwrap_or_default();
        // Each is looked at: one with another kind or offset would not be found by those.
        let found = checksums(&transaction, thread)?;
        let sum = found.iter().fold(0_u32, |sum, crc| sum.wrapping_add(*crc));
        if (found.len() as u64, sum) != known {
            return Err(CatalogueError::Row("sums"));
        }
        let mut verified = self.verified.threads();
        if verified.len() >= VERIFIED_MAX {
            verified.clear();
        }
        verified.insert(thread);
        Ok(())
    }
}
