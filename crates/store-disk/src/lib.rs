//! The embedded store.
//!
//! [`journal`] is the append log that makes things durable; [`fs`] is the only way to files, so that a test can fail,
//! tear or forget any write. [`DiskStore`] is made of them: what is settled moves from the journal to history files, and a
//! catalogue in SQLite keeps what would otherwise have to be read again. The log and the history are the truth; the catalogue can be
//! lost.

mod ailments;
mod catalogue;
mod chores;
mod dirs;
pub mod doctor;
mod done;
mod engine;
mod entry;
mod erase;
pub mod fs;
#[cfg(any(test, feature = "sim"))]
#[doc(hidden)]
pub mod fuzzing;
mod history;
mod identity;
pub mod journal;
mod kept;
mod known;
mod missing;
mod numbered;
mod open;
mod overlay;
mod packing;
mod priority;
mod read;
mod rebuild;
mod restated;
mod seal;
mod store;
mod unsealed;
mod usages;
mod write;

pub use dirs::Directories;
pub use identity::{FORMAT, IdentityError};
pub use open::{DiskOptions, OpenError, OpenReport};
pub use store::DiskStore;

#[cfg(test)]
mod tests;
