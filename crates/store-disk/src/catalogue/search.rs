//! Lists of threads and of runs, and what scopes keep.

use super::rows::decode_thread;
use super::threads::info;
use super::{Catalogue, CatalogueError};
use rusqlite::{Connection, Row, params};
use std::collections::BTreeSet;
use threadline_log::search;
use threadline_log::thread::{ThreadInfo, ThreadOrder, ThreadQuery, Usage};
use threadline_log::{RunNo, Scope, ThreadKey};

/// What a list was made of, and what it leaves out.
#[derive(Debug)]
struct Found<T> {
    found: Vec<T>,
    /// Rows that are damaged: whose they seem to be, for who reads it.
    damaged: Vec<String>,
}

impl Catalogue {
    /// Threads, in the order that is asked for. Those whose rows are damaged are left out, and noted.
    pub(crate) fn list(&self, query: &ThreadQuery) -> Result<Vec<ThreadInfo>, CatalogueError> {
        let words: Vec<String> = query.words.iter().flat_map(|words| search::words(words)).collect();
        let found = match words.is_empty() {
            true => walk(&self.reader(), query),
            false => find(&self.reader(), query, &words),
        };
        self.noting_rows(found)
    }

    /// What a scope keeps, as far as that can be told.
    pub(crate) fn usage(&self, scope: &Scope) -> Result<Usage, CatalogueError> {
        let found = count(&self.reader(), scope);
        self.noting_rows(found).map(Usage::of)
    }

    /// Runs that have ended and have no checkpoint. Those of threads whose rows are damaged are left out, and noted.
    pub(crate) fn unfolded(&self) -> Result<Vec<(ThreadKey, RunNo)>, CatalogueError> {
        let found = unfolded(&self.reader());
        self.noting_rows(found)
    }

    fn noting_rows<T>(&self, found: Result<Found<T>, CatalogueError>) -> Result<Vec<T>, CatalogueError> {
        let Found { found, damaged } = self.noting(|| "in a list".to_owned(), found)?;
        damaged.into_iter().for_each(|row| self.note_damaged(row));
        Ok(found)
    }
}

impl<T> Found<T> {
    const fn nothing() -> Self {
        Self { found: Vec::new(), damaged: Vec::new() }
    }

    /// What is damaged is left out, so that all else can be seen.
    fn take(
        &mut self,
        row: Result<T, CatalogueError>,
        whose: impl FnOnce() -> String,
    ) -> Result<Option<T>, CatalogueError> {
        match row {
            Err(error) if error.is_damage() => {
                self.damaged.push(format!("{error}, {}", whose()));
                Ok(None)
            }
            row => row.map(Some),
        }
    }
}

/// A thread as its row says (`no`, `app`, `user`, `thread`, `updated`, `body`, `crc`), which is in a list because of the columns.
fn listed(row: &Row<'_>) -> Result<ThreadInfo, CatalogueError> {
    let (info, _) = decode_thread(row.get(0)?, &row.get::<_, Vec<u8>>(5)?, row.get(6)?)?;
    let scope = &info.key.scope;
    let names = [scope.app.as_str(), scope.user.as_str(), info.key.thread.as_str()];
    for (column, name) in (1..).zip(names) {
        if row.get_ref(column)?.as_bytes().ok() != Some(name.as_bytes()) {
            return Err(CatalogueError::Row("threads"));
        }
    }
    match row.get::<_, i64>(4)? == info.updated.0 {
        true => Ok(info),
        false => Err(CatalogueError::Row("threads")),
    }
}

/// Whose a damaged row seems to be.
fn whose(row: &Row<'_>) -> String {
    let text = |column| row.get::<_, String>(column).unwrap_or_else(|_| "?".to_owned());
    let number = row.get::<_, i64>(0).unwrap_or(-1);
    format!("thread={}/{}/{}, number={number}", text(1), text(2), text(3))
}

fn count(connection: &Connection, scope: &Scope) -> Result<Found<u64>, CatalogueError> {
    let mut statement = connection.prepare_cached(
        "select no, app, user, thread, updated, body, crc from threads where app = ?1 and user = ?2",
    )?;
    let mut rows = statement.query(params![scope.app.as_str(), scope.user.as_str()])?;
    let mut found = Found::nothing();
    while let Some(row) = rows.next()? {
        let bytes = found.take(listed(row).map(|info| info.bytes), || whose(row))?;
        found.found.extend(bytes);
    }
    Ok(found)
}

fn unfolded(connection: &Connection) -> Result<Found<(ThreadKey, RunNo)>, CatalogueError> {
    let mut statement = connection.prepare_cached(
        "select t.no, t.app, t.user, t.thread, t.updated, t.body, t.crc, r.no from runs r join threads t on t.no = r.thread
         where r.unfolded = 1 order by r.thread, r.no",
    )?;
    let mut rows = statement.query([])?;
    let mut found = Found::nothing();
    while let Some(row) = rows.next()? {
        let run = listed(row).and_then(|info| Ok((info.key, RunNo(row.get(7)?))));
        let run = found.take(run, || whose(row))?;
        found.found.extend(run);
    }
    Ok(found)
}

/// Goes through threads in order until there are enough.
fn walk(connection: &Connection, query: &ThreadQuery) -> Result<Found<ThreadInfo>, CatalogueError> {
    let scope = query.scope.as_ref().map(|scope| (scope.app.as_str(), scope.user.as_str()));
    let mut statement = connection.prepare_cached(match (query.order, scope) {
        (ThreadOrder::Updated, Some(_)) => {
            "select no, app, user, thread, updated, body, crc from threads where updated <= ?1 and app = ?2 and user = ?3
             order by updated desc, thread"
        }
        (ThreadOrder::Updated, None) => {
            "select no, app, user, thread, updated, body, crc from threads where updated <= ?1
             order by updated desc, app, user, thread"
        }
        (ThreadOrder::Name, Some(_)) => {
            "select no, app, user, thread, updated, body, crc from threads where app = ?1 and user = ?2 and thread >= ?3
             order by thread"
        }
        (ThreadOrder::Name, None) => {
            "select no, app, user, thread, updated, body, crc from threads where (app, user, thread) >= (?1, ?2, ?3)
             order by app, user, thread"
        }
    })?;
    // Where an index can begin; what is not behind the place is passed over below.
    let updated = query.after.as_ref().map_or(i64::MAX, |after| after.updated.0);
    let after = query.after.as_ref().map(|after| &after.key);
    let mut rows = match (query.order, scope) {
        (ThreadOrder::Updated, Some((app, user))) => statement.query(params![updated, app, user])?,
        (ThreadOrder::Updated, None) => statement.query(params![updated])?,
        (ThreadOrder::Name, Some((app, user))) => {
            let after = after.filter(|after| query.scope.as_ref() == Some(&after.scope));
            statement.query(params![app, user, after.map_or("", |after| after.thread.as_str())])?
        }
        (ThreadOrder::Name, None) => {
            let after = after
                .map(|after| (after.scope.app.as_str(), after.scope.user.as_str(), after.thread.as_str()));
            let (app, user, thread) = after.unwrap_or_default();
            statement.query(params![app, user, thread])?
        }
    };
    let mut found = Found::nothing();
    while found.found.len() < query.limit
        && let Some(row) = rows.next()?
    {
        let info = found.take(listed(row), || whose(row))?;
        found.found.extend(info.filter(|info| query.accepts(info)));
    }
    Ok(found)
}

/// Finds the threads that have all words.
fn find(
    connection: &Connection,
    query: &ThreadQuery,
    words: &[String],
) -> Result<Found<ThreadInfo>, CatalogueError> {
    let mut matching: Option<BTreeSet<u64>> = None;
    for word in words {
        let mut statement = connection.prepare_cached(
            "select thread from runs where id in (select rowid from words where words match ?1)
             union select -1 - rowid from words where words match ?1 and rowid < 0",
        )?;
        let having = statement
            .query_map([format!("\"{word}\"")], |row| row.get(0))?
            .collect::<Result<BTreeSet<u64>, _>>()?;
        matching = Some(matching.map_or_else(|| having.clone(), |before| &before & &having));
    }
    let mut found = Found::nothing();
    for no in matching.into_iter().flatten() {
        let row =
            info(connection, no).map(|row| row.map(|(info, _)| info).filter(|info| query.accepts(info)));
        let Some(row) = row.transpose() else { continue };
        let info = found.take(row, || format!("number={no}"))?;
        found.found.extend(info);
    }
    found.found.sort_by(|one, other| query.order.compare(one, other));
    found.found.truncate(query.limit);
    Ok(found)
}
