//! History files and what is where in them.

use super::{Catalogue, CatalogueError};
use crate::entry::{CHECKPOINT, OPENED};
use crate::history::{BlockKind, Extent, Index, Site};
use rusqlite::{OptionalExtension, Transaction, params};
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
        let mut statement =
            reader.prepare_cached("select number, sources, replaces from files order by number")?;
        let mut rows = statement.query([])?;
        let mut files = Vec::new();
        while let Some(row) = rows.next()? {
            let sources = unlist(&row.get::<_, String>(1)?)?;
            files.push(FileRow {
                number: row.get(0)?,
                sources,
                replaces: unlist(&row.get::<_, String>(2)?)?,
            });
        }
        Ok(files)
    }

    /// Learns what is in a file, and forgets those that it replaces.
    pub(crate) fn learn(&self, index: &Index) -> Result<(), CatalogueError> {
        let mut writer = self.writer();
        let transaction = writer.transaction()?;
        for replaced in index.replaces.iter().chain([&index.number]) {
            forget(&transaction, *replaced)?;
        }
        transaction
            .prepare_cached("insert into files (number, place, sources, replaces) values (?1, ?2, ?3, ?4)")?
            .execute(params![index.number, index.order, list(&index.sources), list(&index.replaces)])?;
        put_blocks(&transaction, index)?;
        Ok(transaction.commit()?)
    }

    /// Forgets a file.
    pub(crate) fn forget_file(&self, number: u64) -> Result<(), CatalogueError> {
        let mut writer = self.writer();
        let transaction = writer.transaction()?;
        forget(&transaction, number)?;
        Ok(transaction.commit()?)
    }

    /// The first blocks with records of a thread in a range of offsets, in order. The offsets of two blocks never overlap.
    pub(crate) fn blocks(
        &self,
        thread: u64,
        offsets: &Range<u64>,
        limit: usize,
    ) -> Result<Vec<BlockPlace>, CatalogueError> {
        let reader = self.reader();
        let mut statement = reader.prepare_cached(
            "select file, at, bytes, base, base_bytes, first, last, runs from blocks
             where thread = ?1 and kind = ?2 and last >= ?3 and first < ?4 and first >= coalesce(
                (select max(first) from blocks where thread = ?1 and kind = ?2 and first <= ?3), 0)
             order by first, file, at limit ?5",
        )?;
        let kind = BlockKind::Records.code();
        let [start, end] =
            [offsets.start, offsets.end].map(|offset| i64::try_from(offset).unwrap_or(i64::MAX));
        let mut rows = statement.query(params![thread, kind, start, end, limit])?;
        let mut blocks = Vec::new();
        while let Some(row) = rows.next()? {
            let extent = Extent { at: row.get(1)?, bytes: row.get(2)? };
            let base: Option<u64> = row.get(3)?;
            let base =
                base.map(|at| Ok::<_, CatalogueError>(Extent { at, bytes: row.get(4)? })).transpose()?;
            blocks.push(BlockPlace {
                file: row.get(0)?,
                site: Site { extent, base },
                first: row.get(5)?,
                last: row.get(6)?,
                runs: unlist(&row.get::<_, String>(7)?)?,
            });
        }
        Ok(blocks)
    }

    /// Where the last request of a run is, or its last checkpoint.
    pub(crate) fn fact(
        &self,
        thread: u64,
        kind: u8,
        run: RunNo,
    ) -> Result<Option<FactPlace>, CatalogueError> {
        let reader = self.reader();
        let mut statement = reader.prepare_cached(
            "select p.file, p.at, b.bytes, iif(?2, p.opened, p.checkpoint) as item from places p
             join files f on f.number = p.file
             join blocks b on b.thread = p.thread and b.kind = 2 and b.file = p.file and b.at = p.at
             where p.thread = ?1 and p.run = ?3 and item is not null
             order by f.place desc, p.at desc limit 1",
        )?;
        let found = statement.query_row(params![thread, kind == OPENED, run.0], |row| {
            let extent = Extent { at: row.get(1)?, bytes: row.get(2)? };
            Ok(FactPlace { file: row.get(0)?, extent, item: row.get(3)? })
        });
        Ok(found.optional()?)
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

fn forget(transaction: &Transaction<'_>, number: u64) -> Result<(), CatalogueError> {
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

fn put_blocks(transaction: &Transaction<'_>, index: &Index) -> Result<(), CatalogueError> {
    for block in &index.blocks {
        let runs: Vec<u64> = block.runs.iter().map(|(run, _)| u64::from(*run)).collect();
        transaction
            .prepare_cached(
                "insert into blocks (thread, kind, first, file, at, bytes, base, base_bytes, last, tombstone, runs)
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )?
            .execute(params![
                block.thread,
                block.kind.code(),
                block.first,
                index.number,
                block.at,
                block.bytes,
                block.base.map(|base| base.at),
                block.base.map(|base| base.bytes),
                block.last,
                block.tombstone,
                list(&runs)
            ])?;
        for (run, first) in &block.runs {
            transaction
                .prepare_cached(
                    "insert into block_runs (file, thread, run, at, first) values (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute(params![index.number, block.thread, run, block.at, first])?;
        }
        for place in &block.places {
            // Of two of a kind the last one counts.
            let item = |kind| Some(place.item).filter(|_| place.kind == kind);
            transaction
                .prepare_cached(
                    "insert into places (thread, run, file, at, opened, checkpoint) values (?1, ?2, ?3, ?4, ?5, ?6)
                     on conflict (thread, run, file, at) do update set
                         opened = coalesce(excluded.opened, opened), checkpoint = coalesce(excluded.checkpoint, checkpoint)",
                )?
                .execute(params![block.thread, place.run, index.number, block.at, item(OPENED), item(CHECKPOINT)])?;
        }
    }
    Ok(())
}
