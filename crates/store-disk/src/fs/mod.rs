//! All access to files: one small trait, the real disk, one that only remembers what is written, and a simulated one that forgets, tears and fails.

mod disk;
mod real;
mod shadow;
#[cfg(any(test, feature = "sim"))]
pub mod sim;

pub use disk::{DirLock, Disk, DiskFile, LockError};
pub use real::RealDisk;
pub(crate) use shadow::Shadow;
