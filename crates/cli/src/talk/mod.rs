//! `threadline run`: talking to an agent.

mod answers;
mod args;
mod conversation;
mod person;
mod recorder;
mod screen;
mod view;
mod visible;

pub(crate) use args::RunArgs;
pub(crate) use conversation::run;
pub(crate) use recorder::AFTER;
pub(crate) use screen::Screen;
