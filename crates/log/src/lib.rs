//! The engine: threads as append-only logs of records.
//!
//! A [`Store`] keeps records, runs and checkpoints; [`MemoryStore`] is the one that forgets. What decides about writes is in
//! [`state`], without I/O, so that stores share it.

pub mod appending;
mod attach;
pub mod buffered;
pub mod chain;
pub mod checkpoint;
pub mod clock;
pub mod cloning;
pub mod delivery;
pub mod engine;
pub mod error;
pub mod fact;
pub mod follow;
mod hex;
mod interrupts;
pub mod kin;
pub mod lineage;
mod listening;
pub mod memory;
pub mod names;
pub mod opening;
pub mod outside;
pub mod record;
mod restating;
pub mod retention;
pub mod run;
pub mod run_fold;
pub mod sealed;
pub mod search;
pub mod snapshot;
pub mod state;
pub mod store;
mod tail;
pub mod thread;
mod to_its_end;
pub mod transfer;
mod upkeep;
pub mod varint;

pub use attach::Attached;
pub use checkpoint::Checkpoint;
pub use engine::{Batch, Engine, Options, RunWriter};
pub use error::{Error, ErrorKind};
pub use follow::Follower;
pub use memory::MemoryStore;
pub use names::{AppendKey, Epoch, Incarnation, RunId, RunNo, Scope, ThreadId, ThreadKey, Timestamp};
pub use opening::{HistoryMode, StartRun, Started};
pub use outside::{Contributed, Contribution};
pub use record::{Kind, NewRecord, Record};
pub use snapshot::{At, Located, Snapshot};
pub use store::Store;
