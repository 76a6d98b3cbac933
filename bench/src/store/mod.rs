//! The log on disk, beside a bare file and beside the stores that a user would take instead.

mod aims;
mod alone;
mod broadcast;
mod candidates;
mod committer;
#[cfg(test)]
mod contract;
mod disk;
mod fjall;
mod floor;
mod history;
mod indexed;
mod kill;
mod live;
mod load;
mod ours;
mod plans;
mod quantiles;
mod redb;
mod sqlite;
mod subject;
mod table;
mod writes;
mod zeroed;

pub use alone::append_alone;
pub use kill::fill;
pub use plans::{Part, Scale, report};
