//! Many connections at once, in front of a server in a process of its own, so that its memory and its time are its own.

mod followers;
mod noisy;
mod overload;
mod program;
mod slow;
mod transfer;

pub(super) use followers::followers;
pub(super) use noisy::noisy;
pub(super) use overload::overload;
pub(super) use slow::slow;
pub(super) use transfer::transfer;

use crate::disk::Folder;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tokio::runtime::Runtime;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crowd {
    /// For how long there is too much to do.
    pub(super) time: Duration,
    /// How many runs of about 11 MiB a thread has that is taken out and in.
    pub(super) transfer_runs: usize,
}

/// Where it is measured.
#[derive(Clone, Copy)]
pub(super) struct Stage<'s> {
    pub(super) program: &'s Path,
    pub(super) agent: SocketAddr,
    pub(super) folder: &'s Folder,
    pub(super) world: &'s Runtime,
}
