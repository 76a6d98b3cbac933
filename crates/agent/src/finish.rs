//! How a run that did not fail ends.

use crate::error::WriteError;
use serde::Serialize;
use threadline_protocol::Json;
use threadline_protocol::json::JsonNonNull;
use threadline_protocol::run::{Interrupt, Interrupts, NoInterrupts};

/// How a run that did not fail ends: what an agent returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finish {
    pub(crate) result: Option<JsonNonNull<'static>>,
    pub(crate) interrupts: Option<Interrupts<'static>>,
}

/// Why a run cannot wait for these interrupts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InterruptsError {
    /// There are none.
    #[error(transparent)]
    None(#[from] NoInterrupts),
    /// An answer would be for two of them.
    #[error("several interrupts have one id. interrupt={0}")]
    Repeated(String),
}

impl Finish {
    /// The run is done. Calls of the client's tools may be left for the client to answer.
    #[must_use]
    pub fn done() -> Self {
        Self::default()
    }

    /// The run is done and has a result. One that is `null` is none.
    ///
    /// # Errors
    /// If the result cannot be written as JSON.
    pub fn with_result(result: &impl Serialize) -> Result<Self, WriteError> {
        let result = Json::from_serialize(result)?;
        Ok(Self { result: JsonNonNull::try_from(result).ok(), interrupts: None })
    }

    /// The run waits for an answer, which the next run of the thread gets:
    /// [`RunContext::answer`](crate::RunContext::answer).
    #[must_use]
    pub fn interrupt(interrupt: Interrupt<'_>) -> Self {
        Self { result: None, interrupts: Some(interrupt.into_owned().into()) }
    }

    /// The run waits for several answers, which all come together.
    ///
    /// # Errors
    /// If there are none, or two have the same id.
    pub fn interrupts(interrupts: Vec<Interrupt<'static>>) -> Result<Self, InterruptsError> {
        for (at, interrupt) in interrupts.iter().enumerate() {
            if interrupts[..at].iter().any(|earlier| earlier.id == interrupt.id) {
                return Err(InterruptsError::Repeated(interrupt.id.to_string()));
            }
        }
        Ok(Self { result: None, interrupts: Some(interrupts.try_into()?) })
    }
}

impl From<()> for Finish {
    fn from((): ()) -> Self {
        Self::done()
    }
}
