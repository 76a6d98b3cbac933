//! All access to files: one small trait, the real disk, and a simulated one that forgets, tears and fails.

mod disk;
mod real;
#[cfg(any(test, feature = "sim"))]
pub mod sim;

pub use disk::{DirLock, Disk, DiskFile, LockError};
pub use real::RealDisk;
