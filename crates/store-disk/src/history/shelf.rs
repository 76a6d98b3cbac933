//! The history files of a store.

use super::block::Block;
use super::cache::BlockCache;
use super::file::unfinished_name;
use super::{Extent, HistoryError, HistoryFile, Index, Site, file_name, file_number, is_leftover};
use crate::fs::Disk;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How many files stay open. Descriptors are few, and a journal that cannot get one takes nothing more.
const OPEN_MAX: usize = 64;

/// How much of what was unpacked is kept: a few hundred threads that are read again and again.
const CACHE_BYTES_MAX: usize = 32 << 20;

/// How much is read at once.
const AHEAD_BYTES_MAX: u64 = 256 << 10;

/// The history files of a store. Those that were read last stay open.
#[derive(Debug)]
pub(crate) struct Shelf {
    disk: Arc<dyn Disk>,
    /// The one that was used last is at the end.
    open: Mutex<Vec<(u64, Arc<HistoryFile>)>>,
    next: AtomicU64,
    blocks: BlockCache,
}

/// Bytes of a file that were read at once. What is cold takes as long for many bytes as for a few.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    file: u64,
    at: u64,
    bytes: Vec<u8>,
}

impl Ahead {
    fn has(&self, file: u64, extent: Extent) -> bool {
        self.file == file && extent.at >= self.at && extent.end() <= self.at + self.bytes.len() as u64
    }

    fn part(&self, extent: Extent) -> &[u8] {
        let within = |at: u64| usize::try_from(at - self.at).expect("it is in memory");
        &self.bytes[within(extent.at)..within(extent.end())]
    }
}

impl Shelf {
    /// Looks which files there are, and removes those that were not finished.
    pub(crate) fn open(disk: Arc<dyn Disk>) -> io::Result<(Self, Vec<u64>)> {
        let mut numbers = Vec::new();
        for name in disk.list()? {
            if is_leftover(&name) {
                disk.remove(&name)?;
            }
            numbers.extend(file_number(&name));
        }
        numbers.sort_unstable();
        let next = AtomicU64::new(numbers.last().map_or(1, |last| last + 1));
        let blocks = BlockCache::new(CACHE_BYTES_MAX);
        Ok((Self { disk, open: Mutex::default(), next, blocks }, numbers))
    }

    pub(crate) fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// The number that the next file gets.
    pub(crate) fn next_number(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Gives no number below this one.
    pub(crate) fn begin_at(&self, number: u64) {
        self.next.fetch_max(number, Ordering::Relaxed);
    }

    /// A number that no file has had.
    pub(crate) fn take_number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// The file with this number.
    pub(crate) fn file(&self, number: u64) -> io::Result<Arc<HistoryFile>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match open.iter().position(|(other, _)| *other == number) {
            Some(at) => open.remove(at).1,
            None => Arc::new(HistoryFile::open(&*self.disk, number)?),
        };
        if open.len() >= OPEN_MAX {
            open.remove(0);
        }
        open.push((number, Arc::clone(&file)));
        Ok(file)
    }

    /// A block of a file, and those up to `until` read with it if it has to be read.
    pub(crate) fn block(
        &self,
        number: u64,
        site: Site,
        until: u64,
        ahead: &mut Ahead,
    ) -> Result<Block, HistoryError> {
        let Site { extent, base } = site;
        if let Some(block) = self.blocks.get((number, extent.at)) {
            return Ok(block);
        }
        let until = until.max(extent.end()).min(site.start().saturating_add(AHEAD_BYTES_MAX));
        let base = base.map(|base| self.block(number, Site::alone(base), until, ahead)).transpose()?;
        if !ahead.has(number, extent) {
            *ahead = Ahead { file: number, at: extent.at, bytes: self.file(number)?.read(extent, until)? };
        }
        let block = Block::decode(ahead.part(extent), base.as_ref())
            .map_err(|error| HistoryError::Block { at: extent.at, error })?;
        self.blocks.put((number, extent.at), &block);
        Ok(block)
    }

    /// Removes a file, if it is there.
    pub(crate) fn remove(&self, number: u64) -> io::Result<()> {
        self.blocks.forget(number);
        self.open.lock().unwrap_or_else(PoisonError::into_inner).retain(|(other, _)| *other != number);
        match self.disk.remove(&file_name(number)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(()) => self.disk.sync_dir(),
        }
    }

    /// Removes whatever there is of a file that was begun and does not count.
    pub(crate) fn discard(&self, number: u64) -> io::Result<()> {
        for name in [unfinished_name(number), file_name(number)] {
            match self.disk.remove(&name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        self.disk.sync_dir()
    }

    /// The index of a file.
    pub(crate) fn index(&self, number: u64) -> Result<Index, super::HistoryError> {
        self.file(number)?.index()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::sim::SimDisk;

    #[test]
    fn few_files_stay_open_and_those_are_the_last() {
        let disk = SimDisk::new();
        let last = OPEN_MAX as u64 + 3;
        for number in 0..=last {
            disk.create(&file_name(number)).unwrap();
        }
        let (shelf, numbers) = Shelf::open(Arc::new(disk)).unwrap();
        assert_eq!(numbers.len() as u64, last + 1);
        let first = shelf.file(0).unwrap();
        for number in 0..=last {
            shelf.file(number).unwrap();
            assert!(Arc::ptr_eq(&first, &shelf.file(0).unwrap()), "it is in use");
        }
        let open: Vec<u64> = shelf.open.lock().unwrap().iter().map(|(number, _)| *number).collect();
        assert_eq!(open.len(), OPEN_MAX);
        assert!(open.contains(&last) && !open.contains(&1));
    }
}
