//! What a power cut may leave of a disk.

use super::SimDisk;
use super::inode::{Inode, SECTOR, sector_of};
use super::names::Map;
use super::random::Random;
use super::state::State;
use std::collections::{BTreeMap, BTreeSet};

/// Up to that many things that are not durable, every combination is made.
const EXHAUSTIVE_MAX: usize = 12;
/// Up to that many of them, sectors are torn in every combination too.
const TORN_MAX: usize = 7;
/// How often every combination is made beyond that: what is not forgotten is kept, or torn, or each of it is one of these by chance.
const ROUNDS: usize = 3;

/// One thing that is not durable.
#[derive(Debug, Clone, Copy)]
enum Unit {
    /// A sector that was written. `cuts` are the bytes between which it may be torn.
    Sector { inode: u64, sector: usize, cuts: (usize, usize) },
    /// A file's length.
    Size { inode: u64 },
    /// A change of names, by its place among them.
    Name(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Forgotten,
    Kept,
    Torn,
}

/// The disks that a crash may leave, one after the other. See [`SimDisk::crash_images`].
#[derive(Debug)]
pub struct CrashImages {
    disk: SimDisk,
    units: Vec<Unit>,
    random: Random,
    next: usize,
    count: usize,
    /// Whether chance says which there are: all of them would be too many.
    by_chance: bool,
}

impl CrashImages {
    /// All of them up to `EXHAUSTIVE_MAX` units; beyond, `random_max`.
    pub(super) fn new(disk: SimDisk, seed: u64, random_max: usize) -> Self {
        let units = units(&disk.state());
        let by_chance = units.len() > EXHAUSTIVE_MAX;
        let count = if by_chance { random_max } else { every(&units) };
        Self { disk, units, random: Random::new(seed), next: 0, count, by_chance }
    }

    /// All of them if they are no more than `max`; else so many.
    pub(super) fn some(disk: SimDisk, seed: u64, max: usize) -> Self {
        let all = Self::new(disk, seed, max);
        let by_chance = all.by_chance || all.count > max;
        Self { by_chance, count: all.count.min(max), ..all }
    }

    /// One of them, by chance.
    pub(super) fn one(disk: SimDisk, seed: u64) -> SimDisk {
        let units = units(&disk.state());
        let random = Random::new(seed);
        let mut images = Self { disk, units, random, next: 0, count: 1, by_chance: true };
        let fates = images.drawn(images.units.len());
        images.image(&fates)
    }

    /// How many things are not durable.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.units.len()
    }

    /// What becomes of each unit in the image of that number.
    fn fates(&mut self, mut image: usize) -> Vec<Fate> {
        let count = self.units.len();
        if self.by_chance {
            return match image {
                0 => vec![Fate::Forgotten; count],
                1 => vec![Fate::Kept; count],
                _ => self.drawn(count),
            };
        }
        if count <= TORN_MAX {
            let fate = |unit: &Unit| {
                let fate = image % unit.fates();
                image /= unit.fates();
                [Fate::Forgotten, Fate::Kept, Fate::Torn][fate]
            };
            return self.units.iter().map(fate).collect();
        }
        let round = image >> count;
        let mut fate = |place: usize| match round {
            _ if image >> place & 1 == 0 => Fate::Forgotten,
            0 => Fate::Kept,
            1 => Fate::Torn,
            _ => [Fate::Kept, Fate::Torn][self.random.below(2)],
        };
        (0..count).map(&mut fate).collect()
    }

    /// How much is forgotten, and how much of the rest is torn, is drawn first: of many units about the same number would be else.
    fn drawn(&mut self, count: usize) -> Vec<Fate> {
        let (forgotten, torn) = (self.random.below(9), self.random.below(5));
        let mut fate = |_| match (self.random.below(8) < forgotten, self.random.below(8) < torn) {
            (true, _) => Fate::Forgotten,
            (false, true) => Fate::Torn,
            (false, false) => Fate::Kept,
        };
        (0..count).map(&mut fate).collect()
    }

    fn image(&mut self, fates: &[Fate]) -> SimDisk {
        let state = self.disk.state();
        let mut names = state.names.durable.clone();
        let mut inodes: BTreeMap<u64, Inode> = state.inodes.clone();
        let mut sizes: BTreeSet<u64> = BTreeSet::new();
        for (unit, fate) in self.units.iter().zip(fates) {
            match unit {
                _ if *fate == Fate::Forgotten => {}
                Unit::Name(change) => state.names.pending[*change].0.apply(&mut names),
                Unit::Size { inode } => _ = sizes.insert(*inode),
                Unit::Sector { inode, sector, cuts } => {
                    let new = sector_of(&state.inodes[inode].current, *sector);
                    let cut = match fate {
                        Fate::Torn if cuts.0 < cuts.1 => cuts.0 + self.random.below(cuts.1 - cuts.0),
                        _ => SECTOR,
                    };
                    let bytes = &mut inodes.get_mut(inode).expect("units are of inodes").durable;
                    let from = sector * SECTOR;
                    let end = bytes.len().max(from + SECTOR);
                    bytes.resize(end, 0);
                    bytes[from..from + cut].copy_from_slice(&new[..cut]);
                }
            }
        }
        let mut files = Vec::new();
        for (name, inode) in names {
            let mut bytes = std::mem::take(&mut inodes.get_mut(&inode).expect("names are of inodes").durable);
            let old = &state.inodes[&inode];
            // Syncing a file whose length was lost keeps what it must to read what was synced.
            let size = if sizes.contains(&inode) { old.current.len() } else { old.durable.len() };
            bytes.resize(size, 0);
            files.push((name, bytes));
        }
        drop(state);
        SimDisk::with_files(files)
    }
}

impl Iterator for CrashImages {
    type Item = SimDisk;

    fn next(&mut self) -> Option<SimDisk> {
        if self.next == self.count {
            return None;
        }
        let fates = self.fates(self.next);
        self.next += 1;
        Some(self.image(&fates))
    }
}

impl Unit {
    /// How many fates it may have.
    fn fates(&self) -> usize {
        match self {
            Self::Sector { cuts, .. } if cuts.0 < cuts.1 => 3,
            _ => 2,
        }
    }
}

/// How many combinations are every one.
fn every(units: &[Unit]) -> usize {
    match units.len() {
        count if count <= TORN_MAX => units.iter().map(Unit::fates).product(),
        count => ROUNDS << count,
    }
}

fn units(state: &State) -> Vec<Unit> {
    let mut units: Vec<Unit> = (0..state.names.pending.len()).map(Unit::Name).collect();
    let named = |names: &Map| names.values().copied().collect::<BTreeSet<u64>>();
    let mut reachable = named(&state.names.durable);
    reachable.extend(named(&state.names.current));
    reachable.extend(state.names.pending.iter().map(|(change, _)| change.inode()));
    for inode in reachable {
        let file = &state.inodes[&inode];
        if file.size.is_some() && file.durable.len() != file.current.len() {
            units.push(Unit::Size { inode });
        }
        for sector in file.sectors.keys().copied() {
            let (old, new) = (sector_of(&file.durable, sector), sector_of(&file.current, sector));
            let differs = |byte: &usize| old[*byte] != new[*byte];
            if let (Some(first), Some(last)) = ((0..SECTOR).find(differs), (0..SECTOR).rfind(differs)) {
                units.push(Unit::Sector { inode, sector, cuts: (first + 1, last + 1) });
            }
        }
    }
    units
}

#[cfg(test)]
mod tests {
    use crate::fs::Disk;
    use crate::fs::sim::SimDisk;
    use std::collections::BTreeSet;
    use std::io::ErrorKind;

    fn contents(disk: &SimDisk, name: &str) -> BTreeSet<Option<Vec<u8>>> {
        let bytes =
            |image: SimDisk| image.list().unwrap().contains(&name.to_owned()).then(|| image.bytes(name));
        disk.crash_images(1, 100).map(bytes).collect()
    }

    fn synced(bytes: &[u8]) -> SimDisk {
        SimDisk::with_files([("a".to_owned(), bytes.to_vec())])
    }

    #[test]
    fn each_unsynced_sector_is_forgotten_kept_or_torn() {
        let disk = synced(&[0; 1024]);
        disk.open("a").unwrap().write_all_at(&[1; 1024], 0).unwrap();
        let images = contents(&disk, "a");
        assert_eq!(images.len(), 9);
        assert!(images.contains(&Some(vec![0; 1024])) && images.contains(&Some(vec![1; 1024])));
        assert!(images.contains(&Some([[0; 512], [1; 512]].concat())), "sectors land in any order");
        let torn =
            images.iter().flatten().find(|bytes| bytes[0] == 1 && bytes[511] == 0).expect("a torn one");
        assert!(torn[..512].is_sorted_by(|a, b| a >= b), "new bytes, then old ones");
        disk.open("a").unwrap().sync_data().unwrap();
        assert_eq!(contents(&disk, "a"), [Some(vec![1; 1024])].into());
    }

    #[test]
    fn names_are_forgotten_until_the_directory_is_synced() {
        let disk = synced(b"old");
        let file = disk.create("b").unwrap();
        file.write_all_at(b"new", 0).unwrap();
        file.sync_data().unwrap();
        assert_eq!(contents(&disk, "b"), [None, Some(b"new".to_vec())].into());
        disk.rename("b", "a").unwrap();
        assert_eq!(contents(&disk, "a"), [Some(b"old".to_vec()), Some(b"new".to_vec())].into());
        disk.sync_dir().unwrap();
        assert_eq!(contents(&disk, "a"), [Some(b"new".to_vec())].into());
        assert_eq!(contents(&disk, "b"), [None].into());
    }

    #[test]
    fn a_failed_sync_leaves_its_bytes_uncertain_for_ever() {
        let disk = synced(b"old");
        let file = disk.open("a").unwrap();
        file.write_all_at(b"new", 0).unwrap();
        disk.fail_sync(1, ErrorKind::Other);
        file.sync_data().unwrap_err();
        file.sync_data().unwrap();
        assert_eq!(disk.bytes("a"), b"new");
        let images = contents(&disk, "a");
        assert!(images.contains(&Some(b"old".to_vec())) && images.contains(&Some(b"new".to_vec())));
        file.write_all_at(b"new", 0).unwrap();
        file.sync_data().unwrap();
        assert_eq!(contents(&disk, "a"), [Some(b"new".to_vec())].into(), "written again, it is");
    }

    #[test]
    fn a_full_disk_takes_what_fits() {
        let disk = synced(b"old");
        disk.set_capacity(5);
        let file = disk.open("a").unwrap();
        assert_eq!(file.write_all_at(b"longer", 0).unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(disk.bytes("a"), b"longe");
        assert_eq!(disk.create("b").unwrap().set_size(1).unwrap_err().kind(), ErrorKind::StorageFull);
    }

    #[test]
    fn many_unsynced_sectors_give_as_many_images_as_asked_for() {
        let disk = synced(&[0; 8192]);
        disk.open("a").unwrap().write_all_at(&[1; 8192], 0).unwrap();
        assert_eq!(disk.crash_images(7, 100).count(), 100);
        assert!(contents(&disk, "a").len() > 70, "hardly any twice");
        disk.open("a").unwrap().sync_data().unwrap();
        disk.open("a").unwrap().write_all_at(&[2; 12 * 512], 0).unwrap();
        assert_eq!(disk.crash_images(7, 100).count(), 3 << 12);
        let sectors = |image: SimDisk| {
            let bytes = image.bytes("a");
            bytes.chunks(512).take(12).map(|sector| (sector[0], sector[511])).collect::<Vec<_>>()
        };
        let is_mixed = |sectors: &Vec<_>| [(1, 1), (2, 1), (2, 2)].iter().all(|one| sectors.contains(one));
        assert!(
            disk.crash_images(7, 100).map(sectors).any(|image| is_mixed(&image)),
            "old, torn and new ones"
        );
    }

    #[test]
    fn one_image_may_have_nothing_everything_or_anything() {
        let disk = synced(&[0; 2048]);
        disk.open("a").unwrap().write_all_at(&[1; 2048], 0).unwrap();
        let images: BTreeSet<_> = (0..200).map(|seed| disk.crash_image(seed).bytes("a")).collect();
        assert!(images.contains(&vec![0; 2048]) && images.contains(&vec![1; 2048]) && images.len() > 20);
        assert_eq!(disk.crash_image(7).bytes("a"), disk.crash_image(7).bytes("a"));
    }

    #[test]
    fn some_images_are_all_of_few_and_always_nothing_and_everything() {
        let disk = synced(&[0; 8192]);
        let file = disk.open("a").unwrap();
        file.write_all_at(&[1; 1024], 0).unwrap();
        assert_eq!(disk.crash_images_some(7, 9).count(), 9);
        for (sectors, seed) in [(2, 1), (9, 2), (12, 3), (16, 4)] {
            file.write_all_at(&[1; 8192][..sectors * 512], 0).unwrap();
            let images: Vec<_> = disk.crash_images_some(seed, 6).map(|image| image.bytes("a")).collect();
            assert_eq!(images.len(), 6);
            assert!(images.contains(&vec![0; 8192]), "{sectors} sectors are forgotten");
            assert!(images.contains(&disk.bytes("a")), "{sectors} sectors are kept");
        }
    }
}
