//! The contract: whether some bytes are an artifact.

use crate::artifact::{Artifact, FRAMEWORK, Message, RUN_ERROR, RUN_FINISHED, SCHEMA, SURFACE, Terminal};
use crate::bounds::{ARTIFACT_BYTES_MAX, MESSAGES_MAX};
use crate::json::{self, Value};
use crate::reason::{Reason, Refusal, Refusals, Refused};
use crate::text::{Use, faults};
use crate::time;
use std::collections::HashSet;

/// The fields of an artifact. Any other makes it none.
const FIELDS: [&str; 12] = [
    "schema",
    "framework",
    "surface",
    "thread_id_ref",
    "run_id_ref",
    "parent_run_id_ref",
    "started_at",
    "messages",
    "terminal_event",
    "finished_at",
    "error_code",
    "error_message",
];
/// The fields of a message.
pub(crate) const MESSAGE_FIELDS: [&str; 4] = ["id", "role", "content", "name"];
/// The roles of messages.
pub(crate) const ROLES: [&str; 5] = ["assistant", "developer", "system", "tool", "user"];

/// Reads an artifact, if it is one by the contract.
///
/// # Errors
/// Everything that is wrong with it, as far as it can be read.
pub fn check(bytes: &[u8]) -> Result<Artifact, Refused> {
    if bytes.len() > ARTIFACT_BYTES_MAX {
        let message = format!("too large. bytes={}, max={ARTIFACT_BYTES_MAX}", bytes.len());
        return Err(Refusal::new(Reason::TooLarge, "", message).into());
    }
    check_value(&json::read(bytes)?)
}

/// The same of a value that was read, or made.
pub(crate) fn check_value(value: &Value) -> Result<Artifact, Refused> {
    let Value::Object(members) = value else {
        return Err(Refusal::new(Reason::WrongType, "", "expected an object").into());
    };
    let mut checker = Checker::default();
    checker.closed(members, &FIELDS, "");
    for (field, expected) in [("schema", SCHEMA), ("framework", FRAMEWORK), ("surface", SURFACE)] {
        checker.constant(value, field, expected);
    }
    let thread_id_ref = checker.required_text(value, "", "thread_id_ref", Use::Ref);
    let run_id_ref = checker.required_text(value, "", "run_id_ref", Use::Ref);
    let parent_run_id_ref = checker.text(value, "", "parent_run_id_ref", Use::Ref);
    let (started_at, finished_at) = checker.times(value);
    let messages = checker.messages(value);
    let terminal = checker.terminal(value);
    let artifact = (|| {
        Some(Artifact {
            thread_id_ref: thread_id_ref?,
            run_id_ref: run_id_ref?,
            parent_run_id_ref,
            started_at: started_at?,
            finished_at,
            messages: messages?,
            terminal: terminal?,
        })
    })();
    checker.refusals.or(artifact)
}

/// Goes through an artifact, and notes what is wrong.
#[derive(Default)]
pub(crate) struct Checker {
    pub(crate) refusals: Refusals,
}

impl Checker {
    fn refuse(&mut self, reason: Reason, path: impl Into<String>, message: impl Into<String>) {
        self.refusals.push(Refusal::new(reason, path, message));
    }

    fn closed(&mut self, members: &[(String, Value)], fields: &[&str], path: &str) {
        for (key, _) in members.iter().filter(|(key, _)| !fields.contains(&key.as_str())) {
            self.refuse(Reason::UnknownField, format!("{path}/{}", told(key)), "not a field of the contract");
        }
    }

    /// A field that must be there.
    fn required<'v>(&mut self, object: &'v Value, path: &str, field: &str) -> Option<&'v Value> {
        let value = object.get(field);
        if value.is_none() {
            self.refuse(Reason::MissingField, format!("{path}/{field}"), "a required field is absent");
        }
        value
    }

    fn string<'v>(&mut self, value: &'v Value, path: &str) -> Option<&'v str> {
        let text = value.as_str();
        if text.is_none() {
            self.refuse(Reason::WrongType, path, "expected a string");
        }
        text
    }

    fn constant(&mut self, object: &Value, field: &str, expected: &str) {
        let path = format!("/{field}");
        let Some(value) = self.required(object, "", field) else { return };
        if self.string(value, &path).is_some_and(|text| text != expected) {
            self.refuse(
                Reason::WrongValue,
                path,
                format!("another value than it must have. expected={expected}"),
            );
        }
    }

    /// A text that may be absent.
    fn text(&mut self, object: &Value, path: &str, field: &str, of: Use) -> Option<String> {
        let path = format!("{path}/{field}");
        let text = self.string(object.get(field)?, &path)?;
        for (reason, message) in faults(text, of) {
            self.refuse(reason, path.clone(), message);
        }
        Some(text.to_owned())
    }

    fn required_text(&mut self, object: &Value, path: &str, field: &str, of: Use) -> Option<String> {
        self.required(object, path, field)?;
        self.text(object, path, field, of)
    }

    fn time(&mut self, object: &Value, field: &str) -> Option<(String, Option<time::Moment>)> {
        let path = format!("/{field}");
        let text = self.string(object.get(field)?, &path)?;
        let moment = time::parse(text);
        if moment.is_none() {
            self.refuse(
                Reason::BadTime,
                path,
                "expected RFC 3339 with a zone and at most six digits of a second",
            );
        }
        Some((text.to_owned(), moment))
    }

    fn times(&mut self, object: &Value) -> (Option<String>, Option<String>) {
        self.required(object, "", "started_at");
        let (started, finished) = (self.time(object, "started_at"), self.time(object, "finished_at"));
        if let (Some((_, Some(started))), Some((_, Some(finished)))) = (&started, &finished)
            && finished < started
        {
            self.refuse(Reason::FinishedBeforeStarted, "/finished_at", "before started_at");
        }
        (started.map(|(text, _)| text), finished.map(|(text, _)| text))
    }

    fn messages(&mut self, object: &Value) -> Option<Vec<Message>> {
        let Value::Array(values) = self.required(object, "", "messages")? else {
            self.refuse(Reason::WrongType, "/messages", "expected an array");
            return None;
        };
        if values.is_empty() {
            self.refuse(Reason::NoMessages, "/messages", "expected at least one message");
        }
        if values.len() > MESSAGES_MAX {
            let message = format!("too many. messages={}, max={MESSAGES_MAX}", values.len());
            self.refuse(Reason::TooManyMessages, "/messages", message);
            return None;
        }
        let mut ids = HashSet::new();
        let mut messages = Vec::new();
        for (index, value) in values.iter().enumerate() {
            let message = self.message(value, index);
            if let Some(message) = &message
                && !ids.insert(message.id.clone())
            {
                let path = format!("/messages/{index}/id");
                self.refuse(Reason::DuplicateMessageId, path, "an earlier message has the same id");
            }
            messages.extend(message);
        }
        Some(messages)
    }

    /// A message, with its place in the list.
    pub(crate) fn message(&mut self, value: &Value, index: usize) -> Option<Message> {
        let path = format!("/messages/{index}");
        let Value::Object(members) = value else {
            self.refuse(Reason::WrongType, path, "expected an object");
            return None;
        };
        self.closed(members, &MESSAGE_FIELDS, &path);
        let id = self.required_text(value, &path, "id", Use::Ref);
        let role = self.required(value, &path, "role").cloned();
        let role = role.and_then(|role| self.string(&role, &format!("{path}/role")).map(str::to_owned));
        if role.as_deref().is_some_and(|role| !ROLES.contains(&role)) {
            let message = format!("expected one of {}", ROLES.join(", "));
            self.refuse(Reason::UnknownRole, format!("{path}/role"), message);
        }
        let content = self.required_text(value, &path, "content", Use::Content);
        let name = self.text(value, &path, "name", Use::Name);
        Some(Message { id: id?, role: role?, content: content?, name })
    }

    fn terminal(&mut self, object: &Value) -> Option<Terminal> {
        let terminal = self.required(object, "", "terminal_event")?;
        let code = self.text(object, "", "error_code", Use::ErrorCode);
        match self.string(terminal, "/terminal_event")? {
            RUN_FINISHED => {
                for field in ["error_code", "error_message"] {
                    if object.get(field).is_some() {
                        self.refuse(
                            Reason::ErrorWithoutFailure,
                            format!("/{field}"),
                            "only a RUN_ERROR has one",
                        );
                    }
                }
                Some(Terminal::Finished)
            }
            RUN_ERROR => {
                let message = self.required_text(object, "", "error_message", Use::ErrorMessage)?;
                Some(Terminal::Error { code, message })
            }
            _ => {
                let message = format!("expected {RUN_FINISHED} or {RUN_ERROR}");
                self.refuse(Reason::WrongValue, "/terminal_event", message);
                None
            }
        }
    }
}

/// A key as far as it can be told: whoever wrote the input chose it.
pub(crate) fn told(key: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    match key.len() {
        1..=48 if key.bytes().all(is_plain) => key.to_owned(),
        _ => "?".to_owned(),
    }
}
