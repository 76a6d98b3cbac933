//! The store on a disk that forgets, tears, fails and rots.

mod ahead;
mod beheaded;
mod catalogue;
mod contract;
mod crash;
mod damage;
mod doctor;
mod erase;
mod faults;
pub(crate) mod flags;
mod identity;
mod lost;
mod mended;
mod past;
mod races;
mod remembered;
mod rotten;
mod script;
mod sim;
