//! History files and what is where in them.

use super::rows::checksum;
use super::sums::Sums;
use super::{Catalogue, CatalogueError};
use crate::entry::{CHECKPOINT, OPENED};
use crate::history::{BlockEntry, BlockKind, Extent, Index, Place, Site};
use rusqlite::{Connection, Row, Transaction, params};
use std::collections::BTreeMap;
use std::ops::Range;
use threadline_log::RunNo;

/// A history file that the catalogue knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileRow {
    pub(crate) number: u64,
    /// The segments whose place it takes.
    pub(crate) sources: Vec<u64>,
    /// The history files whose place it takes.
    pub(crate) replaces: Vec<u64>,
}

/// Where a block of records is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockPlace {
    pub(crate) file: u64,
    pub(crate) site: Site,
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) runs: Vec<u32>,
}

/// Where a fact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FactPlace {
    pub(crate) file: u64,
    pub(crate) extent: Extent,
    pub(crate) item: u32,
}

/// The columns of a row about a file that its checksum is of.
fn file_crc(number: u64, place: u64, sources: &str, replaces: &str) -> u32 {
    checksum(&[number, place], format!("{sources};{replaces}").as_bytes())
}

/// A row about a block.
#[derive(Debug)]
struct BlockRow {
    thread: u64,
    kind: u8,
    file: u64,
    site: Site,
    first: u64,
    last: u64,
    tombstone: bool,
    runs: String,
}

impl BlockRow {
    /// The checksum of all of it.
    fn crc(&self) -> u32 {
        let Self { thread, kind, file, site: Site { extent, base }, first, last, tombstone, runs } = self;
        let Extent { at, bytes } = base.unwrap_or(Extent { at: 0, bytes: 0 });
        let numbers = [*thread, (*kind).into(), *first, *file, extent.at, extent.bytes];
        let others = [base.is_some().into(), at, bytes, *last, (*tombstone).into()];
        checksum(&others, &checksum(&numbers, runs.as_bytes()).to_le_bytes())
    }

    /// From a row with all columns, in the order of the table, but `last` and what follows behind the base.
    fn of(row: &Row<'_>) -> Result<Self, CatalogueError> {
        let extent = Extent { at: row.get(4)?, bytes: row.get(5)? };
        let base: (Option<u64>, Option<u64>) = (row.get(6)?, row.get(7)?);
        let base = base.0.zip(base.1).map(|(at, bytes)| Extent { at, bytes });
        let found = Self {
            thread: row.get(0)?,
            kind: row.get(1)?,
            first: row.get(2)?,
            file: row.get(3)?,
            site: Site { extent, base },
            last: row.get(8)?,
            tombstone: row.get(9)?,
            runs: row.get(10)?,
        };
        if found.crc() == row.get::<_, u32>(11)? { Ok(found) } else { Err(CatalogueError::Row("blocks")) }
    }
}

/// The columns of a row about a place that its checksum is of.
fn place_crc([thread, run, file, at]: [u64; 4], opened: Option<u32>, checkpoint: Option<u32>) -> u32 {
    let item = |item: Option<u32>| item.map_or(0, |item| u64::from(item) + 1);
    checksum(&[thread, run, file, at, item(opened), item(checkpoint)], b"")
}

fn list(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
}

fn unlist<T: std::str::FromStr>(text: &str) -> Result<Vec<T>, CatalogueError> {
    let numbers = text.split_whitespace().map(|number| number.parse().ok());
    numbers.collect::<Option<_>>().ok_or(CatalogueError::Row("files"))
}

impl Catalogue {
    /// The history files that it knows.
    pub(crate) fn files(&self) -> Result<Vec<FileRow>, CatalogueError> {
        let reader = self.reader();
        let mut statement = reader
            .prepare_cached("select number, place, sources, replaces, crc from files order by number")?;
        let mut rows = statement.query([])?;
        let mut files = Vec::new();
        while let Some(row) = rows.next()? {
            let (number, place): (u64, u64) = (row.get(0)?, row.get(1)?);
            let (sources, replaces): (String, String) = (row.get(2)?, row.get(3)?);
            if file_crc(number, place, &sources, &replaces) != row.get::<_, u32>(4)? {
                return Err(CatalogueError::Row("files"));
            }
            files.push(FileRow { number, sources: unlist(&sources)?, replaces: unlist(&replaces)? });
        }
        Ok(files)
    }

    /// Learns what is in a file, and forgets those that it replaces.
    pub(crate) fn learn(&self, index: &Index) -> Result<(), CatalogueError> {
        let mut writer = self.writer();
        let transaction = writer.transaction()?;
        let mut sums = Sums::default();
        for replaced in index.replaces.iter().chain([&index.number]) {
            forget(&transaction, *replaced, &mut sums)?;
        }
        let (sources, replaces) = (list(&index.sources), list(&index.replaces));
        let crc = file_crc(index.number, index.order, &sources, &replaces);
        transaction
            .prepare_cached(
                "insert into files (number, place, sources, replaces, crc) values (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![index.number, index.order, sources, replaces, crc])?;
        put_blocks(&transaction, index, &mut sums)?;
        sums.put(&transaction)?;
        transaction.commit()?;
        self.verified.clear();
        Ok(())
    }

    /// Forgets a file.
    pub(crate) fn forget_file(&self, number: u64) -> Result<(), CatalogueError> {
        let mut writer = self.writer();
        let transaction = writer.transaction()?;
        let mut sums = Sums::default();
        forget(&transaction, number, &mut sums)?;
        sums.put(&transaction)?;
        transaction.commit()?;
        self.verified.clear();
        Ok(())
    }

    /// The first blocks with records of a thread in a range of offsets, in order. The offsets of two blocks never overlap.
    pub(crate) fn blocks(
        &self,
        thread: u64,
        offsets: &Range<u64>,
        limit: usize,
    ) -> Result<Vec<BlockPlace>, CatalogueError> {
        let found = self.reading(thread, |reader| blocks(reader, thread, offsets, limit));
        self.noting(|| format!("number={thread}"), found)
    }

    /// Reads what is known of a thread's history, if none of it is missing.
    fn reading<T>(
        &self,
        thread: u64,
        read: impl FnOnce(&Connection) -> Result<T, CatalogueError>,
    ) -> Result<T, CatalogueError> {
        let reader = self.reader();
        self.verify(&reader, thread)?;
        read(&reader)
    }

    /// Where the last request of a run is, or its last checkpoint.
    pub(crate) fn fact(
        &self,
        thread: u64,
        kind: u8,
        run: RunNo,
    ) -> Result<Option<FactPlace>, CatalogueError> {
        let found = self.reading(thread, |reader| fact(reader, thread, kind, run));
        self.noting(|| format!("number={thread}"), found)
    }

    /// The files that hold what was forgotten: of deleted threads, trimmed offsets and compacted runs. That a thread was
    /// deleted is kept as long as another file has something else of it, and nothing goes of one that is merely unknown.
    pub(crate) fn stale_files(&self) -> Result<Vec<u64>, CatalogueError> {
        let reader = self.reader();
        let mut statement = reader.prepare_cached(
            "select number from files f where exists (
                select 1 from blocks b left join threads t on t.no = b.thread where b.file = f.number and (
                    (t.no is null and exists (
                        select 1 from blocks d where d.thread = b.thread and d.tombstone = 1
                    ) and (b.tombstone = 0 or not exists (
                        select 1 from blocks o where o.thread = b.thread and o.tombstone = 0)))
                    or (b.kind = 1 and b.first < t.trimmed)
                )
            ) or exists (
                select 1 from block_runs br join runs r on r.thread = br.thread and r.no = br.run
                where br.file = f.number and br.first < r.compacted
            ) order by place",
        )?;
        Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
    }

    /// Whether a file says that a thread was deleted.
    pub(crate) fn has_tombstone(&self, thread: u64) -> Result<bool, CatalogueError> {
        let reader = self.reader();
        let mut statement = reader
            .prepare_cached("select exists (select 1 from blocks where thread = ?1 and tombstone = 1)")?;
        Ok(statement.query_row([thread], |row| row.get(0))?)
    }

    /// The numbers of threads that have blocks, none of which says that they were deleted, and that are not known otherwise.
    pub(crate) fn unknown_threads(&self) -> Result<Vec<u64>, CatalogueError> {
        let reader = self.reader();
        let mut statement = reader.prepare_cached(
            "select thread from blocks where thread not in (select no from threads)
             group by thread having max(tombstone) = 0 order by thread",
        )?;
        Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
    }

    /// Whether a thread has blocks with more than that it was deleted, outside a file.
    pub(crate) fn has_blocks_elsewhere(&self, thread: u64, file: u64) -> Result<bool, CatalogueError> {
        let reader = self.reader();
        let mut statement = reader.prepare_cached(
            "select exists (select 1 from blocks where thread = ?1 and file <> ?2 and tombstone = 0)",
        )?;
        Ok(statement.query_row([thread, file], |row| row.get(0))?)
    }
}

fn blocks(
    reader: &Connection,
    thread: u64,
    offsets: &Range<u64>,
    limit: usize,
) -> Result<Vec<BlockPlace>, CatalogueError> {
    let mut statement = reader.prepare_cached(
        "select thread, kind, first, file, at, bytes, base, base_bytes, last, tombstone, runs, crc from blocks
         where thread = ?1 and kind = ?2 and last >= ?3 and first < ?4 and first >= coalesce(
            (select max(first) from blocks where thread = ?1 and kind = ?2 and first <= ?3), 0)
         order by first, file, at limit ?5",
    )?;
    let kind = BlockKind::Records.code();
    let [start, end] = [offsets.start, offsets.end].map(|offset| i64::try_from(offset).unwrap_or(i64::MAX));
    let mut rows = statement.query(params![thread, kind, start, end, limit])?;
    let mut blocks = Vec::new();
    while let Some(row) = rows.next()? {
        let BlockRow { file, site, first, last, runs, .. } = BlockRow::of(row)?;
        blocks.push(BlockPlace { file, site, first, last, runs: unlist(&runs)? });
    }
    Ok(blocks)
}

fn fact(reader: &Connection, thread: u64, kind: u8, run: RunNo) -> Result<Option<FactPlace>, CatalogueError> {
    let mut statement = reader.prepare_cached(
        "select p.file, p.at, p.opened, p.checkpoint, p.crc from places p join files f on f.number = p.file
         where p.thread = ?1 and p.run = ?2 order by f.place desc, p.at desc",
    )?;
    let mut rows = statement.query(params![thread, run.0])?;
    while let Some(row) = rows.next()? {
        let (file, at) = (row.get(0)?, row.get(1)?);
        let (opened, checkpoint): (Option<u32>, Option<u32>) = (row.get(2)?, row.get(3)?);
        if place_crc([thread, run.0.into(), file, at], opened, checkpoint) != row.get::<_, u32>(4)? {
            return Err(CatalogueError::Row("places"));
        }
        if let Some(item) = if kind == OPENED { opened } else { checkpoint } {
            return Ok(Some(FactPlace { file, extent: facts_block(reader, thread, file, at)?, item }));
        }
    }
    Ok(None)
}

/// The checksums of all rows about the blocks and places of a thread, each of which is right.
pub(super) fn checksums(reader: &Connection, thread: u64) -> Result<Vec<u32>, CatalogueError> {
    let mut found = Vec::new();
    let mut statement = reader.prepare_cached(
        "select thread, kind, first, file, at, bytes, base, base_bytes, last, tombstone, runs, crc from blocks
         where thread = ?1",
    )?;
    let mut rows = statement.query([thread])?;
    while let Some(row) = rows.next()? {
        found.push(BlockRow::of(row)?.crc());
    }
    let mut statement = reader
        .prepare_cached("select run, file, at, opened, checkpoint, crc from places where thread = ?1")?;
    let mut rows = statement.query([thread])?;
    while let Some(row) = rows.next()? {
        let crc = place_crc([thread, row.get(0)?, row.get(1)?, row.get(2)?], row.get(3)?, row.get(4)?);
        if crc != row.get::<_, u32>(5)? {
            return Err(CatalogueError::Row("places"));
        }
        found.push(crc);
    }
    Ok(found)
}

/// Where a block with facts is, which begins at this byte of a file.
fn facts_block(connection: &Connection, thread: u64, file: u64, at: u64) -> Result<Extent, CatalogueError> {
    let mut statement = connection.prepare_cached(
        "select thread, kind, first, file, at, bytes, base, base_bytes, last, tombstone, runs, crc from blocks
         where thread = ?1 and kind = ?2 and file = ?3 and at = ?4",
    )?;
    let mut rows = statement.query(params![thread, BlockKind::Facts.code(), file, at])?;
    let row = rows.next()?.ok_or(CatalogueError::Row("blocks"))?;
    Ok(BlockRow::of(row)?.site.extent)
}

fn forget(transaction: &Transaction<'_>, number: u64, sums: &mut Sums) -> Result<(), CatalogueError> {
    let mut statement = transaction.prepare_cached(
        "select thread, crc from blocks where file = ?1 union all select thread, crc from places where file = ?1
             and thread in (select thread from blocks where file = ?1)",
    )?;
    let mut rows = statement.query([number])?;
    while let Some(row) = rows.next()? {
        sums.take_off(row.get(0)?, row.get(1)?);
    }
    for statement in [
        "delete from files where number = ?1",
        "delete from places where file = ?1 and thread in (select thread from blocks where file = ?1)",
        "delete from blocks where file = ?1",
        "delete from block_runs where file = ?1",
    ] {
        transaction.prepare_cached(statement)?.execute([number])?;
    }
    Ok(())
}

fn put_blocks(transaction: &Transaction<'_>, index: &Index, sums: &mut Sums) -> Result<(), CatalogueError> {
    for block in &index.blocks {
        let runs: Vec<u64> = block.runs.iter().map(|(run, _)| u64::from(*run)).collect();
        let row = BlockRow {
            thread: block.thread,
            kind: block.kind.code(),
            file: index.number,
            site: block.site(),
            first: block.first,
            last: block.last,
            tombstone: block.tombstone,
            runs: list(&runs),
        };
        sums.add(row.thread, row.crc());
        transaction
            .prepare_cached(
                "insert into blocks (thread, kind, first, file, at, bytes, base, base_bytes, last, tombstone, runs, crc)
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            )?
            .execute(params![
                row.thread,
                row.kind,
                row.first,
                row.file,
                block.at,
                block.bytes,
                block.base.map(|base| base.at),
                block.base.map(|base| base.bytes),
                row.last,
                row.tombstone,
                row.runs,
                row.crc()
            ])?;
        for (run, first) in &block.runs {
            transaction
                .prepare_cached(
                    "insert into block_runs (file, thread, run, at, first) values (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute(params![index.number, block.thread, run, block.at, first])?;
        }
        put_places(transaction, index.number, block, sums)?;
    }
    Ok(())
}

/// Of two of a kind in a block the last one counts.
fn put_places(
    transaction: &Transaction<'_>,
    file: u64,
    block: &BlockEntry,
    sums: &mut Sums,
) -> Result<(), CatalogueError> {
    let mut places: BTreeMap<u32, (Option<u32>, Option<u32>)> = BTreeMap::new();
    for Place { item, kind, run } in &block.places {
        let (opened, checkpoint) = places.entry(*run).or_default();
        match *kind {
            OPENED => *opened = Some(*item),
            CHECKPOINT => *checkpoint = Some(*item),
            _ => {}
        }
    }
    for (run, (opened, checkpoint)) in places {
        let crc = place_crc([block.thread, run.into(), file, block.at], opened, checkpoint);
        sums.add(block.thread, crc);
        transaction
            .prepare_cached(
                "insert into places (thread, run, file, at, opened, checkpoint, crc) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![block.thread, run, file, block.at, opened, checkpoint, crc])?;
    }
    Ok(())
}
