//! The promises of the journal, on a disk that breaks.

mod commit;
mod crash;
mod damage;
mod faults;
mod history;
mod release;
mod sidecars;
mod spare;

pub(super) use history::{Told, sized_frames};
