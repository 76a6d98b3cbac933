//! What is ended when it is dropped.

use super::RunWriter;
use crate::error::WriteError;
use crate::ledger::Kind;
use threadline_protocol::{Event, Text};

/// Something that was begun and will be ended, at the latest when it is dropped.
#[derive(Debug)]
pub(super) struct Guard {
    pub(super) writer: RunWriter,
    kind: Kind,
    pub(super) id: Text<'static>,
    ended: bool,
}

impl Guard {
    pub(super) const fn new(writer: RunWriter, kind: Kind, id: Text<'static>) -> Self {
        Self { writer, kind, id, ended: false }
    }

    /// Writes something about what was begun.
    pub(super) async fn write(&self, event: impl Into<Event<'static>>) -> Result<(), WriteError> {
        self.writer.write(|turn| turn.emit(event)).await
    }

    /// Writes the end.
    pub(super) async fn end(&mut self, event: impl Into<Event<'static>>) -> Result<(), WriteError> {
        self.write(event).await?;
        self.ended = true;
        Ok(())
    }

    /// Something else has ended it.
    pub(super) const fn set_ended(&mut self) {
        self.ended = true;
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.ended {
            self.writer.abandon(self.kind, &self.id);
        }
    }
}
