//! The server, asked over its routes, on a store in memory, with agents that say what a test wants.
#![expect(clippy::unwrap_used, reason = "what tests are helped by is part of them")]

mod access;
mod appending;
mod artifacts;
mod attaching;
mod buffered;
mod cancelling;
mod changes;
mod compressed;
mod examples;
mod harness;
mod history;
mod hostile_input;
mod inspecting;
mod inspector;
mod interrupts;
mod large_bodies;
mod load;
mod openapi;
mod options;
mod outages;
mod protobuf;
mod puppet;
mod quota;
mod records;
mod refusals;
mod resuming;
mod retaining;
mod running;
mod serving;
mod several;
mod sockets;
mod threads;
mod time_travel;
mod transfer;
