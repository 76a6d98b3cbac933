//! Blocks: some records, or some facts, of one thread.
//!
//! Persisted, so must be kept stable. A block is a head of 104 bytes and a zstd frame. The head, little-endian:
//!
//! | at | what |
//! |---|---|
//! | 0 | `TLBK` |
//! | 4 | version, 1 |
//! | 5 | kind: 1 records, 2 facts |
//! | 6 | 0 |
//! | 8 | thread no |
//! | 16 | first offset (facts: 0) |
//! | 24 | last offset (facts: 0) |
//! | 32 | how many records or facts |
//! | 36 | bytes of the frame |
//! | 40 | bytes of what is in the frame |
//! | 44 | 0 |
//! | 48 | the earliest time in it |
//! | 56 | the latest |
//! | 64 | 32 bytes of 0, reserved for a chain value |
//! | 96 | 0 |
//! | 100 | CRC-32C of all before and of the frame |
//!
//! In the frame, batches: first offset `u64`, run `u32`, count `u32`, time `i64`, bytes `u32`, body as in the journal. Or facts:
//! kind `u8`, flags `u8`, run `u32`, the thread's tail `u64`, time `i64`, bytes `u32`, body.

use super::index::BlockKind;
use crate::entry::{BatchHead, FactEntry};
use bytes::{Buf, Bytes};
use threadline_log::{RunNo, Timestamp};

/// A block is full when what is in it has this many bytes.
pub(crate) const BLOCK_BYTES: usize = 64 * 1024;

pub(super) const HEAD_BYTES: usize = 104;
const MAGIC: [u8; 4] = *b"TLBK";
const VERSION: u8 = 1;
const ZSTD_LEVEL: i32 = 1;
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
        let [version, kind] = field(bytes, 4)?;
        if version != VERSION {
            return Err(BlockError::Version(version));
        }
        Ok(Self {
            kind: BlockKind::from_code(kind).ok_or(BlockError::Kind(kind))?,
            thread: u64::from_le_bytes(field(bytes, 8)?),
            offsets: (u64::from_le_bytes(field(bytes, 16)?), u64::from_le_bytes(field(bytes, 24)?)),
            count: u32::from_le_bytes(field(bytes, 32)?),
            packed_bytes: u32::from_le_bytes(field(bytes, 36)?),
            raw_bytes: u32::from_le_bytes(field(bytes, 40)?),
            times: (i64::from_le_bytes(field(bytes, 48)?), i64::from_le_bytes(field(bytes, 56)?)),
        })
    }

    fn encode(&self, frame: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + frame.len());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&[VERSION, self.kind.code(), 0, 0]);
        for number in [self.thread, self.offsets.0, self.offsets.1] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for number in [self.count, self.packed_bytes, self.raw_bytes, 0] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.times.0.to_le_bytes());
        bytes.extend_from_slice(&self.times.1.to_le_bytes());
        bytes.resize(CRC_AT, 0);
        let crc = crc32c::crc32c_append(crc32c::crc32c(&bytes), frame);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes.extend_from_slice(frame);
        bytes
    }
}

impl Block {
    /// Reads a block and checks it.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, BlockError> {
        let head = BlockHead::decode(bytes)?;
        let frame = bytes.get(HEAD_BYTES..head.block_bytes()).ok_or(BlockError::Short)?;
        let crc = crc32c::crc32c_append(crc32c::crc32c(&bytes[..CRC_AT]), frame);
        if crc != u32::from_le_bytes(field(bytes, CRC_AT)?) {
            return Err(BlockError::Checksum);
        }
        let raw = zstd::bulk::decompress(frame, head.raw_bytes as usize).ok().ok_or(BlockError::Unpack)?;
        if raw.len() != head.raw_bytes as usize {
            return Err(BlockError::Unpack);
        }
        Ok(Self { head, raw: raw.into() })
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

    /// The block's head and bytes.
    pub(super) fn encode(&self) -> std::io::Result<(BlockHead, Vec<u8>)> {
        let frame = zstd::bulk::compress(&self.raw, ZSTD_LEVEL)?;
        let too_long = || std::io::Error::other("a block of more than 4 GiB");
        let head = BlockHead {
            kind: self.kind,
            thread: self.thread,
            offsets: self.offsets.unwrap_or_default(),
            count: self.count,
            times: self.times,
            packed_bytes: u32::try_from(frame.len()).ok().ok_or_else(too_long)?,
            raw_bytes: u32::try_from(self.raw.len()).ok().ok_or_else(too_long)?,
        };
        let bytes = head.encode(&frame);
        Ok((head, bytes))
    }
}

/// A block with any bytes in it, whose checksum holds, read again.
#[cfg(any(test, feature = "sim"))]
pub(crate) fn reread(kind: BlockKind, count: u32, raw: &[u8]) -> Result<Block, BlockError> {
    let builder = BlockBuilder { count, raw: raw.to_vec(), ..BlockBuilder::new(kind, 1) };
    let (_, bytes) = builder.encode().ok().ok_or(BlockError::Short)?;
    Block::decode(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(first: u64, count: u32) -> BatchHead {
        BatchHead { first, count, run: RunNo(3), time: Timestamp(40) }
    }

    #[test]
    fn a_block_gives_back_its_batches_and_no_bit_of_it_may_change() {
        let mut builder = BlockBuilder::new(BlockKind::Records, 8);
        builder.push_batch(head(5, 2), b"hello");
        builder.push_batch(head(9, 1), b"");
        let (written, bytes) = builder.encode().unwrap();
        let block = Block::decode(&bytes).unwrap();
        assert_eq!(block.head, written);
        assert_eq!((block.head.offsets, block.head.count, block.head.thread), ((5, 9), 3, 8));
        let batches = block.batches().unwrap();
        assert_eq!(batches.iter().map(|batch| batch.head).collect::<Vec<_>>(), [head(5, 2), head(9, 1)]);
        assert_eq!(&batches[0].body[..], b"hello");
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Block::decode(&flipped).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(Block::decode(&bytes[..length]).is_err(), "length {length}");
        }
    }
}
