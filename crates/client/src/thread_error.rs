//! What can go wrong with a run as a whole.

use crate::{ClientError, InterruptError};
use thiserror::Error;
use threadline_protocol::stages::consumer::Stop;

/// Why a run cannot be read any further.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ThreadError {
    /// The server refuses, or what happened would happen again.
    #[error("{source}")]
    Failed {
        /// What happened.
        source: ClientError,
    },
    /// The connection was lost, and could not be made again. On a server that keeps runs, the run may go on.
    #[error("server cannot be heard any more: {source}")]
    Exhausted {
        /// What happened the last time.
        source: ClientError,
    },
    /// The connection was lost, and the server has no way back to a run, so that the rest of it is lost as well; or it was asked for one and
    /// has none.
    #[error("server cannot resume: {source}")]
    NotResumable {
        /// What happened.
        source: ClientError,
    },
    /// The server broke the rules of the protocol.
    #[error("stream breaks the protocol: {0}")]
    Stop(#[from] Stop),
    /// Questions are not answered as they must be.
    #[error(transparent)]
    Interrupts(#[from] InterruptError),
}

impl ThreadError {
    /// What happened between us and the server, if that was it.
    #[must_use]
    pub const fn client_error(&self) -> Option<&ClientError> {
        match self {
            Self::Failed { source } | Self::Exhausted { source } | Self::NotResumable { source } => {
                Some(source)
            }
            Self::Stop(_) | Self::Interrupts(_) => None,
        }
    }
}
