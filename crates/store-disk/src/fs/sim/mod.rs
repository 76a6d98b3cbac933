//! A disk in memory that knows what a power cut may leave of it.

mod disk;
mod image;
mod inode;
mod names;
mod random;
mod state;

pub use disk::{Operation, SimDisk};
pub use image::CrashImages;
#[cfg(test)]
pub(crate) use random::Random;
