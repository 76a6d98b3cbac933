//! `threadline replay`: what was recorded, again.

mod args;
mod pace;
mod player;
mod recording;
mod serving;

pub(crate) use args::ReplayArgs;
pub(crate) use player::run;
use player::say;
