//! Storing a little later than delivering, for who can do without the last second after a crash.

mod aggregator;
mod merging;
mod writer;

pub use aggregator::{Aggregator, Aggregators};
pub use merging::{Merging, Unmerged};
pub use writer::{BufferOptions, BufferedWriter};
