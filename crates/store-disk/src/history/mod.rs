//! Sealed history: records and facts of many threads in one file, clustered by thread and compressed.

mod block;
mod file;
mod index;
mod shelf;

#[cfg(any(test, feature = "sim"))]
pub(crate) use block::reread;
pub(crate) use block::{Batch, Block, BlockBuilder};
#[cfg(any(test, feature = "sim"))]
pub(crate) use file::salvaged;
pub(crate) use file::{
    BlockAbout, HistoryError, HistoryFile, HistoryWriter, file_name, file_number, is_leftover,
};
pub(crate) use index::{BlockEntry, BlockKind, Index, Mark, Place, Span};
pub(crate) use shelf::Shelf;
