//! The directories of a store.

use crate::fs::{Disk, RealDisk};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes that are copied at once.
const COPY_BYTES: usize = 1 << 20;

/// The directories of a store, each a disk of its own to whoever uses it.
#[derive(Debug, Clone)]
pub struct Directories {
    pub(crate) root: Arc<dyn Disk>,
    pub(crate) log: Arc<dyn Disk>,
    pub(crate) history: Arc<dyn Disk>,
    /// Where the catalogue is; none in simulations, where it is in memory.
    pub(crate) path: Option<PathBuf>,
    damaged: Damaged,
}

/// Where damaged files are kept, made when there is one.
#[derive(Debug, Clone)]
enum Damaged {
    At(PathBuf),
    #[cfg(any(test, feature = "sim"))]
    On(Arc<dyn Disk>),
}

impl Directories {
    /// Those of the operating system, made if they are not there.
    ///
    /// # Errors
    /// What the file system says.
    pub fn real(path: &Path) -> io::Result<Self> {
        Ok(Self {
            root: Arc::new(RealDisk::new(path)?),
            log: Arc::new(RealDisk::new(path.join("log"))?),
            history: Arc::new(RealDisk::new(path.join("history"))?),
            path: Some(path.to_owned()),
            damaged: Damaged::At(path.join("damaged")),
        })
    }

    /// Copies a file to where damaged ones are kept, durably.
    pub(crate) fn copy_aside(&self, from: &dyn Disk, name: &str) -> io::Result<()> {
        let to = self.damaged()?;
        let (source, copy) = (from.open(name)?, to.create(name)?);
        let size = source.size()?;
        let mut at = 0;
        let mut buffer = vec![0; COPY_BYTES];
        while at < size {
            let piece = usize::try_from(size - at).unwrap_or(COPY_BYTES).min(COPY_BYTES);
            source.read_exact_at(&mut buffer[..piece], at)?;
            copy.write_all_at(&buffer[..piece], at)?;
            at += piece as u64;
        }
        copy.sync_data()?;
        to.sync_dir()
    }

    /// Where damaged files are kept.
    fn damaged(&self) -> io::Result<Arc<dyn Disk>> {
        match &self.damaged {
            Damaged::At(path) => Ok(Arc::new(RealDisk::new(path)?)),
            #[cfg(any(test, feature = "sim"))]
            Damaged::On(disk) => Ok(Arc::clone(disk)),
        }
    }

    /// All on one disk, told apart by the beginnings of names.
    #[cfg(any(test, feature = "sim"))]
    #[must_use]
    pub fn on(disk: &Arc<dyn Disk>) -> Self {
        let part = |prefix| -> Arc<dyn Disk> { Arc::new(Part { disk: Arc::clone(disk), prefix }) };
        let damaged = Damaged::On(part("damaged/"));
        Self { root: part(""), log: part("log/"), history: part("history/"), path: None, damaged }
    }
}

/// The files of a disk whose names begin in one way.
#[cfg(any(test, feature = "sim"))]
#[derive(Debug)]
struct Part {
    disk: Arc<dyn Disk>,
    prefix: &'static str,
}

#[cfg(any(test, feature = "sim"))]
impl Part {
    fn name(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

#[cfg(any(test, feature = "sim"))]
impl Disk for Part {
    fn create(&self, name: &str) -> io::Result<Arc<dyn crate::fs::DiskFile>> {
        self.disk.create(&self.name(name))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn crate::fs::DiskFile>> {
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
        self.disk.sync_dir()
    }

    fn lock(&self) -> Result<crate::fs::DirLock, crate::fs::LockError> {
        self.disk.lock()
    }
}
