//! The embedded store.
//!
//! [`journal`] is the append log that makes things durable; [`fs`] is the only way to files, so that a test can fail,
//! tear or forget any write.

pub mod fs;
pub mod journal;
