//! What can go wrong while an agent runs.

use std::fmt;
use threadline_protocol::json::NotJson;
use threadline_protocol::patch::PatchError;
use threadline_protocol::stages::verify::Violation;

/// Why something could not be written. An agent passes it on with `?`: the run then ends as it should.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The run was cancelled, or nobody reads it any more.
    #[error("the run is cancelled")]
    Cancelled,
    /// The run, or the subagent, has ended.
    #[error("the run or the subagent has ended")]
    Ended,
    /// A value has no JSON, or not the kind of JSON that belongs there.
    #[error("not the json that belongs here: {0}")]
    Json(#[from] NotJson),
    /// An event would be larger than clients read.
    #[error("event too large. bytes={bytes}, limit={limit}")]
    TooLarge {
        /// How large.
        bytes: usize,
        /// How large it may be.
        limit: usize,
    },
    /// A state or an activity nests deeper than clients can patch.
    #[error("nested too deep")]
    TooDeep,
    /// A patch does not fit what it is for.
    #[error(transparent)]
    Patch(#[from] PatchError),
    /// The name of an extension is not words with dots between them.
    #[error("not a dotted name. name={0}")]
    Name(String),
    /// All messages were to be replaced while some are being written.
    #[error("messages are being written")]
    MessagesOpen,
    /// An id or a name is taken: clients would refuse the event.
    #[error("{0}")]
    Refused(Violation),
}

impl From<Violation> for WriteError {
    fn from(violation: Violation) -> Self {
        Self::Refused(violation)
    }
}

/// Why a run failed: what the client reads in RUN_ERROR.
///
/// Any error becomes one by `?`. The client is told its text, without its causes; an error whose text is not for clients
/// is better replaced by an [`AgentError::new`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentError {
    message: String,
    code: Option<String>,
}

impl AgentError {
    /// A failure, in words for the client.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: None }
    }

    /// The same for programs: any word.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// What the client reads.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What programs read.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }
}

impl<E: std::error::Error> From<E> for AgentError {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
