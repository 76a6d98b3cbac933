//! Lists of threads.

use crate::names::{Key, escaped, scope};
use crate::read::{thread_columns, thread_info};
use crate::store::PostgresStore;
use crate::write::label_pair;
use std::collections::BTreeSet;
use threadline_log::thread::{ThreadInfo, ThreadOrder, ThreadQuery};
use threadline_log::{Error, search};
use tokio_postgres::types::ToSql;

/// Only of one scope, or the parameters are used all the same.
macro_rules! of_scope {
    () => {
        "t.app = $1 AND t.owner = $2"
    };
}
macro_rules! of_all {
    () => {
        "$1::text IS NULL AND $2::text IS NULL"
    };
}

/// One word is looked up for all threads, the rest only for those that have it.
macro_rules! with_words {
    () => {
        " AND t.id IN (SELECT c.thread FROM checkpoint AS c WHERE c.words @> ($11::text[])[1:1] \
            UNION SELECT n.id FROM thread AS n WHERE n.words @> ($11::text[])[1:1]) \
          AND NOT EXISTS (SELECT FROM unnest($11::text[]) AS w (word) WHERE NOT (t.words @> ARRAY[w.word] \
            OR EXISTS (SELECT FROM checkpoint AS c WHERE c.thread = t.id AND c.words @> ARRAY[w.word])))"
    };
}
macro_rules! without_words {
    () => {
        " AND $11::text[] = '{}'"
    };
}

macro_rules! fitting {
    () => {
        " AND ($3::boolean IS NULL OR t.archived = $3) AND ($4::text IS NULL OR t.agent = $4) AND t.labels @> $5"
    };
}

macro_rules! filter {
    ($updated:literal) => {
        concat!(
            fitting!(),
            " AND ",
            $updated,
            // What an index can begin at.
            " <= coalesce($6, 9223372036854775807) AND ($6::bigint IS NULL OR ",
            $updated,
            " < $6 OR (",
            $updated,
            " = $6 AND (t.app, t.owner, t.name) > ($7, $8, $9)))"
        )
    };
}

/// Threads with a run that goes on are few, and are sorted; the others are found in the order of when they were updated.
macro_rules! list {
    ($of:ident, $words:ident) => {
        concat!(
            "SELECT ",
            thread_columns!(),
            " FROM ((SELECT t.* FROM thread AS t JOIN head AS h ON h.thread = t.id WHERE t.idle_since IS NULL AND ",
            $of!(),
            filter!("h.updated"),
            $words!(),
            ") UNION ALL (SELECT * FROM thread AS t WHERE t.idle_since IS NOT NULL AND ",
            $of!(),
            filter!("t.idle_since"),
            $words!(),
            " ORDER BY t.idle_since DESC, t.app, t.owner, t.name LIMIT $10)) AS t JOIN head AS h ON h.thread = t.id \
             LEFT JOIN run AS r ON r.thread = t.id AND r.no = t.runs - 1 \
             ORDER BY h.updated DESC, t.app, t.owner, t.name LIMIT $10"
        )
    };
}

/// Names stay as they are, whatever goes on in a thread.
macro_rules! list_by_name {
    ($of:ident, $words:ident) => {
        concat!(
            "SELECT ",
            thread_columns!(),
            " FROM (SELECT * FROM thread AS t WHERE ",
            $of!(),
            fitting!(),
            // What an index can begin at.
            " AND (t.app, t.owner, t.name) >= (coalesce($7, ''), coalesce($8, ''), coalesce($9, '')) \
              AND ($6::bigint IS NULL OR (t.app, t.owner, t.name) > ($7, $8, $9))",
            $words!(),
            " ORDER BY t.app, t.owner, t.name LIMIT $10) AS t JOIN head AS h ON h.thread = t.id \
             LEFT JOIN run AS r ON r.thread = t.id AND r.no = t.runs - 1 \
             ORDER BY t.app, t.owner, t.name"
        )
    };
}

const OF_SCOPE: &str = list!(of_scope, without_words);
const OF_SCOPE_WITH_WORDS: &str = list!(of_scope, with_words);
const OF_ALL: &str = list!(of_all, without_words);
const OF_ALL_WITH_WORDS: &str = list!(of_all, with_words);
const OF_SCOPE_BY_NAME: &str = list_by_name!(of_scope, without_words);
const OF_SCOPE_WITH_WORDS_BY_NAME: &str = list_by_name!(of_scope, with_words);
const OF_ALL_BY_NAME: &str = list_by_name!(of_all, without_words);
const OF_ALL_WITH_WORDS_BY_NAME: &str = list_by_name!(of_all, with_words);

impl PostgresStore {
    pub(crate) async fn list(&self, query: &ThreadQuery) -> Result<Vec<ThreadInfo>, Error> {
        // What is sought may be far. Whoever takes what comes first has it soon, and need not wait for who seeks.
        let ThreadQuery { archived, agent, labels, words, .. } = query;
        let seeks = archived.is_some() || agent.is_some() || !labels.is_empty() || words.is_some();
        let lane = if seeks { self.slow_lane().await? } else { self.reading_lane().await? };
        let of = query.scope.as_ref().map(scope);
        let (app, owner) = (of.as_ref().map(|(app, _)| &**app), of.as_ref().map(|(_, owner)| &**owner));
        let agent = agent.as_deref().map(escaped);
        let labels: Vec<String> = labels.iter().map(|(label, value)| label_pair(label, value)).collect();
        let after = query.after.as_ref().map(|after| Key::of(&after.key));
        let updated = query.after.as_ref().map(|after| after.updated.0);
        let after_app = after.as_ref().map(|key| &*key.app);
        let after_owner = after.as_ref().map(|key| &*key.owner);
        let after_name = after.as_ref().map(|key| &*key.name);
        let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
        let words: BTreeSet<String> = words.iter().flat_map(|words| search::words(words)).collect();
        let words: Vec<String> = words.into_iter().collect();
        let sql = match (query.order, query.scope.is_some(), words.is_empty()) {
            (ThreadOrder::Updated, true, true) => OF_SCOPE,
            (ThreadOrder::Updated, true, false) => OF_SCOPE_WITH_WORDS,
            (ThreadOrder::Updated, false, true) => OF_ALL,
            (ThreadOrder::Updated, false, false) => OF_ALL_WITH_WORDS,
            (ThreadOrder::Name, true, true) => OF_SCOPE_BY_NAME,
            (ThreadOrder::Name, true, false) => OF_SCOPE_WITH_WORDS_BY_NAME,
            (ThreadOrder::Name, false, true) => OF_ALL_BY_NAME,
            (ThreadOrder::Name, false, false) => OF_ALL_WITH_WORDS_BY_NAME,
        };
        let parameters: &[&(dyn ToSql + Sync)] = &[
            &app,
            &owner,
            archived,
            &agent,
            &labels,
            &updated,
            &after_app,
            &after_owner,
            &after_name,
            &limit,
            &words,
        ];
        let rows = self.health.while_there(lane.query(sql, parameters)).await?;
        rows.iter().map(thread_info).collect()
    }
}
