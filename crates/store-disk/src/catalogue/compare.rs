//! Whether two catalogues say the same.

use super::{Catalogue, CatalogueError};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A table, as it is read from beginning to end.
#[derive(Debug)]
struct Table {
    name: &'static str,
    /// Its rows, in the order of the columns that come first.
    query: &'static str,
    /// How many columns that are.
    ordered: usize,
    /// The column that has a thread's number, if one has.
    thread: Option<usize>,
}

/// All tables but that of words, and `meta`, which says how much of the journal is contained.
const TABLES: [Table; 8] = [
    Table {
        name: "threads",
        query: "select no, app, user, thread, name_crc, updated, trimmed, body, crc from threads order by no",
        ordered: 1,
        thread: Some(0),
    },
    Table {
        name: "runs",
        query: "select thread, no, running, unfolded, compacted, body, crc from runs order by thread, no",
        ordered: 2,
        thread: Some(0),
    },
    Table {
        name: "keys",
        query: "select thread, run, key, first, count, time from keys order by thread, run, key",
        ordered: 3,
        thread: Some(0),
    },
    Table {
        name: "files",
        query: "select number, place, sources, replaces, crc from files order by number",
        ordered: 1,
        thread: None,
    },
    Table {
        name: "blocks",
        query:
            "select thread, kind, first, file, at, bytes, base, base_bytes, last, tombstone, runs, crc from blocks
                order by thread, kind, first, file, at",
        ordered: 5,
        thread: Some(0),
    },
    Table {
        name: "sums",
        query: "select thread, count, sum from sums order by thread",
        ordered: 1,
        thread: Some(0),
    },
    Table {
        name: "block_runs",
        query: "select file, thread, run, at, first from block_runs order by file, thread, run, at",
        ordered: 4,
        thread: Some(1),
    },
    Table {
        name: "places",
        query: "select thread, run, file, at, opened, checkpoint, crc from places order by thread, run, file, at",
        ordered: 4,
        thread: Some(0),
    },
];

/// Where two catalogues differ: the number of the thread, if it is about one, and the table.
pub(crate) type Differences = BTreeSet<(Option<u64>, &'static str)>;

impl Catalogue {
    /// Reads all of both, side by side. Only what differs takes memory, and a number for each thread that has words.
    pub(crate) fn differences(&self, other: &Self) -> Result<Differences, CatalogueError> {
        let (reader, other) = (self.reader(), other.reader());
        let mut differences = Differences::new();
        for table in &TABLES {
            compare(table, &reader, &other, &mut differences)?;
        }
        let (words, others) = (sums_of_words(&reader)?, sums_of_words(&other)?);
        for thread in words.keys().chain(others.keys()) {
            if words.get(thread) != others.get(thread) {
                differences.insert((*thread, "words"));
            }
        }
        Ok(differences)
    }
}

fn compare(
    table: &Table,
    one: &Connection,
    other: &Connection,
    differences: &mut Differences,
) -> Result<(), CatalogueError> {
    let (mut one, mut other) = (one.prepare(table.query)?, other.prepare(table.query)?);
    let columns = one.column_count();
    let (mut ones, mut others) = (one.query([])?, other.query([])?);
    let (mut left, mut right) = (ones.next()?, others.next()?);
    loop {
        let order = match (left, right) {
            (None, None) => return Ok(()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(left), Some(right)) => order(left, right, 0..table.ordered)?,
        };
        let is_same = match (left, right) {
            (Some(left), Some(right)) if order.is_eq() => {
                self::order(left, right, table.ordered..columns)?.is_eq()
            }
            _ => false,
        };
        let first = if order.is_gt() { right } else { left };
        if let Some(row) = first.filter(|_| !is_same) {
            // What is no number there is of no thread.
            let thread = table.thread.and_then(|column| row.get(column).ok());
            differences.insert((thread, table.name));
        }
        if order.is_le() {
            left = ones.next()?;
        }
        if order.is_ge() {
            right = others.next()?;
        }
    }
}

fn order(
    left: &Row<'_>,
    right: &Row<'_>,
    columns: std::ops::Range<usize>,
) -> Result<Ordering, CatalogueError> {
    for column in columns {
        let order = order_of_values(left.get_ref(column)?, right.get_ref(column)?);
        if order.is_ne() {
            return Ok(order);
        }
    }
    Ok(Ordering::Equal)
}

/// As SQLite has them in order: by type, and then by value.
fn order_of_values(left: ValueRef<'_>, right: ValueRef<'_>) -> Ordering {
    let rank = |value| match value {
        ValueRef::Null => 0,
        ValueRef::Integer(_) | ValueRef::Real(_) => 1,
        ValueRef::Text(_) => 2,
        ValueRef::Blob(_) => 3,
    };
    match (left, right) {
        (ValueRef::Integer(left), ValueRef::Integer(right)) => left.cmp(&right),
        (ValueRef::Real(left), ValueRef::Real(right)) => left.total_cmp(&right),
        // No number here has a fraction: only that they differ counts.
        (ValueRef::Integer(_), ValueRef::Real(_)) => Ordering::Less,
        (ValueRef::Real(_), ValueRef::Integer(_)) => Ordering::Greater,
        (ValueRef::Text(left), ValueRef::Text(right)) | (ValueRef::Blob(left), ValueRef::Blob(right)) => {
            left.cmp(right)
        }
        _ => rank(left).cmp(&rank(right)),
    }
}

/// A number for all the words of each thread, in whatever order they are found. Words of a run that is not there are of no thread.
fn sums_of_words(connection: &Connection) -> Result<BTreeMap<Option<u64>, u64>, CatalogueError> {
    connection.execute_batch(
        "create virtual table if not exists temp.said using fts5vocab('main', 'words', 'instance')",
    )?;
    // Those of a thread's name have a negative number.
    let mut statement = connection.prepare(
        "select iif(s.doc < 0, -1 - s.doc, r.thread), r.no, s.term from temp.said s left join runs r on r.id = s.doc",
    )?;
    let mut rows = statement.query([])?;
    let mut sums: BTreeMap<Option<u64>, u64> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let run: Option<u32> = row.get(1)?;
        let mut hasher = DefaultHasher::new();
        (run, row.get_ref(2)?.as_bytes().unwrap_or_default()).hash(&mut hasher);
        let sum = sums.entry(row.get(0)?).or_default();
        *sum = sum.wrapping_add(hasher.finish());
    }
    Ok(sums)
}
