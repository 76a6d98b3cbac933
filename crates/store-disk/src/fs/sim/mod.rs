//! A disk in memory that knows what a power cut may leave of it.

mod dir;
mod disk;
mod image;
mod inode;
mod names;
mod random;
mod state;

pub(crate) use dir::SimDir;
pub use disk::{Operation, SimDisk};
pub use image::CrashImages;
#[cfg(test)]
pub(crate) use random::Random;
