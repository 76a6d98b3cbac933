//! The real peers, the published AG-UI packages of npm and PyPI, asked line by line; and the generator of our protobuf types.

pub mod adk;
pub mod codegen;
pub mod node_agent;
pub mod peer;
mod served;
