//! Many connections at once, in front of a server in a process of its own, so that its memory and its time are its own.

mod apart;
mod followers;
mod noisy;
mod overload;
mod program;
mod slow;
mod transfer;

pub(super) use apart::leave_the_first;
pub(super) use followers::followers;
pub(super) use noisy::noisy;
pub(super) use overload::overload;
pub(super) use slow::{heads, slow};
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
    /// Whether the server has the first processor for itself.
    pub(super) is_apart: bool,
}

impl Stage<'_> {
    /// Who runs where, for the notes of tables.
    fn processors(&self) -> &'static str {
        match self.is_apart {
            true => "The server has one processor for itself, who asks and the agents have the others.",
            false => "Who asks is on the same processors, and what it takes is missing from the server.",
        }
    }
}
