//! The simulated disk as programs and tests see it.

use super::image::CrashImages;
use super::inode::Inode;
use super::random::Random;
use super::state::{Fault, State};
use crate::fs::{DirLock, Disk, DiskFile, LockError};
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A disk in memory. Clones are the same disk.
///
/// It knows which sectors of 512 bytes and which names a crash may forget. A sector that was written since the last sync
/// is old, new, or torn (new bytes, then old ones) after a crash; if it was written twice in between, what the first of
/// these wrote is not among the outcomes.
#[derive(Clone, Default)]
pub struct SimDisk {
    shared: Arc<Shared>,
}

type Hook = Arc<dyn Fn(&SimDisk, &Operation) + Send + Sync>;

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    hook: Mutex<Option<Hook>>,
}

/// Something that was done to the disk, or that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Its name.
    pub what: &'static str,
    /// The file, if it still has a name.
    pub file: Option<String>,
    /// How many writes, creations, renamings, removals and changes of length there were, this one included.
    pub writes: u64,
    /// How many syncs of files and of the directory there were.
    pub syncs: u64,
}

impl fmt::Debug for SimDisk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SimDisk").finish_non_exhaustive()
    }
}

impl SimDisk {
    /// An empty disk.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A disk with these files, all durable.
    #[must_use]
    pub fn with_files(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let mut state = State::default();
        for (name, bytes) in files {
            let inode = state.create(&name).expect("no fault is set");
            state.inodes.insert(inode, Inode::with_bytes(bytes));
        }
        state.names.sync_all();
        (state.writes, state.syncs) = (0, 0);
        Self::with_state(state)
    }

    pub(super) fn with_state(state: State) -> Self {
        Self { shared: Arc::new(Shared { state: Mutex::new(state), hook: Mutex::default() }) }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy as it is now, with what is durable and what is not, without faults, locks and hook.
    #[must_use]
    pub fn fork(&self) -> Self {
        let state = self.state().clone();
        Self::with_state(State { write_fault: None, sync_fault: None, shorten: None, locked: false, ..state })
    }

    /// Disks that a crash now may leave.
    ///
    /// All of them if no more than 12 things (sectors, lengths, changes of names) are not durable: each forgotten or kept,
    /// and each sector torn too (every combination up to 7 things; beyond, what is not forgotten of a subset is kept, torn, or
    /// either of these by chance). Otherwise `random_max` of them: nothing kept, everything kept, and others by chance.
    #[must_use]
    pub fn crash_images(&self, seed: u64, random_max: usize) -> CrashImages {
        CrashImages::new(self.fork(), seed, random_max)
    }

    /// The same, but no more than `max` of them (at least 2) however few things are not durable.
    #[must_use]
    pub fn crash_images_some(&self, seed: u64, max: usize) -> CrashImages {
        CrashImages::some(self.fork(), seed, max)
    }

    /// One disk that a crash now may leave. Which one goes by the seed and by how much was done to this one.
    #[must_use]
    pub fn crash_image(&self, seed: u64) -> Self {
        let disk = self.fork();
        let done = {
            let state = disk.state();
            state.writes + state.syncs
        };
        CrashImages::one(disk, (seed << 32) + done)
    }

    /// The `nth` change of the disk from now on (the first is 1) fails once. A write has then written one half.
    pub fn fail_write(&self, nth: u64, error: io::ErrorKind) {
        self.state().write_fault = Some(Fault { after: nth - 1, error });
    }

    /// The `nth` sync from now on (the first is 1) fails once. What it should have made durable may or may not be, and
    /// later syncs do nothing about it.
    pub fn fail_sync(&self, nth: u64, error: io::ErrorKind) {
        self.state().sync_fault = Some(Fault { after: nth - 1, error });
    }

    /// Whether a fault that was set has not happened yet.
    #[must_use]
    pub fn has_fault(&self) -> bool {
        let state = self.state();
        state.write_fault.is_some() || state.sync_fault.is_some()
    }

    /// Every write writes only some of its bytes.
    pub fn shorten_writes(&self, seed: u64) {
        self.state().shorten = Some(Random::new(seed));
    }

    /// The disk holds no more bytes than that.
    pub fn set_capacity(&self, bytes: usize) {
        self.state().capacity = Some(bytes);
    }

    /// Calls `hook` after every change and every sync, in the thread that did it.
    pub fn on_operation(&self, hook: impl Fn(&Self, &Operation) + Send + Sync + 'static) {
        *self.shared.hook.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(hook));
    }

    /// The bytes of a file as programs see them.
    ///
    /// # Panics
    /// If there is no such file.
    #[must_use]
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        let mut state = self.state();
        let inode = state.find(name).expect("a file of that name");
        state.inode(inode).current.clone()
    }

    /// Replaces a file's bytes, durably.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn set_bytes(&self, name: &str, bytes: Vec<u8>) {
        let mut state = self.state();
        let inode = state.find(name).expect("a file of that name");
        *state.inode(inode) = Inode::with_bytes(bytes);
    }

    /// Flips one bit of a file, durably.
    ///
    /// # Panics
    /// If there is no such file or bit.
    pub fn flip_bit(&self, name: &str, bit: usize) {
        let mut bytes = self.bytes(name);
        bytes[bit / 8] ^= 1 << (bit % 8);
        self.set_bytes(name, bytes);
    }

    /// Cuts a file, durably.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn truncate(&self, name: &str, size: usize) {
        let mut bytes = self.bytes(name);
        bytes.truncate(size);
        self.set_bytes(name, bytes);
    }

    /// Makes the names in one directory durable: those that begin with its name.
    pub(super) fn sync_names(&self, dir: &str) -> io::Result<()> {
        let result = self.state().sync_dir(dir);
        self.done("sync_dir", None);
        result
    }

    fn done(&self, what: &'static str, file: Option<u64>) {
        let hook = self.shared.hook.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(hook) = hook {
            let operation = self.state().done(what, file);
            hook(self, &operation);
        }
    }

    fn file(&self, inode: u64) -> Arc<dyn DiskFile> {
        Arc::new(SimFile { disk: self.clone(), inode })
    }
}

impl Disk for SimDisk {
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let created = self.state().create(name);
        self.done("create", created.as_ref().ok().copied());
        Ok(self.file(created?))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let inode = self.state().find(name)?;
        Ok(self.file(inode))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let result = self.state().rename(from, to);
        self.done("rename", None);
        result
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let result = self.state().remove(name);
        self.done("remove", None);
        result
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.state().names.current.keys().cloned().collect())
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.sync_names("")
    }

    fn lock(&self) -> Result<DirLock, LockError> {
        let mut state = self.state();
        if state.locked {
            return Err(LockError::Held);
        }
        state.locked = true;
        Ok(DirLock::new(SimLock(self.clone())))
    }
}

#[derive(Debug)]
struct SimLock(SimDisk);

impl Drop for SimLock {
    fn drop(&mut self) {
        self.0.state().locked = false;
    }
}

#[derive(Debug)]
struct SimFile {
    disk: SimDisk,
    inode: u64,
}

impl DiskFile for SimFile {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let mut state = self.disk.state();
        let bytes = &state.inode(self.inode).current;
        let from = index(at)?.min(bytes.len());
        let read = buffer.len().min(bytes.len() - from);
        buffer[..read].copy_from_slice(&bytes[from..from + read]);
        Ok(read)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize> {
        let result = self.disk.state().write(self.inode, bytes, index(at)?);
        self.disk.done("write", Some(self.inode));
        result
    }

    fn sync_data(&self) -> io::Result<()> {
        let result = self.disk.state().sync_file(self.inode);
        self.disk.done("sync", Some(self.inode));
        result
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.disk.state().inode(self.inode).current.len() as u64)
    }

    fn set_size(&self, bytes: u64) -> io::Result<()> {
        let result = self.disk.state().set_size(self.inode, index(bytes)?);
        self.disk.done("set_size", Some(self.inode));
        result
    }
}

fn index(at: u64) -> io::Result<usize> {
    usize::try_from(at).map_err(io::Error::other)
}
