//! Blocks: some records, or some facts, of one thread.
//!
//! Persisted, so must be kept stable. A block is a head of 104 bytes and a zstd frame. The head, little-endian:
//!
//! | at | what |
//! |---|---|
//! | 0 | `TLBK` |
//! | 4 | version, 1 or 2 |
//! | 5 | kind: 1 records, 2 facts |
//! | 6 | 1 if the frame was packed with another block before it, its *base*; of version 1: 0 |
//! | 7 | 0 |
//! | 8 | thread no |
//! | 16 | first offset (facts: 0) |
//! | 24 | last offset (facts: 0) |
//! | 32 | how many records or facts |
//! | 36 | bytes of the frame |
//! | 40 | bytes of what is in the frame |
//! | 44 | the base's checksum; without a base: 0 |
//! | 48 | the earliest time in it |
//! | 56 | the latest |
//! | 64 | 32 bytes of 0, reserved for a chain value |
//! | 96 | 0 |
//! | 100 | CRC-32C of all before and of the frame |
//!
//! A frame of version 2 was packed with something before it that it may repeat, which is needed to unpack it: what is in its base, or without
//! one the [dictionary](super::dictionary). The base is a block with facts of the same thread in the same file: a checkpoint has the text
//! that is in the records in pieces. Facts have no base, so that they can be read without anything else.
//!
//! In the frame, batches: first offset `u64`, run `u32`, count `u32`, time `i64`, bytes `u32`, body as in the journal. Or facts:
//! kind `u8`, flags `u8`, run `u32`, the thread's tail `u64`, time `i64`, bytes `u32`, body.

use super::dictionary::DICTIONARY;
use super::index::BlockKind;
use crate::entry::{BatchHead, FactEntry};
use bytes::{Buf, Bytes};
use threadline_log::{RunNo, Timestamp};
use zstd::zstd_safe::{self, CCtx, CParameter, DCtx};

/// A block is full when what is in it has this many bytes.
pub(crate) const BLOCK_BYTES: usize = 64 * 1024;

pub(super) const HEAD_BYTES: usize = 104;
const MAGIC: [u8; 4] = *b"TLBK";
const VERSION: u8 = 2;
/// Frames of this version were packed by themselves.
const VERSION_BARE: u8 = 1;
/// Where there is a base it is up to a quarter smaller than by level 1, at two thirds of the speed.
const ZSTD_LEVEL: i32 = 3;
/// No more than this is unpacked for the sake of other blocks.
const BASE_BYTES_MAX: usize = 2 * BLOCK_BYTES;
const CRC_AT: usize = 100;
const BATCH_HEAD_BYTES: usize = 28;
const FACT_HEAD_BYTES: usize = 26;

/// What is wrong with a block.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BlockError {
    #[error("it ends too early")]
    Short,
    #[error("it does not begin as a block")]
    Magic,
    #[error("its version is unknown. version={0}")]
    Version(u8),
    #[error("its kind is unknown. kind={0}")]
    Kind(u8),
    #[error("its checksum is wrong")]
    Checksum,
    #[error("it cannot be unpacked")]
    Unpack,
    #[error("it was packed with a block that is not there")]
    Base,
    #[error("what is in it does not fit its head")]
    Contents,
}

/// What a block says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockHead {
    pub(crate) kind: BlockKind,
    pub(crate) thread: u64,
    /// First and last offset.
    pub(crate) offsets: (u64, u64),
    pub(crate) count: u32,
    pub(crate) times: (i64, i64),
    is_bare: bool,
    /// The checksum of the block that it was packed with.
    pub(super) base: Option<u32>,
    packed_bytes: u32,
    raw_bytes: u32,
}

/// A batch of records in a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) head: BatchHead,
    pub(crate) body: Bytes,
}

/// A block that was read and is whole.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    pub(crate) head: BlockHead,
    pub(super) checksum: u32,
    raw: Bytes,
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], BlockError> {
    bytes.get(at..at + N).and_then(|field| field.try_into().ok()).ok_or(BlockError::Short)
}

impl BlockHead {
    /// How many bytes the block has, with its head.
    pub(super) fn block_bytes(&self) -> usize {
        HEAD_BYTES + self.packed_bytes as usize
    }

    /// Reads a head. Its checksum is over the whole block and not looked at.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, BlockError> {
        if field(bytes, 0)? != MAGIC {
            return Err(BlockError::Magic);
        }
        let [version, kind, has_base] = field(bytes, 4)?;
        if ![VERSION, VERSION_BARE].contains(&version) {
            return Err(BlockError::Version(version));
        }
        let base = u32::from_le_bytes(field(bytes, 44)?);
        Ok(Self {
            is_bare: version == VERSION_BARE,
            base: (has_base != 0).then_some(base),
            kind: BlockKind::from_code(kind).ok_or(BlockError::Kind(kind))?,
            thread: u64::from_le_bytes(field(bytes, 8)?),
            offsets: (u64::from_le_bytes(field(bytes, 16)?), u64::from_le_bytes(field(bytes, 24)?)),
            count: u32::from_le_bytes(field(bytes, 32)?),
            packed_bytes: u32::from_le_bytes(field(bytes, 36)?),
            raw_bytes: u32::from_le_bytes(field(bytes, 40)?),
            times: (i64::from_le_bytes(field(bytes, 48)?), i64::from_le_bytes(field(bytes, 56)?)),
        })
    }

    fn encode(&self, frame: &[u8]) -> (u32, Vec<u8>) {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + frame.len());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&[VERSION, self.kind.code(), u8::from(self.base.is_some()), 0]);
        for number in [self.thread, self.offsets.0, self.offsets.1] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for number in [self.count, self.packed_bytes, self.raw_bytes, self.base.unwrap_or_default()] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.times.0.to_le_bytes());
        bytes.extend_from_slice(&self.times.1.to_le_bytes());
        bytes.resize(CRC_AT, 0);
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&bytes), frame);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes.extend_from_slice(frame);
        (checksum, bytes)
    }
}

impl Block {
    /// Reads a block and checks it. If it has a base, this must be it.
    pub(super) fn decode(bytes: &[u8], base: Option<&Self>) -> Result<Self, BlockError> {
        let head = BlockHead::decode(bytes)?;
        let frame = bytes.get(HEAD_BYTES..head.block_bytes()).ok_or(BlockError::Short)?;
        let checksum = u32::from_le_bytes(field(bytes, CRC_AT)?);
        if checksum != crc32c::crc32c_append(crc32c::crc32c(&bytes[..CRC_AT]), frame) {
            return Err(BlockError::Checksum);
        }
        let before = match head.base {
            Some(wanted) => {
                let base = base.filter(|base| base.checksum == wanted && base.head.thread == head.thread);
                &base.ok_or(BlockError::Base)?.raw[..]
            }
            None if head.is_bare => &[],
            None => DICTIONARY,
        };
        let raw = unpack(frame, head.raw_bytes as usize, before).ok_or(BlockError::Unpack)?;
        Ok(Self { head, checksum, raw: raw.into() })
    }

    /// Whether others may be packed with it: what is unpacked for their sake is bounded.
    pub(crate) fn may_be_base(&self) -> bool {
        self.raw.len() <= BASE_BYTES_MAX
    }

    /// How many bytes it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.raw.len()
    }

    /// Its batches of records.
    pub(crate) fn batches(&self) -> Result<Vec<Batch>, BlockError> {
        let mut raw = self.raw.clone();
        let (mut batches, mut count) = (Vec::new(), 0_u64);
        while raw.has_remaining() {
            if raw.remaining() < BATCH_HEAD_BYTES {
                return Err(BlockError::Contents);
            }
            let (first, run) = (raw.get_u64_le(), RunNo(raw.get_u32_le()));
            let (records, time) = (raw.get_u32_le(), Timestamp(raw.get_i64_le()));
            let bytes = raw.get_u32_le() as usize;
            if raw.remaining() < bytes {
                return Err(BlockError::Contents);
            }
            count += u64::from(records);
            let head = BatchHead { first, count: records, run, time };
            batches.push(Batch { head, body: raw.split_to(bytes) });
        }
        if count != u64::from(self.head.count) {
            return Err(BlockError::Contents);
        }
        Ok(batches)
    }

    /// Its facts.
    pub(crate) fn facts(&self) -> Result<Vec<FactEntry>, BlockError> {
        let mut raw = self.raw.clone();
        let mut facts = Vec::new();
        while raw.has_remaining() {
            if raw.remaining() < FACT_HEAD_BYTES {
                return Err(BlockError::Contents);
            }
            let (kind, flags) = (raw.get_u8(), raw.get_u8());
            let (run, tail) = (RunNo(raw.get_u32_le()), raw.get_u64_le());
            let (time, bytes) = (Timestamp(raw.get_i64_le()), raw.get_u32_le() as usize);
            if raw.remaining() < bytes {
                return Err(BlockError::Contents);
            }
            facts.push(FactEntry { kind, flags, run, time, tail, body: raw.split_to(bytes) });
        }
        if facts.len() as u64 != u64::from(self.head.count) {
            return Err(BlockError::Contents);
        }
        Ok(facts)
    }
}

/// Collects what becomes a block.
#[derive(Debug)]
pub(crate) struct BlockBuilder {
    kind: BlockKind,
    thread: u64,
    offsets: Option<(u64, u64)>,
    times: (i64, i64),
    count: u32,
    raw: Vec<u8>,
}

impl BlockBuilder {
    pub(crate) fn new(kind: BlockKind, thread: u64) -> Self {
        Self { kind, thread, offsets: None, times: (i64::MAX, i64::MIN), count: 0, raw: Vec::new() }
    }

    pub(crate) fn thread(&self) -> u64 {
        self.thread
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many records or facts are in it.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Whether something with so many bytes should go into the next block.
    pub(crate) fn is_full_for(&self, bytes: usize) -> bool {
        !self.is_empty() && self.raw.len() + bytes > BLOCK_BYTES
    }

    pub(crate) fn push_batch(&mut self, head: BatchHead, body: &[u8]) {
        let last = head.end().saturating_sub(1);
        let (first, before) = self.offsets.unwrap_or((head.first, last));
        self.offsets = Some((first.min(head.first), before.max(last)));
        self.raw.extend_from_slice(&head.first.to_le_bytes());
        self.raw.extend_from_slice(&head.run.0.to_le_bytes());
        self.raw.extend_from_slice(&head.count.to_le_bytes());
        self.push_body(head.time, head.count, body);
    }

    pub(crate) fn push_fact(&mut self, fact: &FactEntry) {
        self.raw.extend_from_slice(&[fact.kind, fact.flags]);
        self.raw.extend_from_slice(&fact.run.0.to_le_bytes());
        self.raw.extend_from_slice(&fact.tail.to_le_bytes());
        self.push_body(fact.time, 1, &fact.body);
    }

    fn push_body(&mut self, time: Timestamp, count: u32, body: &[u8]) {
        let bytes = u32::try_from(body.len()).expect("the journal takes no entries of 4 GiB");
        self.raw.extend_from_slice(&time.0.to_le_bytes());
        self.raw.extend_from_slice(&bytes.to_le_bytes());
        self.raw.extend_from_slice(body);
        self.times = (self.times.0.min(time.0), self.times.1.max(time.0));
        self.count += count;
    }

    /// The block and its bytes, packed with another.
    pub(super) fn encode(self, base: Option<&Block>) -> std::io::Result<(Block, Vec<u8>)> {
        let frame = pack(&self.raw, base.map_or(DICTIONARY, |base| &base.raw))?;
        let too_long = || std::io::Error::other("a block of more than 4 GiB");
        let head = BlockHead {
            kind: self.kind,
            thread: self.thread,
            offsets: self.offsets.unwrap_or_default(),
            count: self.count,
            times: self.times,
            is_bare: false,
            base: base.map(|base| base.checksum),
            packed_bytes: u32::try_from(frame.len()).ok().ok_or_else(too_long)?,
            raw_bytes: u32::try_from(self.raw.len()).ok().ok_or_else(too_long)?,
        };
        let (checksum, bytes) = head.encode(&frame);
        Ok((Block { head, checksum, raw: self.raw.into() }, bytes))
    }
}

fn pack(raw: &[u8], before: &[u8]) -> std::io::Result<Vec<u8>> {
    let failed = |code| std::io::Error::other(zstd_safe::get_error_name(code));
    let mut context = CCtx::try_create().ok_or(std::io::ErrorKind::OutOfMemory)?;
    context.set_parameter(CParameter::CompressionLevel(ZSTD_LEVEL)).map_err(failed)?;
    context.ref_prefix(before).map_err(failed)?;
    let mut frame = Vec::with_capacity(zstd_safe::compress_bound(raw.len()));
    context.compress2(&mut frame, raw).map_err(failed)?;
    Ok(frame)
}

fn unpack(frame: &[u8], raw_bytes: usize, before: &[u8]) -> Option<Vec<u8>> {
    let mut context = DCtx::try_create()?;
    context.ref_prefix(before).ok()?;
    let mut raw = Vec::with_capacity(raw_bytes);
    context.decompress(&mut raw, frame).ok()?;
    (raw.len() == raw_bytes).then_some(raw)
}

/// A block with any bytes in it, whose checksum holds, read again.
#[cfg(any(test, feature = "sim"))]
pub(crate) fn reread(kind: BlockKind, count: u32, raw: &[u8]) -> Result<Block, BlockError> {
    let builder = BlockBuilder { count, raw: raw.to_vec(), ..BlockBuilder::new(kind, 1) };
    let (_, bytes) = builder.encode(None).ok().ok_or(BlockError::Short)?;
    Block::decode(&bytes, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(first: u64, count: u32) -> BatchHead {
        BatchHead { first, count, run: RunNo(3), time: Timestamp(40) }
    }

    fn facts(text: &str) -> BlockBuilder {
        let mut builder = BlockBuilder::new(BlockKind::Facts, 8);
        let (run, time, tail) = (RunNo(3), Timestamp(40), 9);
        let body = Bytes::copy_from_slice(text.as_bytes());
        builder.push_fact(&FactEntry { kind: 4, flags: 0, run, time, tail, body });
        builder
    }

    fn records(body: &[u8]) -> BlockBuilder {
        let mut builder = BlockBuilder::new(BlockKind::Records, 8);
        builder.push_batch(head(5, 2), body);
        builder.push_batch(head(9, 1), b"");
        builder
    }

    fn check_every_bit(bytes: &[u8], base: Option<&Block>) {
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Block::decode(&flipped, base).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(Block::decode(&bytes[..length], base).is_err(), "length {length}");
        }
    }

    #[test]
    fn a_block_gives_back_its_batches_and_no_bit_of_it_may_change() {
        let (written, bytes) = records(b"hello").encode(None).unwrap();
        let block = Block::decode(&bytes, None).unwrap();
        assert_eq!(
            (&block.head, block.checksum, &block.raw),
            (&written.head, written.checksum, &written.raw)
        );
        assert_eq!((block.head.offsets, block.head.count, block.head.thread), ((5, 9), 3, 8));
        let batches = block.batches().unwrap();
        assert_eq!(batches.iter().map(|batch| batch.head).collect::<Vec<_>>(), [head(5, 2), head(9, 1)]);
        assert_eq!(&batches[0].body[..], b"hello");
        check_every_bit(&bytes, None);
    }

    #[test]
    fn a_block_is_packed_with_another_and_unpacked_with_no_other() {
        let text: String = (0..400).map(|word| format!("{} ", word * word * 7919)).collect();
        let (base, base_bytes) = facts(&text).encode(None).unwrap();
        let (alone, bytes_alone) = records(text.as_bytes()).encode(None).unwrap();
        let (_, bytes) = records(text.as_bytes()).encode(Some(&base)).unwrap();
        assert!(bytes.len() < HEAD_BYTES + 60 && bytes_alone.len() > base_bytes.len() / 2, "{}", bytes.len());
        assert_eq!(Block::decode(&bytes, Some(&base)).unwrap().raw, alone.raw);
        let (other, _) = facts("other").encode(None).unwrap();
        for wrong in [None, Some(&other)] {
            assert_eq!(Block::decode(&bytes, wrong).unwrap_err(), BlockError::Base);
        }
        check_every_bit(&bytes, Some(&base));
    }
}
