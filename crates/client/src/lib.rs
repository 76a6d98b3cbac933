//! The way to an AG-UI agent: opens a run at a URL and gives its events as exact bytes.
//!
//! An [`Endpoint`] is an agent's address and how to talk to it. [`Endpoint::run`] posts a run's input and gives an
//! [`EventStream`], which reads from the connection only when it is asked for an event, so that a slow caller slows the agent
//! and nothing piles up in between. What the events say is not looked at.
//!
//! The agent is not trusted: everything it sends is bounded in size and in time, redirects are not followed, and no encoding
//! is accepted that would have to be unpacked.
//!
//! [`Endpoint::ask`] is for what else a server can be asked, below the same URL: the `/v1` routes of `threadline serve`.
//!
//! Every run has a connection of its own, HTTP/1.1. Nothing is ever sent twice, and dropping an [`EventStream`], or the future
//! that opens one, closes the connection at once, which is how an agent learns that its run is cancelled.
//!
//! Certificates are checked against those that the operating system trusts, or against the file or directory that
//! `SSL_CERT_FILE` or `SSL_CERT_DIR` names.

mod address;
mod answer;
mod ask;
mod capabilities;
mod connect;
mod endpoint;
mod error;
mod events;
mod exchange;
mod headers;
mod tls;

pub use ask::{Answer, Payload};
pub use endpoint::{Endpoint, EndpointError, EndpointOptions};
pub use error::{ClientError, ErrorKind, Phase};
pub use events::{EventStream, Form, SourceEvent};
