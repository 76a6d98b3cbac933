//! A directory on a simulated disk.

use super::SimDisk;
use crate::fs::{DirLock, Disk, DiskFile, LockError};
use std::io;
use std::sync::Arc;

/// The files of a disk whose names begin in one way.
#[derive(Debug)]
pub(crate) struct SimDir {
    disk: SimDisk,
    prefix: &'static str,
}

impl SimDir {
    /// The directory of this name, which ends with a slash; without a name, what is in none.
    pub(crate) fn new(disk: &SimDisk, prefix: &'static str) -> Self {
        Self { disk: disk.clone(), prefix }
    }

    fn name(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

impl Disk for SimDir {
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        self.disk.create(&self.name(name))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        self.disk.open(&self.name(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(&self.name(from), &self.name(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(&self.name(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let names = self.disk.list()?.into_iter();
        Ok(names.filter_map(|name| name.strip_prefix(self.prefix).map(str::to_owned)).collect())
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.disk.sync_names(self.prefix)
    }

    fn lock(&self) -> Result<DirLock, LockError> {
        self.disk.lock()
    }
}
