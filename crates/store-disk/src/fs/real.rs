//! A directory of the operating system.

use super::{DirLock, Disk, DiskFile, LockError};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Whoever has this file locked has the directory. It is never removed: a lock on a removed file keeps nobody out.
const LOCK_FILE: &str = "lock";

/// A directory of the operating system.
#[derive(Debug)]
pub struct RealDisk {
    directory: PathBuf,
    /// Open for syncing what happens to names.
    handle: File,
}

impl RealDisk {
    /// Uses the directory, and makes it if there is none.
    ///
    /// # Errors
    /// What the file system says.
    pub fn new(directory: impl Into<PathBuf>) -> io::Result<Self> {
        let directory = directory.into();
        let is_new = |path: &&Path| !path.as_os_str().is_empty() && !path.is_dir();
        let made: Vec<PathBuf> = directory.ancestors().take_while(is_new).map(Path::to_owned).collect();
        std::fs::create_dir_all(&directory)?;
        for path in made {
            // Each new name is in the directory above.
            if let Some(parent) = path.canonicalize()?.parent() {
                File::open(parent)?.sync_all()?;
            }
        }
        let handle = File::open(&directory)?;
        Ok(Self { directory, handle })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.directory
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

impl Disk for RealDisk {
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(true).open(self.at(name))?;
        Ok(Arc::new(RealFile(file)))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(RealFile(OpenOptions::new().read(true).write(true).open(self.at(name))?)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.at(from), self.at(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.at(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.directory)? {
            let entry = entry?;
            // No file of ours has a name that is not UTF-8.
            if let (true, Ok(name)) = (entry.file_type()?.is_file(), entry.file_name().into_string()) {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.handle.sync_all()
    }

    fn lock(&self) -> Result<DirLock, LockError> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(self.at(LOCK_FILE))?;
        match file.try_lock() {
            Ok(()) => Ok(DirLock::new(file)),
            Err(TryLockError::WouldBlock) => Err(LockError::Held),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }
}

#[derive(Debug)]
struct RealFile(File);

impl DiskFile for RealFile {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        self.0.read_at(buffer, at)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize> {
        self.0.write_at(bytes, at)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn set_size(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_used_by_one_at_a_time_and_keeps_what_is_put_there() {
        let path = std::env::temp_dir().join(format!("threadline-real-disk-{}", std::process::id()));
        let disk = RealDisk::new(&path).unwrap();
        let lock = disk.lock().unwrap();
        assert!(matches!(RealDisk::new(&path).unwrap().lock(), Err(LockError::Held)));
        drop(lock);
        drop(disk.lock().unwrap());

        let file = disk.create("a").unwrap();
        file.write_all_at(b"hello", 3).unwrap();
        file.sync_data().unwrap();
        disk.rename("a", "b").unwrap();
        disk.sync_dir().unwrap();
        assert_eq!(disk.list().unwrap(), ["b", LOCK_FILE]);
        let mut bytes = [1; 8];
        disk.open("b").unwrap().read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"\0\0\0hello");
        let missing = disk.open("b").unwrap().read_exact_at(&mut bytes, 1).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::UnexpectedEof);
        file.set_size(4).unwrap();
        assert_eq!(file.size().unwrap(), 4);
        disk.remove("b").unwrap();
        assert_eq!(disk.open("b").unwrap_err().kind(), io::ErrorKind::NotFound);
        std::fs::remove_dir_all(path).unwrap();
    }
}
