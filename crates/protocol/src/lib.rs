//! AG-UI without loss: types, codecs and pure stages.
//!
//! An event that was read is a [`Received`]: its exact text, the typed [`Event`] that it means, and its departures from
//! AG-UI 1.0. Strings and opaque values of the typed view are slices of the text, so having both costs one.
//!
//! ```
//! use threadline_protocol::stages::enforce::{Verdict, enforce};
//! use threadline_protocol::{Event, Received, UnknownWords};
//!
//! let json = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"hi","vendor":1.50}"#;
//! let received = Received::read(json)?;
//! assert_eq!(received.json(), json);
//! let Event::TextMessageContent(content) = received.event() else { panic!() };
//! assert_eq!(content.delta, "hi");
//!
//! // What a 1.0 client may see of it.
//! let Verdict::Kept { event, removed } = enforce(received, UnknownWords::Refuse) else { panic!() };
//! assert_eq!(event.json(), r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"hi"}"#);
//! assert_eq!(removed, ["/vendor"]);
//! # Ok::<(), threadline_protocol::ReadError>(())
//! ```
//!
//! An event that is made is valid: what is required is asked for, and what the protocol forbids cannot be said.
//!
//! ```
//! use threadline_protocol::Event;
//! use threadline_protocol::event::{RunFinished, TextMessageStart, TextRole};
//! use threadline_protocol::run::{Interrupt, RunInterrupt};
//!
//! let start = Event::from(TextMessageStart::new("m1").with_role(TextRole::Assistant));
//! assert_eq!(start.to_json(), r#"{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}"#);
//!
//! // An interrupt outcome has at least one interrupt.
//! let outcome = RunInterrupt::new(Interrupt::new("i1", "confirmation"));
//! let finished = Event::from(RunFinished::new("t1", "r1").with_outcome(outcome));
//! # assert!(finished.to_json().contains(r#""interrupts":[{"id":"i1""#));
//! ```
//!
//! [`codec`] finds events in bytes (SSE, JSONL, arrays, frames), [`proto`] is the binary form, [`stages`] work on
//! streams. Nothing here does I/O, looks at a clock or draws a random number.

pub mod capabilities;
pub mod check;
pub mod codec;
pub mod content;
pub mod event;
pub mod json;
pub mod limits;
pub mod message;
pub mod metadata;
pub mod patch;
pub mod proto;
pub mod rfc3339;
pub mod run;
mod schema;
mod serialize;
pub mod stages;

pub use event::{Envelope, Event, EventType, Received};
pub use json::{Json, Text};
pub use limits::Limits;
pub use message::Message;
pub use run::RunAgentInput;
pub use schema::{Departure, DepartureKind, ReadError, ReadErrorKind, Unknown, UnknownToken, UnknownWords};
pub use serialize::{RestoreError, RestoreReason, restore, serialize};
