//! A message of a fold.

use super::Warning;
use crate::event::ActivityDelta;
use crate::json::JsonObject;
use crate::limits::PatchLimits;
use crate::message::Message;
use crate::patch::Document;
use std::sync::OnceLock;

/// A message, and when it changed.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Without its content if that was patched.
    message: Message<'static>,
    pub(super) changed_at: u64,
    patched: Option<Box<Patched>>,
}

/// The content of an activity, ready to be patched, so that a change costs the change and not the content. What the message
/// looks like with it is made when somebody looks.
#[derive(Clone, Debug)]
struct Patched {
    content: Document,
    changed: bool,
    shown: OnceLock<Message<'static>>,
}

impl Entry {
    pub(super) const fn new(message: Message<'static>, revision: u64) -> Self {
        Self { message, changed_at: revision, patched: None }
    }

    pub(super) fn message(&self) -> &Message<'static> {
        match &self.patched {
            Some(patched) if patched.changed => patched.shown.get_or_init(|| {
                let mut message = self.message.clone();
                put_content(&mut message, &patched.content);
                message
            }),
            _ => &self.message,
        }
    }

    pub(super) const fn is_activity(&self) -> bool {
        matches!(self.message, Message::Activity(_))
    }

    /// The message, to be changed.
    pub(super) fn message_mut(&mut self, revision: u64) -> &mut Message<'static> {
        self.changed_at = revision;
        if let Some(patched) = self.patched.take().filter(|patched| patched.changed) {
            put_content(&mut self.message, &patched.content);
        }
        &mut self.message
    }

    /// Patches an activity. Its metadata are merged in any case, as the reference does.
    pub(super) fn patch(&mut self, event: &ActivityDelta<'_>, revision: u64) -> Result<(), Warning> {
        let Message::Activity(activity) = &mut self.message else {
            return Err(Warning::IsNoActivity(event.message_id.to_string()));
        };
        self.changed_at = revision;
        super::merge(Some(&mut activity.metadata), event.metadata.as_ref());
        let patched = match &mut self.patched {
            Some(patched) => patched,
            none => {
                let content =
                    Document::parse(activity.content.as_json()).map_err(|_deep| Warning::TooDeep)?;
                none.insert(Box::new(Patched { content, changed: false, shown: OnceLock::new() }))
            }
        };
        patched.shown.take();
        if !patched.content.apply_to_object(&event.patch, &PatchLimits::default()).map_err(Warning::Patch)? {
            return Err(Warning::NoObject(event.message_id.to_string()));
        }
        activity.activity_type = event.activity_type.clone().into_owned();
        if !patched.changed {
            patched.changed = true;
            activity.content = JsonObject::EMPTY;
        }
        Ok(())
    }
}

fn put_content(message: &mut Message<'static>, content: &Document) {
    if let (Message::Activity(activity), Ok(content)) = (message, JsonObject::try_from(content.to_json())) {
        activity.content = content;
    }
}
