//! Sources: whatever produces a run's events.

use async_trait::async_trait;
use bytes::Bytes;
use std::fmt;

/// Something that a source gave, its bytes as they came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// What should be the JSON of an event.
    Json(Bytes),
    /// Our JSON for an event that came as protobuf.
    FromProtobuf(Bytes),
    /// A frame that could not be decoded.
    Undecodable(Bytes),
}

impl Given {
    /// How large it is.
    #[must_use]
    pub const fn len(&self) -> usize {
        let (Self::Json(bytes) | Self::FromProtobuf(bytes) | Self::Undecodable(bytes)) = self;
        bytes.len()
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Why a source gives no more: the `code` and `message` of the RUN_ERROR that ends its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// A stable word.
    pub code: String,
    /// The same for people.
    pub message: String,
}

/// Produces the events of one run.
#[async_trait]
pub trait Source: Send + fmt::Debug {
    /// The next event; none when there are no more. Whoever drops a source stops what produces its events.
    ///
    /// # Errors
    /// If the source has failed. It is not asked again.
    ///
    /// # Cancel safety
    /// Nothing is lost if the future is dropped.
    async fn next(&mut self) -> Option<Result<Given, Failure>>;
}

/// A source that has failed before it gave anything.
#[derive(Debug)]
pub(super) struct Failed(Option<Failure>);

impl Failed {
    pub(super) fn new(code: &str, message: &str) -> Self {
        Self(Some(Failure { code: code.to_owned(), message: message.to_owned() }))
    }
}

#[async_trait]
impl Source for Failed {
    async fn next(&mut self) -> Option<Result<Given, Failure>> {
        self.0.take().map(Err)
    }
}
