//! The bytes of one file: those that are durable, and those that programs see.

use std::collections::BTreeMap;

/// What a disk writes whole, or tears.
pub(super) const SECTOR: usize = 512;

/// Whether something that is not durable will be made so by the next sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pending {
    /// Yes.
    Dirty,
    /// No: a sync failed, and the operating system takes it for written.
    Stuck,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Inode {
    pub(super) durable: Vec<u8>,
    pub(super) current: Vec<u8>,
    /// Sectors that were written and not made durable.
    pub(super) sectors: BTreeMap<usize, Pending>,
    /// Set when the length is not durable.
    pub(super) size: Option<Pending>,
}

impl Inode {
    pub(super) fn with_bytes(bytes: Vec<u8>) -> Self {
        Self { durable: bytes.clone(), current: bytes, ..Self::default() }
    }

    pub(super) fn write(&mut self, bytes: &[u8], at: usize) {
        if bytes.is_empty() {
            return;
        }
        let end = at + bytes.len();
        if end > self.current.len() {
            self.current.resize(end, 0);
            self.size = Some(Pending::Dirty);
        }
        self.current[at..end].copy_from_slice(bytes);
        for sector in at / SECTOR..=(end - 1) / SECTOR {
            self.sectors.insert(sector, Pending::Dirty);
        }
    }

    pub(super) fn set_size(&mut self, size: usize) {
        // What lies behind a cut must read as zeros if the file grows again.
        for sector in size / SECTOR..self.current.len().div_ceil(SECTOR) {
            self.sectors.insert(sector, Pending::Dirty);
        }
        self.current.resize(size, 0);
        self.size = Some(Pending::Dirty);
    }

    pub(super) fn sync(&mut self) {
        let dirty: Vec<usize> = self
            .sectors
            .iter()
            .filter(|(_, state)| **state == Pending::Dirty)
            .map(|(sector, _)| *sector)
            .collect();
        for sector in dirty {
            let bytes = sector_of(&self.current, sector);
            let from = sector * SECTOR;
            let to = self.current.len().max(self.durable.len()).min(from + SECTOR);
            if from < to {
                if self.durable.len() < to {
                    self.durable.resize(to, 0);
                }
                self.durable[from..to].copy_from_slice(&bytes[..to - from]);
            }
            self.sectors.remove(&sector);
        }
        if self.size == Some(Pending::Dirty) {
            self.durable.resize(self.current.len(), 0);
            self.size = None;
        }
    }

    /// A sync that failed: nothing is certain, and nothing is left for the next one to do.
    pub(super) fn fail_sync(&mut self) {
        self.sectors.values_mut().for_each(|state| *state = Pending::Stuck);
        self.size = self.size.map(|_| Pending::Stuck);
    }
}

/// A sector's bytes, with zeros behind the end of the file.
pub(super) fn sector_of(bytes: &[u8], sector: usize) -> [u8; SECTOR] {
    let mut all = [0; SECTOR];
    let from = (sector * SECTOR).min(bytes.len());
    let to = (from + SECTOR).min(bytes.len());
    all[..to - from].copy_from_slice(&bytes[from..to]);
    all
}
