//! Lists of threads, and what scopes keep.

use super::rows::decode_thread;
use super::threads::info;
use super::{Catalogue, CatalogueError};
use rusqlite::{Connection, params};
use std::collections::BTreeSet;
use threadline_log::Scope;
use threadline_log::search;
use threadline_log::thread::{ThreadInfo, ThreadOrder, ThreadQuery, Usage};

impl Catalogue {
    /// Threads, in the order that is asked for.
    pub(crate) fn list(&self, query: &ThreadQuery) -> Result<Vec<ThreadInfo>, CatalogueError> {
        let words: Vec<String> = query.words.iter().flat_map(|words| search::words(words)).collect();
        let reader = self.reader();
        if words.is_empty() { walk(&reader, query) } else { find(&reader, query, &words) }
    }

    /// What a scope keeps.
    pub(crate) fn usage(&self, scope: &Scope) -> Result<Usage, CatalogueError> {
        let reader = self.reader();
        let mut statement =
            reader.prepare_cached("select body, crc from threads where app = ?1 and user = ?2")?;
        let mut rows = statement.query(params![scope.app.as_str(), scope.user.as_str()])?;
        let mut bytes = Vec::new();
        while let Some(row) = rows.next()? {
            bytes.push(decode_thread(&row.get::<_, Vec<u8>>(0)?, row.get(1)?)?.bytes);
        }
        Ok(Usage::of(bytes))
    }
}

/// Goes through threads in order until there are enough.
fn walk(connection: &Connection, query: &ThreadQuery) -> Result<Vec<ThreadInfo>, CatalogueError> {
    let scope = query.scope.as_ref().map(|scope| (scope.app.as_str(), scope.user.as_str()));
    let mut statement = connection.prepare_cached(match (query.order, scope) {
        (ThreadOrder::Updated, Some(_)) => {
            "select body, crc from threads where updated <= ?1 and app = ?2 and user = ?3 order by updated desc, thread"
        }
        (ThreadOrder::Updated, None) => {
            "select body, crc from threads where updated <= ?1 order by updated desc, app, user, thread"
        }
        (ThreadOrder::Name, Some(_)) => {
            "select body, crc from threads where app = ?1 and user = ?2 and thread >= ?3 order by thread"
        }
        (ThreadOrder::Name, None) => {
            "select body, crc from threads where (app, user, thread) >= (?1, ?2, ?3) order by app, user, thread"
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
    let mut found = Vec::new();
    while found.len() < query.limit
        && let Some(row) = rows.next()?
    {
        let (body, crc): (Vec<u8>, u32) = (row.get(0)?, row.get(1)?);
        let info = decode_thread(&body, crc)?;
        if query.accepts(&info) {
            found.push(info);
        }
    }
    Ok(found)
}

/// Finds the threads that have all words.
fn find(
    connection: &Connection,
    query: &ThreadQuery,
    words: &[String],
) -> Result<Vec<ThreadInfo>, CatalogueError> {
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
    let mut found = Vec::new();
    for no in matching.into_iter().flatten() {
        found.extend(info(connection, no)?.filter(|info| query.accepts(info)));
    }
    found.sort_by(|one, other| query.order.compare(one, other));
    found.truncate(query.limit);
    Ok(found)
}
