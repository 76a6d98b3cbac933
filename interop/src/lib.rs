//! The real peers: the published AG-UI packages of npm and PyPI, asked line by line.

pub mod peer;
