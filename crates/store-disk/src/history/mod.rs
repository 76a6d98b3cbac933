//! Sealed history: records and facts of many threads in one file, clustered by thread and compressed.

mod block;
mod cache;
mod dictionary;
mod file;
mod head;
mod index;
mod shelf;

#[cfg(any(test, feature = "sim"))]
pub(crate) use block::reread;
pub(crate) use block::{BLOCK_BYTES, Block, BlockBuilder};
#[cfg(any(test, feature = "sim"))]
pub(crate) use file::salvaged;
pub(crate) use file::{
    BlockAbout, HistoryError, HistoryFile, HistoryWriter, Salvaged, Written, file_name, file_number,
    is_leftover,
};
pub(crate) use index::{BlockEntry, BlockKind, Extent, Index, Mark, Place, Site, Span};
pub(crate) use shelf::{Ahead, Shelf};
