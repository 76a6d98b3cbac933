//! Activities and changes of them.

use super::Output;
use super::content::merge;
use crate::event::{ActivityDelta, ActivitySnapshot, Event};
use crate::json::{JsonObject, Text};
use crate::limits::PatchLimits;
use crate::patch::Document;
use std::collections::HashMap;

/// The activities that changes go into. Only those whose snapshot replaces whatever was there: what one that does not
/// replace leaves behind is unknown.
#[derive(Debug, Default)]
pub(super) struct Activities(HashMap<Text<'static>, Activity>);

#[derive(Debug)]
struct Activity {
    /// Where its snapshot is.
    at: usize,
    /// Its content once there was a change to be made, so that the next one costs no more than itself.
    content: Option<Document>,
    changed: bool,
}

impl Activities {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts the changes into the snapshots, and begins anew.
    pub(super) fn close(&mut self, out: &mut Output<'_>) {
        for (_, activity) in self.0.drain() {
            activity.close(out);
        }
    }

    /// Takes in a snapshot that would stand at `at`. True if it went into an earlier one.
    pub(super) fn take_snapshot(
        &mut self,
        snapshot: &ActivitySnapshot<'_>,
        at: usize,
        out: &mut Output<'_>,
    ) -> bool {
        if snapshot.replace == Some(false) {
            if let Some(activity) = self.0.remove(snapshot.message_id.wtf8()) {
                activity.close(out);
            }
            return false;
        }
        let Some(activity) = self.0.get_mut(snapshot.message_id.wtf8()) else {
            let activity = Activity { at, content: None, changed: false };
            self.0.insert(snapshot.message_id.clone().into_owned(), activity);
            return false;
        };
        let Some(earlier) = activity.snapshot(out) else { return false };
        earlier.activity_type = snapshot.activity_type.clone().into_owned();
        earlier.content = snapshot.content.clone().into_owned();
        earlier.subagent_run_id = snapshot.subagent_run_id.clone().map(Text::into_owned);
        earlier.timestamp = snapshot.timestamp.or(earlier.timestamp);
        earlier.raw_event = None;
        merge(&mut earlier.metadata, snapshot.metadata.as_ref());
        (activity.content, activity.changed) = (None, false);
        true
    }

    /// Takes in a change. True if it went into a snapshot.
    pub(super) fn take_delta(&mut self, delta: &ActivityDelta<'_>, out: &mut Output<'_>) -> bool {
        let Some(activity) = self.0.get_mut(delta.message_id.wtf8()) else { return false };
        let Some(snapshot) = activity.snapshot(out) else { return false };
        merge(&mut snapshot.metadata, delta.metadata.as_ref());
        snapshot.timestamp = delta.timestamp.or(snapshot.timestamp);
        snapshot.raw_event = None;
        // A change that cannot be made changes nothing, here as in a fold.
        let parsed = activity.content.take().or_else(|| Document::parse(snapshot.content.as_json()).ok());
        let Some(content) = parsed.map(|content| activity.content.insert(content)) else { return true };
        if content.apply_to_object(&delta.patch, &PatchLimits::default()) == Ok(true) {
            snapshot.activity_type = delta.activity_type.clone().into_owned();
            activity.changed = true;
        }
        true
    }
}

impl Activity {
    fn snapshot<'o, 'a>(&self, out: &'o mut Output<'a>) -> Option<&'o mut ActivitySnapshot<'a>> {
        match out.get_mut(self.at)?.as_mut()? {
            Event::ActivitySnapshot(snapshot) => Some(snapshot),
            _ => None,
        }
    }

    fn close(self, out: &mut Output<'_>) {
        let changed = self.content.as_ref().filter(|_| self.changed);
        let content = changed.and_then(|content| JsonObject::try_from(content.to_json()).ok());
        if let (Some(content), Some(snapshot)) = (content, self.snapshot(out)) {
            snapshot.content = content;
        }
    }
}
