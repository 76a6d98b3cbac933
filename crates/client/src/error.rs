//! What can go wrong between us and an agent.

use http::StatusCode;
use std::error::Error;
use std::io;
use std::time::Duration;
use thiserror::Error;
use threadline_protocol::codec::DecodeError;

/// Why a run could not be opened, or why its events stopped coming.
///
/// None of the messages holds a header, a body, or more of the URL than its host.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The name has no address, nobody listens there, or the certificate is not trusted.
    #[error("agent cannot be reached. host={host}")]
    Unreachable {
        /// The host and port of the URL.
        host: String,
        /// What happened at the last address that was tried.
        source: io::Error,
    },
    /// Something took longer than it may.
    #[error("agent took too long. phase={}, after={after:?}", phase.as_str())]
    Timeout {
        /// What was waited for.
        phase: Phase,
        /// How long.
        after: Duration,
    },
    /// The answer is none, redirects included: they are not followed.
    #[error("agent answered with an error status. status={}", status.as_u16())]
    Status {
        /// The status.
        status: StatusCode,
        /// When it wants to be asked again, if it says so.
        retry_after: Option<Duration>,
        /// The beginning of the body, at most 4 KiB, as text.
        body: String,
    },
    /// The answer is of a type that holds no events.
    #[error("answer is no event stream. content-type={found}")]
    ContentType {
        /// The type, or its beginning.
        found: String,
    },
    /// The answer is compressed, although we said of no encoding that we know it.
    #[error("answer has an encoding that was not asked for. content-encoding={found}")]
    ContentEncoding {
        /// The encoding, or its beginning.
        found: String,
    },
    /// The agent does not speak HTTP/1.1.
    #[error("answer is not http")]
    Http {
        /// What is wrong with it.
        source: Box<dyn Error + Send + Sync>,
    },
    /// What the agent says of itself is no JSON object.
    #[error("capabilities are no json object")]
    Capabilities {
        /// What is wrong with them.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A line or an event exceeds its limit.
    #[error("agent sent too much at once")]
    EventTooLarge {
        /// Which limit, and where.
        source: DecodeError,
    },
    /// The body as a whole exceeds its limit.
    #[error("answer too large. limit={limit}")]
    TooLarge {
        /// The limit, in bytes.
        limit: u64,
    },
    /// The body ended inside a protobuf frame.
    #[error("answer ends inside an event")]
    Truncated {
        /// Where, and how much of it came.
        source: DecodeError,
    },
    /// The answer ended in good order, but its run did not.
    #[error("answer ended before its run")]
    Unfinished,
    /// The connection broke before the answer was whole.
    #[error("connection broke")]
    Broken {
        /// How.
        source: Box<dyn Error + Send + Sync>,
    },
}

/// What was waited for in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// A connection, ready to be used: name, TCP and TLS.
    Connect,
    /// The head of the answer.
    Response,
    /// The next byte of the answer.
    Idle,
    /// All of what the agent says of itself.
    Capabilities,
}

/// Kinds of errors, by what they mean for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There was no connection. The agent knows nothing of the run.
    Unreachable,
    /// The agent took too long.
    Timeout(Phase),
    /// The agent refused.
    Status,
    /// What the agent sent is not what AG-UI over HTTP looks like.
    Protocol,
    /// The agent sent more than it may.
    TooLarge,
    /// The answer ended before it was whole.
    Broken,
}

impl ClientError {
    /// What kind of error it is.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Unreachable { .. } => ErrorKind::Unreachable,
            Self::Timeout { phase, .. } => ErrorKind::Timeout(*phase),
            Self::Status { .. } => ErrorKind::Status,
            Self::ContentType { .. }
            | Self::ContentEncoding { .. }
            | Self::Http { .. }
            | Self::Capabilities { .. } => ErrorKind::Protocol,
            Self::EventTooLarge { .. } | Self::TooLarge { .. } => ErrorKind::TooLarge,
            Self::Truncated { .. } | Self::Unfinished | Self::Broken { .. } => ErrorKind::Broken,
        }
    }

    /// A name for its kind, for other programs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.kind().code()
    }

    /// What hyper says of an exchange that failed.
    pub(crate) fn from_hyper(error: hyper::Error) -> Self {
        let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
        // Of a body that is badly framed, hyper says nothing but this.
        let is_misframed = source
            .is_some_and(|io| matches!(io.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput));
        if error.is_parse() || is_misframed {
            Self::Http { source: error.into() }
        } else {
            Self::Broken { source: error.into() }
        }
    }
}

impl From<DecodeError> for ClientError {
    fn from(source: DecodeError) -> Self {
        match source {
            DecodeError::TruncatedFrame { .. } => Self::Truncated { source },
            _ => Self::EventTooLarge { source },
        }
    }
}

impl ErrorKind {
    /// A name for it, for other programs.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Unreachable => "upstream_unreachable",
            Self::Timeout(_) => "upstream_timeout",
            Self::Status => "upstream_status",
            Self::Protocol => "upstream_malformed",
            Self::TooLarge => "upstream_too_large",
            Self::Broken => "upstream_broken",
        }
    }
}

impl Phase {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Response => "response",
            Self::Idle => "idle",
            Self::Capabilities => "capabilities",
        }
    }
}
