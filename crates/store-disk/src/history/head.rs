//! The heads of blocks.
//!
//! Persisted, so must be kept stable. A block of version 3 is a head and a zstd frame:
//!
//! | size | what |
//! |---|---|
//! | 4 | `TLBK` |
//! | 1 | version, 3 |
//! | 1 | kind: 1 records, 2 facts |
//! | 1 | flags. Bit 0: the frame was packed with another block before it, its *base*. Bit 1: the records are in it [by column](threadline_log::sealed::columns). Bit 2: a chain value follows the head |
//! | 1 | 0 |
//! | 4 | CRC-32C of the 8 bytes before and of all behind |
//! | varint | thread no |
//! | varint | first offset (facts: 0) |
//! | varint | last offset minus the first |
//! | varint | how many records or facts |
//! | varint | bytes of the frame |
//! | varint | bytes of what is in it, as batches or facts |
//! | varint | if it has columns: bytes of these |
//! | zigzag | the earliest time in it |
//! | zigzag | the latest minus the earliest |
//! | 4 | if it has a base: the base's checksum |
//! | 32 | if bit 2 of the flags is set: the value of the thread's [chain](threadline_log::chain) after the last record, from offset 0 on |
//! | | the frame |
//!
//! Versions 1 and 2 have a head of 104 bytes with the same fields, little-endian: magic, version, kind, 1 if there is a base, 0, thread at 8, first offset at 16,
//! last offset at 24, count at 32, bytes of the frame at 36 and of what is in it at 40 (each `u32`), the base's checksum at 44, times at 48 and 56, zeros
//! from 64, and at 100 the CRC-32C of all before and of the frame, which follows. They have no columns.

use super::block::BlockError;
use super::dictionary::NAMES;
use super::index::BlockKind;
use std::borrow::Cow;
use threadline_log::chain::ChainValue;
use threadline_log::sealed::dictionary::DICTIONARY;
use threadline_log::varint;

const MAGIC: [u8; 4] = *b"TLBK";
const VERSION: u8 = 3;
/// Heads of this version and the one before are of one length.
const VERSION_FIXED: u8 = 2;
/// Frames of this version were packed by themselves.
const VERSION_BARE: u8 = 1;
const FIXED_BYTES: usize = 104;
const FIXED_CHECKSUM_AT: usize = 100;

const HAS_BASE: u8 = 1;
const HAS_COLUMNS: u8 = 2;
const HAS_CHAIN: u8 = 4;
const CHECKSUM_AT: usize = 8;
const NUMBERS_AT: usize = 12;

/// What a block says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockHead {
    pub(crate) kind: BlockKind,
    pub(crate) thread: u64,
    /// First and last offset.
    pub(crate) offsets: (u64, u64),
    pub(crate) count: u32,
    pub(crate) times: (i64, i64),
    pub(super) prefix: Prefix,
    /// The checksum of the block that it was packed with.
    pub(super) base: Option<u32>,
    pub(super) packed_bytes: u32,
    pub(super) raw_bytes: u32,
    /// How many bytes the columns have, if it has some.
    pub(super) column_bytes: Option<u32>,
    /// The value of the thread's chain after the last record. None where records before it were gone when it was written.
    pub(crate) chain: Option<ChainValue>,
}

/// What a frame was packed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prefix {
    /// Nothing: version 1.
    Nothing,
    /// What is in the base, or the first dictionary: version 2.
    NamesOrBase,
    /// The second dictionary, and what is in the base: version 3.
    Dictionary,
}

impl Prefix {
    /// Its bytes, if this is in the base.
    pub(super) fn bytes(self, base: Option<&[u8]>) -> Cow<'_, [u8]> {
        match (self, base) {
            (Self::Nothing, _) => Cow::Borrowed(&[]),
            (Self::NamesOrBase, base) => Cow::Borrowed(base.unwrap_or(NAMES)),
            (Self::Dictionary, None) => Cow::Borrowed(DICTIONARY),
            (Self::Dictionary, Some(base)) => Cow::Owned([DICTIONARY, base].concat()),
        }
    }
}

/// A head at the front of a block, and where the rest of the block is.
#[derive(Debug)]
pub(super) struct Framed {
    pub(super) head: BlockHead,
    /// Of the whole block. Nobody has compared it.
    pub(super) checksum: u32,
    checksum_at: usize,
    frame_at: usize,
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], BlockError> {
    bytes.get(at..at + N).and_then(|field| field.try_into().ok()).ok_or(BlockError::Short)
}

impl Framed {
    /// Reads the head at the front of `bytes`, which need not reach to the end of the block. Its checksum is not looked at.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, BlockError> {
        if field(bytes, 0)? != MAGIC {
            return Err(BlockError::Magic);
        }
        match field(bytes, 4)? {
            [VERSION] => Self::read_short(bytes),
            [VERSION_FIXED | VERSION_BARE] => Self::read_fixed(bytes),
            [version] => Err(BlockError::Version(version)),
        }
    }

    fn read_fixed(bytes: &[u8]) -> Result<Self, BlockError> {
        let [version, kind, has_base] = field(bytes, 4)?;
        let base = u32::from_le_bytes(field(bytes, 44)?);
        let head = BlockHead {
            prefix: if version == VERSION_BARE { Prefix::Nothing } else { Prefix::NamesOrBase },
            base: (has_base != 0).then_some(base),
            kind: BlockKind::from_code(kind).ok_or(BlockError::Kind(kind))?,
            thread: u64::from_le_bytes(field(bytes, 8)?),
            offsets: (u64::from_le_bytes(field(bytes, 16)?), u64::from_le_bytes(field(bytes, 24)?)),
            count: u32::from_le_bytes(field(bytes, 32)?),
            packed_bytes: u32::from_le_bytes(field(bytes, 36)?),
            raw_bytes: u32::from_le_bytes(field(bytes, 40)?),
            column_bytes: None,
            chain: None,
            times: (i64::from_le_bytes(field(bytes, 48)?), i64::from_le_bytes(field(bytes, 56)?)),
        };
        let checksum = u32::from_le_bytes(field(bytes, FIXED_CHECKSUM_AT)?);
        Ok(Self { head, checksum, checksum_at: FIXED_CHECKSUM_AT, frame_at: FIXED_BYTES })
    }

    fn read_short(bytes: &[u8]) -> Result<Self, BlockError> {
        let [kind, flags] = field(bytes, 5)?;
        if flags & !(HAS_BASE | HAS_COLUMNS | HAS_CHAIN) != 0 {
            return Err(BlockError::Flags(flags));
        }
        let kind = BlockKind::from_code(kind).ok_or(BlockError::Kind(kind))?;
        let checksum = u32::from_le_bytes(field(bytes, CHECKSUM_AT)?);
        let mut rest = bytes.get(NUMBERS_AT..).ok_or(BlockError::Short)?;
        let mut number = || varint::take(&mut rest).ok_or(BlockError::Short);
        let (thread, first, more) = (number()?, number()?, number()?);
        let mut number = || u32::try_from(number()?).ok().ok_or(BlockError::Short);
        let (count, packed_bytes, raw_bytes) = (number()?, number()?, number()?);
        let column_bytes = if flags & HAS_COLUMNS == 0 { None } else { Some(number()?) };
        let mut time = || varint::take_signed(&mut rest).ok_or(BlockError::Short);
        let (earliest, more_time) = (time()?, time()?);
        let times = (earliest, earliest.wrapping_add(more_time));
        let mut base = None;
        if flags & HAS_BASE != 0 {
            base = Some(u32::from_le_bytes(field(rest, 0)?));
            rest = &rest[size_of::<u32>()..];
        }
        let mut chain = None;
        if flags & HAS_CHAIN != 0 {
            chain = Some(ChainValue(field(rest, 0)?));
            rest = &rest[size_of::<ChainValue>()..];
        }
        let offsets = (first, first.wrapping_add(more));
        let head = BlockHead {
            kind,
            thread,
            offsets,
            count,
            times,
            prefix: Prefix::Dictionary,
            base,
            packed_bytes,
            raw_bytes,
            column_bytes,
            chain,
        };
        Ok(Self { head, checksum, checksum_at: CHECKSUM_AT, frame_at: bytes.len() - rest.len() })
    }

    /// How many bytes the block has.
    pub(super) fn block_bytes(&self) -> usize {
        self.frame_at.saturating_add(self.head.packed_bytes as usize)
    }

    /// The frame of the block, if the checksum holds.
    pub(super) fn frame<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8], BlockError> {
        let bytes = bytes.get(..self.block_bytes()).ok_or(BlockError::Short)?;
        match sum(bytes, self.checksum_at) == self.checksum {
            true => Ok(&bytes[self.frame_at..]),
            false => Err(BlockError::Checksum),
        }
    }
}

/// The checksum of a block, without the place where it is.
fn sum(bytes: &[u8], checksum_at: usize) -> u32 {
    let behind = checksum_at + size_of::<u32>();
    crc32c::crc32c_append(crc32c::crc32c(&bytes[..checksum_at]), &bytes[behind..])
}

impl BlockHead {
    /// The checksum and the bytes of the block with this head and this frame.
    pub(super) fn encode(&self, frame: &[u8]) -> (u32, Vec<u8>) {
        let mut bytes = Vec::with_capacity(FIXED_BYTES + frame.len());
        let flags = if self.base.is_some() { HAS_BASE } else { 0 }
            | if self.column_bytes.is_some() { HAS_COLUMNS } else { 0 }
            | if self.chain.is_some() { HAS_CHAIN } else { 0 };
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&[VERSION, self.kind.code(), flags, 0]);
        bytes.extend_from_slice(&[0; NUMBERS_AT - CHECKSUM_AT]);
        for number in [self.thread, self.offsets.0, self.offsets.1.wrapping_sub(self.offsets.0)] {
            varint::put(&mut bytes, number);
        }
        for number in [self.count, self.packed_bytes, self.raw_bytes].into_iter().chain(self.column_bytes) {
            varint::put(&mut bytes, number.into());
        }
        varint::put_signed(&mut bytes, self.times.0);
        varint::put_signed(&mut bytes, self.times.1.wrapping_sub(self.times.0));
        bytes.extend(self.base.iter().flat_map(|base| base.to_le_bytes()));
        bytes.extend(self.chain.iter().flat_map(|value| value.0));
        bytes.extend_from_slice(frame);
        let checksum = sum(&bytes, CHECKSUM_AT);
        bytes[CHECKSUM_AT..NUMBERS_AT].copy_from_slice(&checksum.to_le_bytes());
        (checksum, bytes)
    }
}
