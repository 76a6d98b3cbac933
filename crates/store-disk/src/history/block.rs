//! Blocks: some records, or some facts, of one thread.
//!
//! Persisted, so must be kept stable. A block is a [head](super::head) and a zstd frame.
//!
//! A frame was packed with something before it that it may repeat, which is needed to unpack it: the [dictionary](super::dictionary), and
//! what is in the base behind that. (Version 1: nothing. Version 2: the base, or without one the first dictionary.) The base is a block with facts of
//! the same thread in the same file: a checkpoint has the text that is in the records in pieces. Facts have no base, so that they can be read
//! without anything else.
//!
//! In the frame, if not by column, batches: first offset `u64`, run `u32`, count `u32`, time `i64`, bytes `u32`, body: as the journal's without
//! shared beginnings. Or facts: kind `u8`, flags `u8`, run `u32`, the thread's tail `u64`, time `i64`, bytes `u32`, body.

use super::head::{BlockHead, Framed, Prefix};
use super::index::BlockKind;
use crate::entry::FactEntry;
use bytes::{Buf, Bytes};
use threadline_log::chain::ChainValue;
use threadline_log::sealed::batch::{self, Batch, BatchHead};
use threadline_log::sealed::{columns, frame};
use threadline_log::{RunNo, Timestamp};

/// A block is full when what is in it has this many bytes.
pub(crate) const BLOCK_BYTES: usize = 64 * 1024;

/// No more than this is unpacked for the sake of other blocks.
const BASE_BYTES_MAX: usize = 2 * BLOCK_BYTES;
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
    #[error("it has features that are unknown. flags={0}")]
    Flags(u8),
    #[error("its checksum is wrong")]
    Checksum,
    #[error("it cannot be unpacked")]
    Unpack,
    #[error("it was packed with a block that is not there")]
    Base,
    #[error("what is in it does not fit its head")]
    Contents,
}

/// A block that was read and is whole.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    pub(crate) head: BlockHead,
    pub(super) checksum: u32,
    raw: Bytes,
}

impl Block {
    /// Reads a block and checks it. If it has a base, this must be it.
    pub(super) fn decode(bytes: &[u8], base: Option<&Self>) -> Result<Self, BlockError> {
        let framed = Framed::read(bytes)?;
        let packed = framed.frame(bytes)?;
        let Framed { head, checksum, .. } = framed;
        let base = match head.base {
            Some(wanted) => {
                let base = base.filter(|base| base.checksum == wanted && base.head.thread == head.thread);
                Some(&base.ok_or(BlockError::Base)?.raw[..])
            }
            None => None,
        };
        let before = head.prefix.bytes(base);
        let in_frame = head.column_bytes.unwrap_or(head.raw_bytes);
        let mut raw = frame::unpack(packed, in_frame as usize, &before).ok_or(BlockError::Unpack)?;
        if head.column_bytes.is_some() {
            raw = columns::unfold(&raw, head.raw_bytes as usize).ok_or(BlockError::Contents)?;
        }
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
        batches(&self.raw, self.head.count)
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
    chain: Option<ChainValue>,
}

impl BlockBuilder {
    pub(crate) fn new(kind: BlockKind, thread: u64) -> Self {
        let times = (i64::MAX, i64::MIN);
        Self { kind, thread, offsets: None, times, count: 0, raw: Vec::new(), chain: None }
    }

    /// With the value of the thread's chain after the last record.
    pub(crate) fn chained(self, chain: Option<ChainValue>) -> Self {
        Self { chain, ..self }
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
        head.put(length(body), &mut self.raw);
        self.push_body(head.time, head.count, body);
    }

    pub(crate) fn push_fact(&mut self, fact: &FactEntry) {
        self.raw.extend_from_slice(&[fact.kind, fact.flags]);
        self.raw.extend_from_slice(&fact.run.0.to_le_bytes());
        self.raw.extend_from_slice(&fact.tail.to_le_bytes());
        self.raw.extend_from_slice(&fact.time.0.to_le_bytes());
        self.raw.extend_from_slice(&length(&fact.body).to_le_bytes());
        self.push_body(fact.time, 1, &fact.body);
    }

    fn push_body(&mut self, time: Timestamp, count: u32, body: &[u8]) {
        self.raw.extend_from_slice(body);
        self.times = (self.times.0.min(time.0), self.times.1.max(time.0));
        self.count += count;
    }

    /// The block and its bytes, packed with another.
    pub(super) fn encode(self, base: Option<&Block>) -> std::io::Result<(Block, Vec<u8>)> {
        let too_long = || std::io::Error::other("a block of more than 4 GiB");
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).ok().ok_or_else(too_long);
        let raw = Bytes::from(self.raw);
        let columns = match self.kind {
            BlockKind::Records => batches(&raw, self.count).ok().and_then(|batches| by_column(&batches)),
            BlockKind::Facts => None,
        };
        let before = Prefix::Dictionary.bytes(base.map(|base| &base.raw[..]));
        let frame = frame::pack(columns.as_deref().unwrap_or(&raw), &before)?;
        let head = BlockHead {
            kind: self.kind,
            thread: self.thread,
            offsets: self.offsets.unwrap_or_default(),
            count: self.count,
            times: self.times,
            prefix: Prefix::Dictionary,
            base: base.map(|base| base.checksum),
            packed_bytes: length(&frame)?,
            raw_bytes: length(&raw)?,
            column_bytes: columns.as_deref().map(length).transpose()?,
            chain: self.chain,
        };
        let (checksum, bytes) = head.encode(&frame);
        Ok((Block { head, checksum, raw }, bytes))
    }
}

fn length(body: &[u8]) -> u32 {
    u32::try_from(body.len()).expect("the journal takes no entries of 4 GiB")
}

/// The batches in these bytes, if they have so many records.
fn batches(raw: &Bytes, records: u32) -> Result<Vec<Batch>, BlockError> {
    let batches = batch::batches(raw.clone()).ok_or(BlockError::Contents)?;
    let count: u64 = batches.iter().map(|batch| u64::from(batch.head.count)).sum();
    if count != u64::from(records) {
        return Err(BlockError::Contents);
    }
    Ok(batches)
}

/// The batches by column. None if what is in them are no records.
fn by_column(batches: &[Batch]) -> Option<Vec<u8>> {
    let heads: Vec<BatchHead> = batches.iter().map(|batch| batch.head).collect();
    let records = batches.iter().map(|batch| batch.records().ok()).collect::<Option<Vec<_>>>()?.concat();
    Some(columns::fold(&heads, &records))
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
        builder.chained(Some(ChainValue([7; 32])))
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
        assert!(bytes.len() < 152 && bytes_alone.len() > base_bytes.len() / 2, "{}", bytes.len());
        assert_eq!(Block::decode(&bytes, Some(&base)).unwrap().raw, alone.raw);
        let (other, _) = facts("other").encode(None).unwrap();
        for wrong in [None, Some(&other)] {
            assert_eq!(Block::decode(&bytes, wrong).unwrap_err(), BlockError::Base);
        }
        check_every_bit(&bytes, Some(&base));
    }
}
