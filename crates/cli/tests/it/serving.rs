//! `threadline serve` under load, and when things go wrong around it: the built binary, over real sockets.

pub(crate) mod agents;
mod backup;
mod bomb;
mod canary;
pub(crate) mod client;
mod crowd;
mod evidence;
mod foreign;
mod full;
mod hostile;
mod kill;
mod loris;
pub(crate) mod process;
mod readers;
mod remote;
mod shutdown;
mod traces;
mod unsafe_database;

pub(crate) use process::Served;
