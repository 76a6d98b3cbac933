//! Activities and changes of them.

use super::Output;
use super::content::merge;
use crate::event::{ActivityDelta, ActivitySnapshot, Event};
use crate::json::{JsonObject, Text};
use crate::limits::PatchLimits;
use crate::patch::Document;
use std::collections::HashMap;

/// Where the snapshot of each activity is that changes go into. Only of those that replace whatever was there: what one
/// that does not replace leaves behind is unknown.
#[derive(Default)]
pub(super) struct Activities(HashMap<Text<'static>, usize>);

impl Activities {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes in a snapshot that would stand at `at`. True if it went into an earlier one.
    pub(super) fn take_snapshot<'a>(
        &mut self,
        snapshot: &ActivitySnapshot<'a>,
        at: usize,
        out: &mut Output<'a>,
    ) -> bool {
        if snapshot.replace == Some(false) {
            self.0.remove(snapshot.message_id.wtf8());
            return false;
        }
        let Some(earlier) = self.earlier(&snapshot.message_id, out) else {
            self.0.insert(snapshot.message_id.clone().into_owned(), at);
            return false;
        };
        earlier.activity_type.clone_from(&snapshot.activity_type);
        earlier.content.clone_from(&snapshot.content);
        earlier.subagent_run_id.clone_from(&snapshot.subagent_run_id);
        earlier.raw_event = None;
        merge(&mut earlier.metadata, snapshot.metadata.as_ref());
        true
    }

    /// Takes in a change. True if it went into a snapshot.
    pub(super) fn take_delta(&mut self, delta: &ActivityDelta<'_>, out: &mut Output<'_>) -> bool {
        let Some(snapshot) = self.earlier(&delta.message_id, out) else { return false };
        merge(&mut snapshot.metadata, delta.metadata.as_ref());
        snapshot.raw_event = None;
        // A change that cannot be made changes nothing, here as in a fold.
        let changed = Document::parse(snapshot.content.as_json()).ok().and_then(|mut document| {
            document.apply(&delta.patch, &PatchLimits::default()).ok()?;
            JsonObject::try_from(document.to_json()).ok()
        });
        if let Some(content) = changed {
            snapshot.content = content;
            snapshot.activity_type = delta.activity_type.clone().into_owned();
        }
        true
    }

    fn earlier<'o, 'a>(
        &self,
        id: &Text<'_>,
        out: &'o mut Output<'a>,
    ) -> Option<&'o mut ActivitySnapshot<'a>> {
        match out[*self.0.get(id.wtf8())?].as_mut()? {
            Event::ActivitySnapshot(snapshot) => Some(snapshot),
            _ => None,
        }
    }
}
