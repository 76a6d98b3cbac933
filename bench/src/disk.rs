//! Folders, the page cache, and what a bare sync takes.

use crate::quantiles::Quantiles;
use rustix::fs::{Advice, fadvise};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A folder of this run, which goes with it.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// A new one in this folder, for this purpose.
    pub(crate) fn new(parent: &Path, name: &str) -> io::Result<Self> {
        let path = parent.join(format!("threadline-bench-{name}-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    /// An empty folder for one store.
    pub(crate) fn sub(&self, name: &str) -> io::Result<Self> {
        let path = self.0.join(name.replace([' ', ','], "-"));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind is in a folder for such things.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Does something with each file, in folders below, too.
fn each_file(dir: &Path, work: &mut impl FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            each_file(&entry.path(), work)?;
        } else {
            work(&entry.path())?;
        }
    }
    Ok(())
}

/// Takes the files out of the page cache, after they were written.
pub(crate) fn evict(dir: &Path) -> io::Result<()> {
    each_file(dir, &mut |path| {
        let file = File::open(path)?;
        file.sync_all()?;
        Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
    })
}

/// How much memory is used before something is measured: more than it will write.
const TOUCHED_BYTES: usize = 1 << 30;

/// Leaves the disk at rest, and memory at hand for files in this folder. On a virtual machine pages that nobody has used for a while may have to come
/// from its host, which takes longer than writing them to the disk: who comes first would pay for who comes next.
pub(crate) fn even_out(dir: &Path) -> io::Result<()> {
    let path = dir.join("touched");
    let mut file = File::create(&path)?;
    let piece = vec![0; 1 << 20];
    for _ in 0..TOUCHED_BYTES / piece.len() {
        file.write_all(&piece)?;
    }
    // Before the disk has got it.
    fs::remove_file(&path)?;
    drop(file);
    rustix::fs::sync();
    Ok(())
}

/// What the files take on the disk.
pub(crate) fn allocated_bytes(dir: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    each_file(dir, &mut |path| {
        bytes += fs::metadata(path)?.blocks() * 512;
        Ok(())
    })?;
    Ok(bytes)
}

/// How much memory this process holds.
pub(crate) fn resident_bytes() -> io::Result<u64> {
    let unreadable = || io::Error::other("the kernel does not say how much memory is held");
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or_else(unreadable)?;
    let kib = line.trim().trim_end_matches(" kB").parse::<u64>().map_err(io::Error::other)?;
    Ok(kib << 10)
}

/// What is written before each bare sync.
const PAGE_BYTES: usize = 4096;

/// How many pages the file of the bare syncs has.
const PAGES: u64 = 4096;

/// Where the pages of bare syncs go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pages {
    /// Over what was written before: the least that a durable ack can take.
    Written,
    /// Behind the end of the file.
    Appended,
}

/// What it takes to write a page and to sync it.
pub(crate) fn bare_sync(dir: &Path, syncs: u64, pages: Pages) -> io::Result<Quantiles> {
    let path = dir.join("sync");
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).open(&path)?;
    let page = [0x5A; PAGE_BYTES];
    if pages == Pages::Written {
        for _ in 0..PAGES {
            file.write_all(&page)?;
        }
        file.sync_all()?;
    }
    let times = (0..syncs).map(|number| {
        let at = if pages == Pages::Written { number % PAGES } else { number };
        let start = Instant::now();
        file.write_all_at(&page, at * PAGE_BYTES as u64)?;
        file.sync_data()?;
        Ok(start.elapsed())
    });
    let times = times.collect::<io::Result<_>>()?;
    fs::remove_file(&path)?;
    Ok(Quantiles::of(times))
}
