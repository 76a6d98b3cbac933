//! WebSocket: many requests over one connection, each as if it had come by itself.

mod answers;
mod connection;
mod exchange;
mod handshake;
mod message;

pub(crate) use connection::Connection;
pub(crate) use exchange::Session;
pub(crate) use handshake::Handshake;
