//! The directories of a store.

#[cfg(any(test, feature = "sim"))]
use crate::fs::sim::{SimDir, SimDisk};
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
    pub fn on(disk: &SimDisk) -> Self {
        let dir = |name| -> Arc<dyn Disk> { Arc::new(SimDir::new(disk, name)) };
        let damaged = Damaged::On(dir("damaged/"));
        Self { root: dir(""), log: dir("log/"), history: dir("history/"), path: None, damaged }
    }
}
