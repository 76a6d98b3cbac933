//! Which stores are measured, and at what.

use super::broadcast::Broadcast;
use super::committer::Grouped;
use super::fjall::Fjall;
use super::floor::Floor;
use super::history::{self, Filled, Repeat};
use super::indexed::Indexed;
use super::kill::{self, Opened};
use super::live::{self, FanOut};
use super::load::Load;
use super::ours::Ours;
use super::plans::Scale;
use super::redb::Redb;
use super::sqlite::Sqlite;
use super::subject::{Live, Reads, Subject};
use super::writes::{self, Outcome, Shape};
use super::zeroed::Zeroed;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A store that takes part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<R> {
    pub(super) name: &'static str,
    pub(super) is_ours: bool,
    /// What is done with it.
    pub(super) run: R,
}

impl<R> Candidate<R> {
    const fn peer(name: &'static str, run: R) -> Self {
        Self { name, is_ours: false, run }
    }

    const fn ours(run: R) -> Self {
        Self { name: OURS, is_ours: true, run }
    }
}

/// Others are compared with these.
const OURS: &str = "Threadline";
pub(super) const FLOOR: &str = "floor";
pub(super) const FJALL: &str = "fjall";
pub(super) const SQLITE: &str = "SQLite";
pub(super) const REDB: &str = "redb";

/// Writes to an empty store.
pub(super) type Write = fn(&Path, &Arc<Load>, Shape) -> io::Result<Outcome>;

const fn write<S: Subject>() -> Write {
    writes::run::<S>
}

pub(super) const WRITERS: &[Candidate<Write>] = &[
    Candidate::ours(write::<Ours>()),
    Candidate::peer(FLOOR, write::<Grouped<Floor>>()),
    Candidate::peer("floor, pre-zeroed", write::<Grouped<Zeroed>>()),
    Candidate::peer(FJALL, write::<Grouped<Fjall>>()),
    Candidate::peer(SQLITE, write::<Grouped<Sqlite>>()),
    Candidate::peer(REDB, write::<Grouped<Redb>>()),
];

/// Fills a store and reads from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    pub(super) prepare: fn(&Path, &Scale) -> io::Result<Filled>,
    pub(super) repeat: fn(&Path, &Filled, &Scale, u64) -> io::Result<Repeat>,
}

const fn read<S: Reads>() -> Read {
    Read { prepare: history::prepare::<S>, repeat: history::repeat::<S> }
}

pub(super) const READERS: &[Candidate<Read>] = &[
    Candidate::ours(read::<Ours>()),
    Candidate::peer(FLOOR, read::<Grouped<Indexed>>()),
    Candidate::peer(FJALL, read::<Grouped<Fjall>>()),
    Candidate::peer(SQLITE, read::<Grouped<Sqlite>>()),
];

/// Fills a store until the process is killed, and opens it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Killed {
    pub(super) fill: fn(&Path, u64, u32) -> io::Result<()>,
    pub(super) open: fn(&Path, bool) -> io::Result<Opened>,
}

const fn killed<S: Reads>() -> Killed {
    Killed { fill: kill::fill_until_killed::<S>, open: kill::open::<S> }
}

pub(super) const KILLED: &[Candidate<Killed>] = &[
    Candidate::ours(killed::<Ours>()),
    Candidate::peer(FLOOR, killed::<Grouped<Indexed>>()),
    Candidate::peer(FJALL, killed::<Grouped<Fjall>>()),
    Candidate::peer(SQLITE, killed::<Grouped<Sqlite>>()),
];

/// Follows, and asks for messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lively {
    pub(super) idle: fn(&Path) -> io::Result<f64>,
    pub(super) follow: fn(&Path, usize, usize) -> io::Result<FanOut>,
    pub(super) prepare_messages: fn(&Path) -> io::Result<()>,
    pub(super) messages: fn(&Path, &Scale) -> io::Result<[f64; 2]>,
}

const fn lively<S: Live>() -> Lively {
    Lively {
        idle: live::idle::<S>,
        follow: live::follow::<S>,
        prepare_messages: live::prepare_messages::<S>,
        messages: live::messages::<S>,
    }
}

pub(super) const LIVELY: &[Candidate<Lively>] =
    &[Candidate::ours(lively::<Ours>()), Candidate::peer(FLOOR, lively::<Broadcast>())];
