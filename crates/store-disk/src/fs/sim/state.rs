//! The whole disk, as one value that can be copied.

use super::disk::Operation;
use super::inode::Inode;
use super::names::{Change, Names};
use super::random::Random;
use std::collections::BTreeMap;
use std::io;

#[derive(Debug, Clone)]
pub(super) struct Fault {
    /// How many operations of its kind go well before.
    pub(super) after: u64,
    pub(super) error: io::ErrorKind,
}

#[derive(Debug, Clone, Default)]
pub(super) struct State {
    pub(super) inodes: BTreeMap<u64, Inode>,
    pub(super) names: Names,
    pub(super) inode_next: u64,
    pub(super) capacity: Option<usize>,
    pub(super) write_fault: Option<Fault>,
    pub(super) sync_fault: Option<Fault>,
    /// Makes some writes write less than they were given.
    pub(super) shorten: Option<Random>,
    pub(super) writes: u64,
    pub(super) syncs: u64,
    pub(super) locked: bool,
}

impl State {
    /// Counts a change of the disk; an error if it is the one that must fail.
    fn count_write(&mut self) -> io::Result<()> {
        self.writes += 1;
        trip(&mut self.write_fault)
    }

    pub(super) fn inode(&mut self, inode: u64) -> &mut Inode {
        self.inodes.get_mut(&inode).expect("inodes stay as long as the disk")
    }

    pub(super) fn find(&self, name: &str) -> io::Result<u64> {
        self.names.current.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(super) fn create(&mut self, name: &str) -> io::Result<u64> {
        self.count_write()?;
        let inode = self.inode_next;
        self.inode_next += 1;
        self.inodes.insert(inode, Inode::default());
        self.names.change(Change::Set { name: name.to_owned(), inode });
        Ok(inode)
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let inode = self.find(from)?;
        self.count_write()?;
        self.names.change(Change::Rename { from: from.to_owned(), to: to.to_owned(), inode });
        Ok(())
    }

    pub(super) fn remove(&mut self, name: &str) -> io::Result<()> {
        let inode = self.find(name)?;
        self.count_write()?;
        self.names.change(Change::Remove { name: name.to_owned(), inode });
        Ok(())
    }

    pub(super) fn write(&mut self, inode: u64, bytes: &[u8], at: usize) -> io::Result<usize> {
        if let Err(error) = self.count_write() {
            // A write that fails may have written some.
            self.inode(inode).write(&bytes[..bytes.len() / 2], at);
            return Err(error);
        }
        let wanted = match &mut self.shorten {
            Some(random) if bytes.len() > 1 => 1 + random.below(bytes.len()),
            _ => bytes.len(),
        };
        let written = wanted.min(self.room(inode, at));
        if written == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.inode(inode).write(&bytes[..written], at);
        Ok(written)
    }

    /// How many bytes can be written to the file from `at`.
    fn room(&mut self, inode: u64, at: usize) -> usize {
        let Some(capacity) = self.capacity else { return usize::MAX };
        let used: usize = self.names.current.values().map(|inode| self.inodes[inode].current.len()).sum();
        let size = self.inode(inode).current.len();
        (size + capacity.saturating_sub(used)).saturating_sub(at)
    }

    pub(super) fn set_size(&mut self, inode: u64, size: usize) -> io::Result<()> {
        self.count_write()?;
        if size > self.inode(inode).current.len() && size > self.room(inode, 0) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.inode(inode).set_size(size);
        Ok(())
    }

    pub(super) fn sync_file(&mut self, inode: u64) -> io::Result<()> {
        self.syncs += 1;
        match trip(&mut self.sync_fault) {
            Ok(()) => self.inode(inode).sync(),
            Err(error) => {
                self.inode(inode).fail_sync();
                return Err(error);
            }
        }
        Ok(())
    }

    pub(super) fn sync_dir(&mut self, dir: &str) -> io::Result<()> {
        self.syncs += 1;
        match trip(&mut self.sync_fault) {
            Ok(()) => self.names.sync(dir),
            Err(error) => {
                self.names.fail_sync(dir);
                return Err(error);
            }
        }
        Ok(())
    }

    /// What was just done, as the hook is told it.
    pub(super) fn done(&self, what: &'static str, file: Option<u64>) -> Operation {
        let named = |inode| self.names.current.iter().find(|(_, found)| **found == inode);
        let file = file.and_then(named).map(|(name, _)| name.clone());
        Operation { what, file, writes: self.writes, syncs: self.syncs }
    }
}

fn trip(fault: &mut Option<Fault>) -> io::Result<()> {
    match fault {
        Some(Fault { after: 0, error }) => {
            let error = *error;
            *fault = None;
            Err(error.into())
        }
        Some(fault) => {
            fault.after -= 1;
            Ok(())
        }
        None => Ok(()),
    }
}
