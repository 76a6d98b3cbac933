//! The catalogue: what is derived from the log so that it need not be read again. SQLite; lost, it is made anew.

mod change;
mod compare;
mod connection;
mod damaged;
mod files;
mod packed;
mod rows;
mod search;
mod sums;
mod threads;

pub(crate) use change::{Changes, ThreadChange};
pub(crate) use connection::{Catalogue, CatalogueError};
pub(crate) use files::{BlockPlace, FileRow};
pub(crate) use rows::KeysSum;
pub(crate) use threads::StoredThread;
