//! What goes on, for the user to see.

use super::RunWriter;
use crate::error::WriteError;
use crate::state::{change, to_document};
use serde::Serialize;
use std::borrow::Cow;
use threadline_protocol::event::{ActivityDelta, ActivitySnapshot};
use threadline_protocol::json::JsonObject;
use threadline_protocol::limits::PatchLimits;
use threadline_protocol::patch::{Document, JsonPatch};
use threadline_protocol::{Event, Text};

/// An activity: a message that shows what goes on, and changes while it does. It stays as it is when this is dropped.
#[derive(Debug)]
pub struct Activity {
    writer: RunWriter,
    id: Text<'static>,
    activity_type: Text<'static>,
    content: Document,
}

impl Activity {
    pub(super) async fn start(
        writer: &RunWriter,
        activity_type: &str,
        content: &impl Serialize,
    ) -> Result<Self, WriteError> {
        let content = to_document(content)?;
        let shown = JsonObject::try_from(content.to_json())?;
        let activity_type = Text::from(activity_type.to_owned());
        let id = writer
            .write(|turn| {
                let id = turn.mint();
                let mut snapshot = ActivitySnapshot::new(id.clone(), activity_type.clone(), shown);
                snapshot.subagent_run_id = writer.lane();
                turn.emit(snapshot).map(|()| id)
            })
            .await?;
        Ok(Self { writer: writer.clone(), id, activity_type, content })
    }

    /// What names the activity's message in its thread.
    #[must_use]
    pub fn id(&self) -> Cow<'_, str> {
        self.id.to_str()
    }

    /// Shows something else: sends the change if that is smaller, else the whole, and nothing if nothing is different.
    ///
    /// # Errors
    /// If the run is cancelled, or the content is no JSON object or too large.
    pub async fn update(&mut self, content: &impl Serialize) -> Result<(), WriteError> {
        let next = to_document(content)?;
        let shown = JsonObject::try_from(next.to_json())?;
        match change(&mut self.content.clone(), &next) {
            Some(patch) if patch.is_empty() => {}
            Some(patch) => self.send_patch(patch).await?,
            None => {
                let mut snapshot = ActivitySnapshot::new(self.id.clone(), self.activity_type.clone(), shown);
                snapshot.subagent_run_id = self.writer.lane();
                self.send(snapshot).await?;
            }
        }
        self.content = next;
        Ok(())
    }

    /// Sends a change. It must fit what is shown.
    ///
    /// # Errors
    /// If the run is cancelled, or the patch does not fit or leaves no object.
    pub async fn patch(&mut self, patch: JsonPatch<'static>) -> Result<(), WriteError> {
        let mut next = self.content.clone();
        next.apply(&patch, &PatchLimits::default())?;
        JsonObject::try_from(next.to_json())?;
        self.send_patch(patch).await?;
        self.content = next;
        Ok(())
    }

    async fn send_patch(&self, patch: JsonPatch<'static>) -> Result<(), WriteError> {
        let mut delta = ActivityDelta::new(self.id.clone(), self.activity_type.clone(), patch);
        delta.subagent_run_id = self.writer.lane();
        self.send(delta).await
    }

    async fn send(&self, event: impl Into<Event<'static>>) -> Result<(), WriteError> {
        self.writer.write(|turn| turn.emit(event)).await
    }
}
