//! AG-UI without loss.
pub mod capabilities;
pub mod codec;
pub mod content;
pub mod event;
pub mod json;
pub mod limits;
pub mod message;
pub mod metadata;
pub mod patch;
pub mod run;
mod schema;
pub mod stages;

pub use event::{Envelope, Event, EventType, Received};
pub use json::{Json, Text};
pub use limits::Limits;
pub use message::Message;
pub use run::RunAgentInput;
pub use schema::{Departure, DepartureKind, ReadError, ReadErrorKind, Unknown, UnknownToken, UnknownWords};
