//! What a power cut may leave of a catalogue: it is as it was between two of its transactions, none of them older than what was made durable last.

use crate::catalogue::Catalogue;
use crate::open::CATALOGUE;
use rusqlite::Connection;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;
use tempfile::TempDir;

/// Copies of a catalogue that is written to.
pub(super) struct Past {
    copies: TempDir,
    database: Connection,
    /// Changes whenever somebody else has committed something.
    version: i64,
    last: usize,
    durable: usize,
}

impl Past {
    /// That of a store which is open.
    pub(super) fn new(dir: &Path) -> Self {
        let database = Connection::open(dir.join(CATALOGUE)).unwrap();
        let mut past = Self { copies: TempDir::new().unwrap(), database, version: 0, last: 0, durable: 0 };
        past.look();
        past
    }

    /// Copies it, if it has changed. Gives the copies of which a power cut might leave one.
    pub(super) fn look(&mut self) -> RangeInclusive<usize> {
        // Its log is cut when all that is in it is durable.
        let log = format!("{}-wal", self.database.path().unwrap());
        let is_durable = fs::metadata(log).is_ok_and(|log| log.len() == 0);
        let version: i64 = self.database.query_row("pragma data_version", [], |row| row.get(0)).unwrap();
        if self.version != version {
            (self.version, self.last) = (version, self.last + 1);
            let copy = self.copies.path().join(self.last.to_string());
            self.database.execute("vacuum into ?1", [copy.to_str()]).unwrap();
        }
        if is_durable {
            self.durable = self.last;
        }
        self.durable..=self.last
    }

    /// Puts a copy where a catalogue was.
    pub(super) fn restore(&self, copy: usize, dir: &Path) {
        let catalogue = dir.join(CATALOGUE);
        Catalogue::remove(&catalogue).unwrap();
        fs::copy(self.copies.path().join(copy.to_string()), catalogue).unwrap();
    }
}
