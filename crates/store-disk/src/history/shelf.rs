//! The history files of a store.

use super::{HistoryFile, Index, file_name, file_number, is_leftover};
use crate::fs::Disk;
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The history files of a store. Those that are read stay open.
#[derive(Debug)]
pub(crate) struct Shelf {
    disk: Arc<dyn Disk>,
    open: Mutex<HashMap<u64, Arc<HistoryFile>>>,
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

    /// A number that no file has had.
    pub(crate) fn take_number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// The file with this number.
    pub(crate) fn file(&self, number: u64) -> io::Result<Arc<HistoryFile>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = open.get(&number) {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(HistoryFile::open(&*self.disk, number)?);
        open.insert(number, Arc::clone(&file));
        Ok(file)
    }

    /// Removes a file, if it is there.
    pub(crate) fn remove(&self, number: u64) -> io::Result<()> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
        match self.disk.remove(&file_name(number)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(()) => self.disk.sync_dir(),
        }
    }

    /// The index of a file.
    pub(crate) fn index(&self, number: u64) -> Result<Index, super::HistoryError> {
        self.file(number)?.index()
    }
}
