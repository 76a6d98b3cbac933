//! The documents that a stream changes by patches: the state, and what activities show.
//!
//! A patch is judged only where the stream itself has shown what it changes. What may have come from elsewhere, such as the
//! history of a thread, is not guessed.

use super::code::Code;
use super::finding::{Severity, excerpt};
use super::issue::Issue;
use crate::event::{ActivitySnapshot, Event, RunStarted};
use crate::json::Text;
use crate::limits::{CHECK_ACTIVITIES_MAX, CHECK_ACTIVITY_BYTES_MAX, PatchLimits};
use crate::patch::{Document, PatchError, PatchErrorKind};
use std::collections::HashMap;

/// What is known of the documents.
#[derive(Clone, Debug, Default)]
pub(super) struct Documents {
    state: Option<Document>,
    activities: HashMap<Text<'static>, Document>,
    /// The size of all activities.
    activity_bytes: usize,
    thread: Option<Text<'static>>,
    /// Whether the stream has begun: only what the first request says is news about the state.
    has_begun: bool,
}

impl Documents {
    /// Takes an event that is right in itself. What is wrong with its patch.
    pub(super) fn judge(&mut self, event: &Event<'_>) -> Option<Issue> {
        match event {
            Event::RunStarted(event) => self.start(event),
            Event::StateSnapshot(event) => {
                self.has_begun = true;
                self.state = Document::parse(&event.snapshot).ok();
            }
            Event::StateDelta(event) => {
                self.has_begun = true;
                let error = self.state.as_mut()?.apply(&event.delta, &PatchLimits::default()).err()?;
                if is_limit(&error) {
                    self.state = None;
                    return None;
                }
                return Some(issue("/delta", &error.to_string()));
            }
            Event::MessagesSnapshot(_) => self.forget_activities(),
            Event::ActivitySnapshot(event) => self.show(event),
            Event::ActivityDelta(event) => {
                let mut content = self.take(&event.message_id)?;
                let result = content.apply_to_object(&event.patch, &PatchLimits::default());
                if !matches!(&result, Err(error) if is_limit(error)) {
                    self.keep(&event.message_id, content);
                }
                return match result {
                    Ok(true) => None,
                    Ok(false) => Some(activity_issue("it would leave no object")),
                    Err(error) => (!is_limit(&error)).then(|| activity_issue(&error.to_string())),
                };
            }
            _ => {}
        }
        None
    }

    /// An event has errors, so that what it was to do is not known. None stands for an event that could be any.
    pub(super) fn forget(&mut self, event_type: Option<&str>) {
        if event_type.is_none_or(|name| name.starts_with("STATE_")) {
            self.state = None;
            self.has_begun = true;
        }
        if event_type.is_none_or(|name| name.starts_with("ACTIVITY_") || name == "MESSAGES_SNAPSHOT") {
            self.forget_activities();
        }
        if event_type == Some("RUN_STARTED") {
            self.forget(None);
        }
    }

    fn start(&mut self, event: &RunStarted<'_>) {
        if self.thread.as_ref().is_some_and(|thread| *thread != event.thread_id) {
            self.forget(None);
        }
        self.thread = Some(event.thread_id.clone().into_owned());
        if let Some(input) = &event.input {
            let state = Document::parse(&input.state_or_empty()).ok();
            if !self.has_begun {
                self.state = state;
            } else if self.state != state {
                // Changed between the runs, or the request is not the client's own.
                self.state = None;
            }
            self.forget_activities();
        }
        self.has_begun = true;
    }

    fn show(&mut self, event: &ActivitySnapshot<'_>) {
        // One that replaces nothing counts only if there is none, which the history would have to tell.
        if event.replace == Some(false) {
            return;
        }
        self.take(&event.message_id);
        if let Ok(content) = Document::parse(event.content.as_json()) {
            self.keep(&event.message_id, content);
        }
    }

    fn take(&mut self, id: &Text<'_>) -> Option<Document> {
        let content = self.activities.remove(id.wtf8())?;
        self.activity_bytes -= content.bytes();
        Some(content)
    }

    /// Keeps what an activity shows, unless there is too much already.
    fn keep(&mut self, id: &Text<'_>, content: Document) {
        let bytes = self.activity_bytes + content.bytes();
        if self.activities.len() < CHECK_ACTIVITIES_MAX && bytes <= CHECK_ACTIVITY_BYTES_MAX {
            self.activity_bytes = bytes;
            self.activities.insert(id.clone().into_owned(), content);
        }
    }

    fn forget_activities(&mut self) {
        self.activities.clear();
        self.activity_bytes = 0;
    }
}

fn activity_issue(message: &str) -> Issue {
    issue("/patch", message).with_advice("send an ACTIVITY_SNAPSHOT, or a patch that fits the content")
}

fn issue(path: &str, message: &str) -> Issue {
    let message = format!("the patch cannot be applied, clients skip it: {}", excerpt(message));
    Issue::new(Severity::Warning, Code::PatchNotAppliable, path).with_message(message)
}

/// Whether a limit of ours was broken, and no rule of JSON Patch.
fn is_limit(error: &PatchError) -> bool {
    use PatchErrorKind::{TooDeep, TooLarge, TooManyOperations, TooMuchCloned, TooMuchDisturbed};
    matches!(error.kind(), TooManyOperations | TooLarge | TooMuchCloned | TooDeep | TooMuchDisturbed)
}
