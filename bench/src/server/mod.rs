//! The server over loopback, beside what people use instead of it.

mod aims;
mod asks;
mod copilotkit;
mod crowd;
mod delay;
mod exchange;
mod frames;
pub(crate) mod hosted;
mod pass_through;
mod plans;
mod runs;
mod threadline;
mod upstream;

pub use plans::{Part, Scale, report};
