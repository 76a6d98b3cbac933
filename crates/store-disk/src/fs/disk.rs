//! What the store needs of a file system.

use std::fmt::Debug;
use std::io;
use std::sync::Arc;

/// One directory with files in it, and no directories.
///
/// Creating, renaming and removing are certain to survive a crash only after [`Disk::sync_dir`].
pub trait Disk: Debug + Send + Sync {
    /// Makes an empty file, in place of one that has that name.
    ///
    /// # Errors
    /// What the file system says.
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;

    /// Opens a file to read and write it.
    ///
    /// # Errors
    /// What the file system says; `NotFound` if there is no such file.
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;

    /// Renames a file, in one step, over whatever has the new name.
    ///
    /// # Errors
    /// What the file system says.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// What the file system says; `NotFound` if there is no such file.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// The names of all files, sorted.
    ///
    /// # Errors
    /// What the file system says.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Makes durable what was created, renamed and removed.
    ///
    /// # Errors
    /// What the file system says. What was not durable before may or may not be now; trying again does not tell.
    fn sync_dir(&self) -> io::Result<()>;

    /// Keeps other processes out until the lock is dropped.
    ///
    /// # Errors
    /// [`LockError::Held`] if another one has it.
    fn lock(&self) -> Result<DirLock, LockError>;
}

/// An open file. Any number of threads may use it.
pub trait DiskFile: Debug + Send + Sync {
    /// Reads into `buffer` from byte `at`; returns how many bytes, which is 0 only at the end of the file.
    ///
    /// # Errors
    /// What the file system says.
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize>;

    /// Writes some of `bytes` at byte `at`, enlarging the file if necessary; returns how many bytes.
    ///
    /// # Errors
    /// What the file system says. Any part of the bytes may have been written.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize>;

    /// Makes durable what was written, and the length of the file.
    ///
    /// # Errors
    /// What the file system says. What was not durable before may or may not be now; trying again does not tell.
    fn sync_data(&self) -> io::Result<()>;

    /// The length in bytes.
    ///
    /// # Errors
    /// What the file system says.
    fn size(&self) -> io::Result<u64>;

    /// Cuts the file, or enlarges it with zeros.
    ///
    /// # Errors
    /// What the file system says.
    fn set_size(&self, bytes: u64) -> io::Result<()>;

    /// Fills `buffer` from byte `at`.
    ///
    /// # Errors
    /// What the file system says; `UnexpectedEof` if the file ends before.
    fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        let mut done = 0;
        while done < buffer.len() {
            match self.read_at(&mut buffer[done..], at + done as u64) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes all of `bytes` at byte `at`.
    ///
    /// # Errors
    /// What the file system says. Any part of the bytes may have been written.
    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            match self.write_at(&bytes[done..], at + done as u64) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => done += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The right to a directory, until dropped.
#[derive(Debug)]
pub struct DirLock {
    _held: Box<dyn Debug + Send + Sync>,
}

impl DirLock {
    pub(super) fn new(held: impl Debug + Send + Sync + 'static) -> Self {
        Self { _held: Box::new(held) }
    }
}

/// Why a directory cannot be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process, or another handle in this one, has it.
    #[error("the store is open in another process")]
    Held,
    /// The lock file cannot be used.
    #[error("the lock file cannot be used")]
    Io(#[from] io::Error),
}
