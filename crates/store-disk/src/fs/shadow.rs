//! A directory for who only looks at it: what is written is seen by whoever reads it here, and nothing of it gets to the disk below.

use super::{DirLock, Disk, DiskFile, LockError};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is written is kept in pieces of so many bytes.
const PAGE_BYTES: u64 = 64 << 10;

/// A directory with changes that are kept in memory.
#[derive(Debug)]
pub(crate) struct Shadow {
    below: Arc<dyn Disk>,
    names: Mutex<BTreeMap<String, Name>>,
}

/// What has become of a name here.
#[derive(Debug, Clone)]
enum Name {
    Removed,
    File {
        /// The file below, if there is one.
        below: Option<String>,
        edits: Arc<Mutex<Edits>>,
    },
}

/// What was written to a file.
#[derive(Debug)]
struct Edits {
    bytes: u64,
    /// How many bytes of the file below still count.
    below_bytes: u64,
    pages: BTreeMap<u64, Vec<u8>>,
}

impl Shadow {
    pub(crate) fn of(below: Arc<dyn Disk>) -> Self {
        Self { below, names: Mutex::default() }
    }

    fn names(&self) -> MutexGuard<'_, BTreeMap<String, Name>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of a name, which is there.
    fn name(&self, names: &mut BTreeMap<String, Name>, name: &str) -> io::Result<Name> {
        let found = match names.get(name) {
            Some(found) => found.clone(),
            None => {
                let bytes = self.below.open(name)?.size()?;
                let edits = Edits { bytes, below_bytes: bytes, pages: BTreeMap::new() };
                let below = Some(name.to_owned());
                Name::File { below, edits: Arc::new(Mutex::new(edits)) }
            }
        };
        match found {
            Name::Removed => Err(io::ErrorKind::NotFound.into()),
            found @ Name::File { .. } => Ok(names.entry(name.to_owned()).or_insert(found).clone()),
        }
    }

    fn file(&self, name: Name) -> io::Result<Arc<dyn DiskFile>> {
        let Name::File { below, edits } = name else { return Err(io::ErrorKind::NotFound.into()) };
        let below = below.map(|name| self.below.open(&name)).transpose()?;
        Ok(Arc::new(ShadowFile { below, edits }))
    }
}

impl Disk for Shadow {
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let edits = Edits { bytes: 0, below_bytes: 0, pages: BTreeMap::new() };
        let made = Name::File { below: None, edits: Arc::new(Mutex::new(edits)) };
        self.names().insert(name.to_owned(), made.clone());
        self.file(made)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let found = self.name(&mut self.names(), name)?;
        self.file(found)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut names = self.names();
        let found = self.name(&mut names, from)?;
        names.insert(from.to_owned(), Name::Removed);
        names.insert(to.to_owned(), found);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut names = self.names();
        self.name(&mut names, name)?;
        names.insert(name.to_owned(), Name::Removed);
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut all: BTreeSet<String> = self.below.list()?.into_iter().collect();
        for (name, found) in &*self.names() {
            match found {
                Name::Removed => _ = all.remove(name),
                Name::File { .. } => _ = all.insert(name.clone()),
            }
        }
        Ok(all.into_iter().collect())
    }

    fn sync_dir(&self) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self) -> Result<DirLock, LockError> {
        self.below.lock()
    }
}

#[derive(Debug)]
struct ShadowFile {
    below: Option<Arc<dyn DiskFile>>,
    edits: Arc<Mutex<Edits>>,
}

/// A number of bytes that are in memory.
fn in_memory(bytes: u64) -> usize {
    usize::try_from(bytes).expect("it is no more than what is in memory")
}

impl ShadowFile {
    fn edits(&self) -> MutexGuard<'_, Edits> {
        self.edits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A page that is to be written to.
    fn page<'a>(&self, edits: &'a mut Edits, number: u64) -> io::Result<&'a mut Vec<u8>> {
        if !edits.pages.contains_key(&number) {
            let at = number * PAGE_BYTES;
            let there = in_memory(edits.below_bytes.saturating_sub(at).min(PAGE_BYTES));
            let mut bytes = vec![0; in_memory(PAGE_BYTES)];
            if let Some(below) = &self.below {
                below.read_exact_at(&mut bytes[..there], at)?;
            }
            edits.pages.insert(number, bytes);
        }
        Ok(edits.pages.get_mut(&number).expect("it is there now"))
    }
}

impl DiskFile for ShadowFile {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let edits = self.edits();
        let left = edits.bytes.saturating_sub(at).min(buffer.len() as u64);
        let (number, within) = (at / PAGE_BYTES, at % PAGE_BYTES);
        if let Some(page) = edits.pages.get(&number) {
            let (start, count) = (in_memory(within), in_memory(left.min(PAGE_BYTES - within)));
            buffer[..count].copy_from_slice(&page[start..start + count]);
            return Ok(count);
        }
        let next = edits.pages.range(number..).next().map_or(u64::MAX, |(number, _)| number * PAGE_BYTES);
        let there = edits.below_bytes.saturating_sub(at).min(left).min(next - at);
        match &self.below {
            Some(below) if there > 0 => below.read_at(&mut buffer[..in_memory(there)], at),
            _ => {
                let count = in_memory(left.min(next - at));
                buffer[..count].fill(0);
                Ok(count)
            }
        }
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize> {
        let mut edits = self.edits();
        let (number, within) = (at / PAGE_BYTES, at % PAGE_BYTES);
        let count = bytes.len().min(in_memory(PAGE_BYTES - within));
        let bytes = &bytes[..count];
        // New segments are filled with zeros, which is what is there anyway.
        let is_hole = !edits.pages.contains_key(&number) && number * PAGE_BYTES >= edits.below_bytes;
        if !is_hole || bytes.iter().any(|byte| *byte != 0) {
            let start = in_memory(within);
            self.page(&mut edits, number)?[start..start + count].copy_from_slice(bytes);
        }
        edits.bytes = edits.bytes.max(at + count as u64);
        Ok(count)
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.edits().bytes)
    }

    fn set_size(&self, bytes: u64) -> io::Result<()> {
        let mut edits = self.edits();
        edits.bytes = bytes;
        edits.below_bytes = edits.below_bytes.min(bytes);
        edits.pages.retain(|number, _| number * PAGE_BYTES < bytes);
        if let Some(page) = edits.pages.get_mut(&(bytes / PAGE_BYTES)) {
            page[in_memory(bytes % PAGE_BYTES)..].fill(0);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::sim::{Random, SimDisk};

    fn all(file: &dyn DiskFile) -> Vec<u8> {
        let mut bytes = vec![1; in_memory(file.size().unwrap())];
        file.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    }

    #[test]
    fn whatever_is_done_is_seen_here_and_nothing_of_it_below() {
        let page = in_memory(PAGE_BYTES);
        for seed in 0..50 {
            let mut random = Random::new(seed);
            let below = SimDisk::new();
            let mut expected: Vec<u8> = (0..=250).cycle().take(random.below(3 * page)).collect();
            below.create("a").unwrap().write_all_at(&expected, 0).unwrap();
            let before = expected.clone();
            let shadow = Shadow::of(Arc::new(below.clone()));
            for _ in 0..20 {
                let file = shadow.open("a").unwrap();
                let (at, count) = (random.below(4 * page), random.below(2 * page));
                if random.below(3) == 0 {
                    file.set_size(at as u64).unwrap();
                    expected.resize(at, 0);
                } else {
                    // Zeros, too.
                    let bytes = vec![u8::try_from(random.below(2)).unwrap(); count];
                    file.write_all_at(&bytes, at as u64).unwrap();
                    if count > 0 {
                        expected.resize(expected.len().max(at + count), 0);
                        expected[at..at + count].copy_from_slice(&bytes);
                    }
                }
                assert!(all(&*file) == expected, "seed {seed}");
            }
            assert!(all(&*below.open("a").unwrap()) == before, "seed {seed}");
        }
    }

    #[test]
    fn names_come_and_go_here_alone() {
        let below = SimDisk::new();
        below.create("a").unwrap().write_all_at(b"one", 0).unwrap();
        below.create("b").unwrap();
        let shadow = Shadow::of(Arc::new(below.clone()));
        shadow.create("c").unwrap().write_all_at(b"three", 0).unwrap();
        shadow.rename("a", "b").unwrap();
        shadow.rename("c", "d").unwrap();
        assert_eq!(shadow.list().unwrap(), ["b", "d"]);
        assert_eq!(all(&*shadow.open("b").unwrap()), b"one");
        assert_eq!(all(&*shadow.open("d").unwrap()), b"three");
        shadow.remove("b").unwrap();
        for name in ["a", "b", "c", "e"] {
            assert_eq!(shadow.open(name).unwrap_err().kind(), io::ErrorKind::NotFound, "{name}");
            assert_eq!(shadow.remove(name).unwrap_err().kind(), io::ErrorKind::NotFound, "{name}");
        }
        assert_eq!(below.list().unwrap(), ["a", "b"]);
        assert_eq!(all(&*below.open("a").unwrap()), b"one");
    }
}
