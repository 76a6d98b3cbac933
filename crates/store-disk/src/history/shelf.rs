//! The history files of a store.

use super::file::unfinished_name;
use super::{HistoryFile, Index, file_name, file_number, is_leftover};
use crate::fs::Disk;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How many files stay open. Descriptors are few, and a journal that cannot get one takes nothing more.
const OPEN_MAX: usize = 64;

/// The history files of a store. Those that were read last stay open.
#[derive(Debug)]
pub(crate) struct Shelf {
    disk: Arc<dyn Disk>,
    /// The one that was used last is at the end.
    open: Mutex<Vec<(u64, Arc<HistoryFile>)>>,
    next: AtomicU64,
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
        Ok((Self { disk, open: Mutex::default(), next }, numbers))
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

    /// Removes a file, if it is there.
    pub(crate) fn remove(&self, number: u64) -> io::Result<()> {
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
