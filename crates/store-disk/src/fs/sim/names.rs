//! The names in the directory: those that are durable, and those that programs see.

use super::inode::Pending;
use std::collections::BTreeMap;

pub(super) type Map = BTreeMap<String, u64>;

#[derive(Debug, Clone)]
pub(super) enum Change {
    Set { name: String, inode: u64 },
    Rename { from: String, to: String, inode: u64 },
    Remove { name: String, inode: u64 },
}

impl Change {
    /// Does it to `names`, which may lack what was changed before.
    pub(super) fn apply(&self, names: &mut Map) {
        match self {
            Self::Set { name, inode } => {
                names.insert(name.clone(), *inode);
            }
            Self::Rename { from, to, inode } => {
                if names.get(from) == Some(inode) {
                    names.remove(from);
                }
                names.insert(to.clone(), *inode);
            }
            Self::Remove { name, inode } => {
                if names.get(name) == Some(inode) {
                    names.remove(name);
                }
            }
        }
    }

    fn target(&self) -> &str {
        match self {
            Self::Set { name, .. } | Self::Remove { name, .. } => name,
            Self::Rename { to, .. } => to,
        }
    }

    fn is_in(&self, dir: &str) -> bool {
        self.target().strip_prefix(dir).is_some_and(|name| !name.contains('/'))
    }

    pub(super) fn inode(&self) -> u64 {
        match self {
            Self::Set { inode, .. } | Self::Remove { inode, .. } | Self::Rename { inode, .. } => *inode,
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    pub(super) durable: Map,
    pub(super) current: Map,
    pub(super) pending: Vec<(Change, Pending)>,
}

impl Names {
    pub(super) fn change(&mut self, change: Change) {
        change.apply(&mut self.current);
        self.pending.push((change, Pending::Dirty));
    }

    /// Makes the names in one directory durable: those that begin with its name and have no other behind that.
    pub(super) fn sync(&mut self, dir: &str) {
        for (change, state) in std::mem::take(&mut self.pending) {
            match state {
                Pending::Dirty if change.is_in(dir) => {
                    change.apply(&mut self.durable);
                    self.pending.retain(|(stuck, _)| stuck.target() != change.target());
                }
                Pending::Dirty | Pending::Stuck => self.pending.push((change, state)),
            }
        }
    }

    /// Makes all names durable.
    pub(super) fn sync_all(&mut self) {
        self.durable = self.current.clone();
        self.pending.clear();
    }

    pub(super) fn fail_sync(&mut self, dir: &str) {
        let failed = self.pending.iter_mut().filter(|(change, _)| change.is_in(dir));
        failed.for_each(|(_, state)| *state = Pending::Stuck);
    }
}
