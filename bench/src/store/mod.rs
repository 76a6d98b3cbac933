//! The log on disk, beside a bare file and beside the stores that a user would take instead.

mod aims;
mod alone;
mod broadcast;
mod by_hand;
mod candidates;
mod chained;
mod committer;
#[cfg(test)]
mod contract;
mod database;
mod database_plans;
mod fjall;
mod floor;
mod history;
mod indexed;
mod instances;
mod kill;
pub(crate) mod live;
pub(crate) mod load;
pub(crate) mod ours;
mod plans;
mod redb;
mod sqlite;
pub(crate) mod subject;
mod writes;
mod zeroed;

pub use alone::{append_alone, open_alone};
pub use database_plans::{DatabasePart, database_report};
pub use kill::fill;
pub use plans::{Part, Scale, report};
