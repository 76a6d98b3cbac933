//! A client of AG-UI agents: runs that survive broken connections, threads that are kept up to date, and below that the exact bytes.
//!
//! A [`Client`] is an agent at a URL, and a [`Thread`] what a client holds of one of its threads: [`Thread::run`] and [`Thread::connect`]
//! give a [`Run`], whose events go through the stages of the protocol into messages and state, while a [`Subscriber`] is shown what
//! changes. [`Client::run`] gives the events alone, typed ([`RunEvents`]).
//!
//! Where a connection breaks, the client comes back by itself: behind the last cursor, if the server numbers its frames as
//! Threadline does, so that nothing is missed and nothing comes twice; else by attaching anew, if the server says that it can resume. Servers
//! that know neither are read as they are: what is lost then is an error, because a run that is sent again would be another run.
//! A run is sent a second time only if the server cannot have seen it, or says that it has not.
//!
//! An [`Endpoint`] is what lies below: [`Endpoint::run`] posts a run's input and gives an [`EventStream`], which reads from the connection
//! only when it is asked for an event, so that a slow caller slows the agent and nothing piles up in between. What the events say is
//! not looked at, and nothing is ever sent twice. [`Endpoint::ask`] is for what else a server can be asked, below the same URL: the
//! `/v1` routes of `threadline serve`. [`Endpoint::inquire`] is for who wants to see how a server behaves: it judges nothing.
//!
//! The agent is not trusted: everything it sends is bounded in size and in time, redirects are not followed, and no encoding
//! is accepted that would have to be unpacked. Every run has a connection of its own, HTTP/1.1. Dropping what reads it closes the connection
//! at once; most agents take that for a cancellation, and a Threadline server does not.
//!
//! Certificates are checked against those that the operating system trusts, or against the file or directory that
//! `SSL_CERT_FILE` or `SSL_CERT_DIR` names. A [`Client`] goes through the proxy that the environment names, an [`Endpoint`] only through one
//! that it is given.

mod address;
mod ambient;
mod answer;
mod ask;
mod capabilities;
mod client;
mod connect;
mod endpoint;
mod error;
mod events;
mod exchange;
mod headers;
mod inquiry;
mod interrupts;
mod proxy;
mod recovery;
mod refused;
mod routes;
mod run_events;
mod subscriber;
mod thread;
mod thread_error;
mod tls;
mod turn;
mod wire;

pub use ambient::{Ambient, System};
pub use ask::{Answer, Payload};
pub use client::{CancelAnswer, Client, ClientOptions};
pub use endpoint::{Endpoint, EndpointError, EndpointOptions};
pub use error::{ClientError, ErrorKind, Phase};
pub use events::{EventStream, Form, SourceEvent};
pub use inquiry::Reply;
pub use interrupts::{InterruptError, has_expired};
pub use proxy::Proxy;
pub use recovery::RecoveryOptions;
pub use refused::Refused;
pub use routes::Routes;
pub use run_events::{Heard, RunEvents};
pub use subscriber::{Quiet, Subscriber};
pub use thread::{Cancelled, Progress, Run, RunEnd, Thread};
pub use thread_error::ThreadError;
pub use turn::Turn;
