//! Damage that is come across while the catalogue is used.
//!
//! It is told, and the catalogue marked by who has the store open: when that is opened the next time all of it is made anew.

use super::{Catalogue, CatalogueError};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many are named.
const NAMED_MAX: usize = 100;

/// What was found damaged since the catalogue was opened.
#[derive(Debug, Default)]
pub(super) struct Damaged {
    named: Mutex<BTreeSet<String>>,
    is_marked: AtomicBool,
}

impl Damaged {
    fn named(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CatalogueError {
    /// Whether something there is not what was written.
    pub(crate) fn is_damage(&self) -> bool {
        use rusqlite::Error::{
            FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, SqlInputError,
            SqliteFailure, Utf8Error,
        };
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        match self {
            // What is asked is always the same: if a table or a column is not there, it had another name.
            Self::Row(_) | Self::Sqlite(SqlInputError { .. }) => true,
            Self::Sqlite(SqliteFailure(failure, _)) => {
                matches!(failure.code, DatabaseCorrupt | NotADatabase)
            }
            Self::Sqlite(error) => matches!(
                error,
                InvalidColumnType(..)
                    | IntegralValueOutOfRange(..)
                    | FromSqlConversionFailure(..)
                    | Utf8Error(..)
            ),
            Self::Io(_) | Self::Busy => false,
        }
    }
}

impl Catalogue {
    /// Notes what was found damaged on the way to an answer.
    pub(super) fn noting<T>(
        &self,
        about: impl FnOnce() -> String,
        found: Result<T, CatalogueError>,
    ) -> Result<T, CatalogueError> {
        if let Err(error) = &found
            && error.is_damage()
        {
            self.note_damaged(format!("{error}, {}", about()));
        }
        found
    }

    /// Notes that something is damaged.
    pub(super) fn note_damaged(&self, what: String) {
        let mut named = self.damaged.named();
        if named.len() < NAMED_MAX {
            named.insert(what);
        }
    }

    /// Marks it, if something in it was found damaged.
    pub(crate) fn mark(&self) {
        if self.damaged.named().is_empty() || self.damaged.is_marked.load(Ordering::Acquire) {
            return;
        }
        // If it cannot be marked, what is damaged is come across again.
        let marked = self.writer().execute("insert or ignore into damaged (one) values (1)", []);
        self.damaged.is_marked.store(marked.is_ok(), Ordering::Release);
    }

    /// What was found damaged.
    pub(crate) fn damages(&self) -> Vec<String> {
        self.damaged.named().iter().cloned().collect()
    }

    /// Whether something in it was found damaged since it was made.
    pub(crate) fn is_marked(&self) -> Result<bool, CatalogueError> {
        let reader = self.reader();
        Ok(reader.query_row("select exists (select 1 from damaged)", [], |row| row.get(0))?)
    }
}
