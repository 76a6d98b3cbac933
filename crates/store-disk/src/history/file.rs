//! Files of blocks.
//!
//! Persisted, so must be kept stable. A file is a head of 32 bytes (`TLHIST`, version `u16`, number `u64`, place in the order of files
//! `u64`, 0 `u32`, CRC-32C of the head before `u32`), blocks one after the other, the index (JSON in a zstd frame), and a foot of 32 bytes: `TLHINDEX`, where the index begins `u64`, its bytes `u32`, its
//! CRC-32C `u32`, 0 `u32`, CRC-32C of the foot before `u32`. All numbers are little-endian. A file is written under another name,
//! synced, and renamed; it never changes afterwards.

use super::block::{Block, BlockBuilder, BlockError};
use super::head::Framed;
use super::index::{BlockEntry, Extent, Index, Place, Site};
use crate::fs::{Disk, DiskFile};
use crate::packing::pack;
use crate::priority::give_way;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

const MAGIC: [u8; 6] = *b"TLHIST";
const VERSION: u16 = 1;
const FILE_HEAD_BYTES: usize = 32;
const FOOT_MAGIC: [u8; 8] = *b"TLHINDEX";
const FOOT_BYTES: usize = 32;
const INDEX_ZSTD_LEVEL: i32 = 1;
/// Bytes that are collected before they are written and synced.
const BUFFER_BYTES: usize = 1 << 20;
const UNFINISHED: &str = ".tmp";

/// Why a history file cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HistoryError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("its head is damaged")]
    Head,
    #[error("it is of a newer format. version={0}")]
    Newer(u16),
    #[error("its foot is damaged")]
    Foot,
    #[error("its index is damaged")]
    Index,
    #[error("a block is damaged. at={at}: {error}")]
    Block { at: u64, error: BlockError },
}

/// The name of the history file with this number.
pub(crate) fn file_name(number: u64) -> String {
    format!("hist-{number:08}.blk")
}

/// The number of the history file with this name.
pub(crate) fn file_number(name: &str) -> Option<u64> {
    name.strip_prefix("hist-")?.strip_suffix(".blk")?.parse().ok()
}

/// The name of a file that is not finished.
pub(super) fn unfinished_name(number: u64) -> String {
    format!("{}{UNFINISHED}", file_name(number))
}

/// Whether a file was left by a writer that did not finish.
pub(crate) fn is_leftover(name: &str) -> bool {
    name.starts_with("hist-") && name.ends_with(UNFINISHED)
}

/// Writes a history file.
#[derive(Debug)]
pub(crate) struct HistoryWriter {
    disk: Arc<dyn Disk>,
    file: Arc<dyn DiskFile>,
    name: String,
    buffer: Vec<u8>,
    written: u64,
    index: Index,
    /// Where the blocks of another file are that were copied, by where they were.
    moved: HashMap<u64, Extent>,
}

/// A block as it was written.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) extent: Extent,
    pub(crate) block: Block,
}

/// A block that was found without the index.
#[derive(Debug)]
pub(crate) struct Salvaged {
    pub(crate) site: Site,
    pub(crate) block: Block,
}

impl HistoryWriter {
    /// Begins a file. All of `index` but its blocks is known.
    pub(crate) fn new(disk: Arc<dyn Disk>, index: Index) -> io::Result<Self> {
        let name = file_name(index.number);
        let file = disk.create(&format!("{name}{UNFINISHED}"))?;
        let mut buffer = Vec::with_capacity(BUFFER_BYTES);
        buffer.extend_from_slice(&MAGIC);
        buffer.extend_from_slice(&VERSION.to_le_bytes());
        buffer.extend_from_slice(&index.number.to_le_bytes());
        buffer.extend_from_slice(&index.order.to_le_bytes());
        buffer.extend_from_slice(&[0; 4]);
        buffer.extend_from_slice(&crc32c::crc32c(&buffer).to_le_bytes());
        Ok(Self { disk, file, name, buffer, written: 0, index, moved: HashMap::new() })
    }

    /// What is known about the file so far.
    pub(crate) fn index_mut(&mut self) -> &mut Index {
        &mut self.index
    }

    /// Adds a block, packed with another that is in the file. Returns it in the form in which others are packed with it.
    pub(crate) fn push(
        &mut self,
        block: BlockBuilder,
        about: BlockAbout,
        base: Option<&Written>,
    ) -> io::Result<Written> {
        let (block, bytes) = block.encode(base.map(|base| &base.block))?;
        let head = &block.head;
        let extent = Extent { at: self.written + self.buffer.len() as u64, bytes: bytes.len() as u64 };
        self.index.blocks.push(BlockEntry {
            thread: head.thread,
            kind: head.kind,
            at: extent.at,
            bytes: extent.bytes,
            base: base.map(|base| base.extent),
            first: head.offsets.0,
            last: head.offsets.1,
            count: head.count,
            times: head.times,
            runs: about.runs,
            places: about.places,
            tombstone: about.tombstone,
        });
        self.write(&bytes)?;
        Ok(Written { extent, block })
    }

    /// Adds a block as it is in another file, after the one that it was packed with.
    pub(crate) fn push_copy(&mut self, entry: &BlockEntry, bytes: &[u8]) -> io::Result<()> {
        let at = self.written + self.buffer.len() as u64;
        let base = match entry.base {
            Some(base) => {
                Some(*self.moved.get(&base.at).ok_or_else(|| io::Error::other("a block without its base"))?)
            }
            None => None,
        };
        self.moved.insert(entry.at, Extent { at, bytes: entry.bytes });
        self.index.blocks.push(BlockEntry { at, base, ..entry.clone() });
        self.write(bytes)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        give_way();
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all_at(&self.buffer, self.written)?;
        // Not all at the end: the journal's syncs would wait for it.
        self.file.sync_data()?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Removes what was written.
    pub(crate) fn abandon(self) -> io::Result<()> {
        self.disk.remove(&format!("{}{UNFINISHED}", self.name))
    }

    /// Ends the file. It is durable and has its name when this returns.
    pub(crate) fn finish(mut self) -> io::Result<Index> {
        let json = serde_json::to_vec(&self.index).map_err(io::Error::other)?;
        let index = pack(&json, INDEX_ZSTD_LEVEL, Vec::new())?;
        let index_at = self.written + self.buffer.len() as u64;
        let index_bytes = u32::try_from(index.len()).map_err(io::Error::other)?;
        let mut foot = Vec::with_capacity(FOOT_BYTES);
        foot.extend_from_slice(&FOOT_MAGIC);
        foot.extend_from_slice(&index_at.to_le_bytes());
        for number in [index_bytes, crc32c::crc32c(&index), 0] {
            foot.extend_from_slice(&number.to_le_bytes());
        }
        foot.extend_from_slice(&crc32c::crc32c(&foot).to_le_bytes());
        self.write(&index)?;
        self.write(&foot)?;
        self.flush()?;
        self.disk.rename(&format!("{}{UNFINISHED}", self.name), &self.name)?;
        self.disk.sync_dir()?;
        Ok(self.index)
    }
}

/// What the index says of a block beside its head.
#[derive(Debug, Default)]
pub(crate) struct BlockAbout {
    pub(crate) runs: Vec<(u32, u64)>,
    pub(crate) places: Vec<Place>,
    pub(crate) tombstone: bool,
}

/// A history file, open for reading.
#[derive(Debug)]
pub(crate) struct HistoryFile {
    name: String,
    file: Arc<dyn DiskFile>,
}

impl HistoryFile {
    pub(crate) fn open(disk: &dyn Disk, number: u64) -> io::Result<Self> {
        let name = file_name(number);
        let file = disk.open(&name)?;
        Ok(Self { name, file })
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Its number, and its place in the order of files.
    pub(crate) fn head(&self) -> Result<(u64, u64), HistoryError> {
        let mut head = [0; FILE_HEAD_BYTES];
        if self.file.size()? < FILE_HEAD_BYTES as u64 {
            return Err(HistoryError::Head);
        }
        self.file.read_exact_at(&mut head, 0)?;
        let [number, order] = [8, 16].map(|at| head[at..at + 8].try_into().map(u64::from_le_bytes));
        let crc = head[28..].try_into().map(u32::from_le_bytes);
        if head[..6] != MAGIC || crc.ok() != Some(crc32c::crc32c(&head[..28])) {
            return Err(HistoryError::Head);
        }
        let version = u16::from_le_bytes([head[6], head[7]]);
        if version > VERSION {
            return Err(HistoryError::Newer(version));
        }
        number.ok().zip(order.ok()).ok_or(HistoryError::Head)
    }

    /// Reads its index.
    pub(crate) fn index(&self) -> Result<Index, HistoryError> {
        let size = self.file.size()?;
        let (number, order) = self.head()?;
        let foot_at = size.checked_sub((FOOT_BYTES + FILE_HEAD_BYTES) as u64).ok_or(HistoryError::Foot)?
            + FILE_HEAD_BYTES as u64;
        let mut foot = [0; FOOT_BYTES];
        self.file.read_exact_at(&mut foot, foot_at)?;
        let (index_at, index_bytes, crc) = read_foot(&foot).ok_or(HistoryError::Foot)?;
        if index_at.checked_add(u64::from(index_bytes)) != Some(foot_at) {
            return Err(HistoryError::Foot);
        }
        let mut packed = vec![0; index_bytes as usize];
        self.file.read_exact_at(&mut packed, index_at)?;
        if crc32c::crc32c(&packed) != crc {
            return Err(HistoryError::Index);
        }
        let json = zstd::decode_all(&packed[..]).ok().ok_or(HistoryError::Index)?;
        let index: Index = serde_json::from_slice(&json).ok().ok_or(HistoryError::Index)?;
        if (index.number, index.order) != (number, order) || file_name(number) != self.name {
            return Err(HistoryError::Head);
        }
        Ok(index)
    }

    /// Reads a block and checks it.
    pub(crate) fn block(&self, site: Site) -> Result<Block, HistoryError> {
        self.block_bytes(site).map(|(block, _)| block)
    }

    /// The same, and its bytes.
    pub(crate) fn block_bytes(&self, site: Site) -> Result<(Block, Vec<u8>), HistoryError> {
        let base = site.base.map(|base| self.block(Site::alone(base))).transpose()?;
        let bytes = self.read(site.extent, 0)?;
        let block = Block::decode(&bytes, base.as_ref());
        Ok((block.map_err(|error| HistoryError::Block { at: site.extent.at, error })?, bytes))
    }

    /// Reads bytes, and on to `until` if there are so many.
    pub(super) fn read(&self, extent: Extent, until: u64) -> Result<Vec<u8>, HistoryError> {
        let short = || HistoryError::Block { at: extent.at, error: BlockError::Short };
        let size = self.file.size()?;
        if extent.end() > size {
            return Err(short());
        }
        let bytes = extent.end().max(until.min(size)) - extent.at;
        let mut buffer = vec![0; usize::try_from(bytes).ok().ok_or_else(short)?];
        self.file.read_exact_at(&mut buffer, extent.at)?;
        Ok(buffer)
    }

    /// All blocks that are whole, found without the index.
    pub(crate) fn salvage(&self) -> Result<Vec<Salvaged>, HistoryError> {
        let size = self.file.size()?;
        let mut bytes = vec![0; usize::try_from(size).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut bytes, 0)?;
        let (mut at, mut found) = (FILE_HEAD_BYTES.min(bytes.len()), Vec::new());
        while at < bytes.len() {
            match salvage_block(&bytes, at, &found) {
                Some(salvaged) => {
                    at += usize::try_from(salvaged.site.extent.bytes).map_err(io::Error::other)?;
                    found.push(salvaged);
                }
                None => at += 1,
            }
        }
        Ok(found)
    }
}

/// The block that begins at a byte. The one it was packed with comes before it.
fn salvage_block(bytes: &[u8], at: usize, found: &[Salvaged]) -> Option<Salvaged> {
    let framed = Framed::read(&bytes[at..]).ok()?;
    let base =
        framed.head.base.and_then(|base| found.iter().rev().find(|found| found.block.checksum == base));
    let block = Block::decode(&bytes[at..], base.map(|base| &base.block)).ok()?;
    let extent = Extent { at: at as u64, bytes: framed.block_bytes() as u64 };
    Some(Salvaged { site: Site { extent, base: base.map(|base| base.site.extent) }, block })
}

/// The blocks that are found in a file with these bytes.
#[cfg(any(test, feature = "sim"))]
pub(crate) fn salvaged(bytes: Vec<u8>) -> Vec<Block> {
    let disk = crate::fs::sim::SimDisk::with_files([(file_name(1), bytes)]);
    let Ok(file) = HistoryFile::open(&disk, 1) else { return Vec::new() };
    _ = file.index();
    file.salvage().unwrap_or_default().into_iter().map(|salvaged| salvaged.block).collect()
}

fn read_foot(foot: &[u8; FOOT_BYTES]) -> Option<(u64, u32, u32)> {
    let u32_at = |at: usize| foot[at..at + 4].try_into().ok().map(u32::from_le_bytes);
    if foot[..8] != FOOT_MAGIC || crc32c::crc32c(&foot[..28]) != u32_at(28)? {
        return None;
    }
    Some((u64::from_le_bytes(foot[8..16].try_into().ok()?), u32_at(16)?, u32_at(20)?))
}

#[cfg(test)]
mod tests {
    use super::super::index::BlockKind;
    use super::*;
    use crate::entry::{CHECKPOINT, FactEntry};
    use crate::fs::sim::SimDisk;
    use threadline_log::sealed::batch::BatchHead;
    use threadline_log::{RunNo, Timestamp};

    fn facts(thread: u64, text: &str) -> BlockBuilder {
        let mut builder = BlockBuilder::new(BlockKind::Facts, thread);
        let (run, time, body) = (RunNo(0), Timestamp(1), text.to_owned().into());
        builder.push_fact(&FactEntry { kind: CHECKPOINT, flags: 0, run, time, tail: 9, body });
        builder
    }

    fn records(thread: u64, text: &str) -> BlockBuilder {
        let mut builder = BlockBuilder::new(BlockKind::Records, thread);
        let head = BatchHead { first: 0, count: 1, run: RunNo(0), time: Timestamp(1) };
        builder.push_batch(head, text.as_bytes());
        builder
    }

    #[test]
    fn a_block_finds_its_base_by_the_index_and_without_and_where_it_was_copied() {
        let disk: Arc<dyn Disk> = Arc::new(SimDisk::new());
        let mut writer =
            HistoryWriter::new(Arc::clone(&disk), Index { number: 1, ..Index::default() }).unwrap();
        for thread in 0..3 {
            let text = format!("what was said in thread {thread} and is said again");
            let base = writer.push(facts(thread, &text), BlockAbout::default(), None).unwrap();
            writer.push(records(thread, &text), BlockAbout::default(), Some(&base)).unwrap();
        }
        let index = writer.finish().unwrap();
        let file = HistoryFile::open(&*disk, 1).unwrap();
        let sites: Vec<Site> = index.blocks.iter().map(BlockEntry::site).collect();
        assert_eq!(file.index().unwrap(), index);
        assert_eq!(sites.iter().filter(|site| site.base.is_some()).count(), 3);
        let salvaged = file.salvage().unwrap();
        assert_eq!(salvaged.iter().map(|found| found.site).collect::<Vec<_>>(), sites);

        let mut copy =
            HistoryWriter::new(Arc::clone(&disk), Index { number: 2, ..Index::default() }).unwrap();
        // Without those of the first thread all others are elsewhere.
        for entry in &index.blocks[2..] {
            copy.push_copy(entry, &file.block_bytes(entry.site()).unwrap().1).unwrap();
        }
        let orphan = &index.blocks[1];
        assert!(copy.push_copy(orphan, &file.block_bytes(orphan.site()).unwrap().1).is_err());
        let copied = copy.finish().unwrap();
        let file = HistoryFile::open(&*disk, 2).unwrap();
        for (entry, before) in copied.blocks.iter().zip(&index.blocks[2..]) {
            assert_eq!((entry.thread, entry.kind), (before.thread, before.kind));
            assert_ne!(entry.site(), before.site());
            file.block(entry.site()).unwrap();
        }
    }
}
