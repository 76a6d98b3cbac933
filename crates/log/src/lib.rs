//! The engine: threads as append-only logs of records.
//!
//! A [`Store`] keeps records, runs and checkpoints; [`MemoryStore`] is the one that forgets. What decides about writes is in
//! [`state`], without I/O, so that stores share it.

pub mod checkpoint;
pub mod clock;
pub mod error;
pub mod fact;
pub mod memory;
pub mod names;
pub mod record;
pub mod run;
pub mod search;
pub mod state;
pub mod store;
pub mod thread;

pub use checkpoint::Checkpoint;
pub use error::{Error, ErrorKind};
pub use memory::MemoryStore;
pub use names::{AppendKey, Epoch, Incarnation, RunId, RunNo, Scope, ThreadId, ThreadKey, Timestamp};
pub use record::{Kind, NewRecord, Record};
pub use store::Store;
