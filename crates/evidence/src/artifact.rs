//! The artifact: what v1 of the contract allows, and nothing else.

use serde::Serialize;

/// The name of the shape.
pub const SCHEMA: &str = "ag-ui.compacted-message-snapshot.export.v1";
/// The protocol that it is about.
pub const FRAMEWORK: &str = "ag_ui";
/// What of that it is about.
pub const SURFACE: &str = "compacted_message_snapshot_artifact";
/// The word for a run that ended by itself.
pub(crate) const RUN_FINISHED: &str = "RUN_FINISHED";
/// The word for a run that failed.
pub(crate) const RUN_ERROR: &str = "RUN_ERROR";

/// The messages of one run's snapshot, between its start and its end. Only [`check`](crate::check) and
/// [`Deriver`](crate::Deriver) make one, so that there is none that breaks the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    pub(crate) thread_id_ref: String,
    pub(crate) run_id_ref: String,
    pub(crate) parent_run_id_ref: Option<String>,
    pub(crate) started_at: String,
    pub(crate) finished_at: Option<String>,
    pub(crate) messages: Vec<Message>,
    pub(crate) terminal: Terminal,
}

/// A message of an artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Names the message.
    pub id: String,
    /// Who speaks, as one of a few words.
    pub role: String,
    /// What is said: plain text.
    pub content: String,
    /// Who speaks, by name.
    pub name: Option<String>,
}

/// How the run closed, as it was observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// RUN_FINISHED.
    Finished,
    /// RUN_ERROR.
    Error {
        /// A short code.
        code: Option<String>,
        /// A short message.
        message: String,
    },
}

impl Terminal {
    /// The event's type.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Finished => RUN_FINISHED,
            Self::Error { .. } => RUN_ERROR,
        }
    }

    pub(crate) fn code(&self) -> Option<&str> {
        match self {
            Self::Finished => None,
            Self::Error { code, .. } => code.as_deref(),
        }
    }

    pub(crate) fn message(&self) -> Option<&str> {
        match self {
            Self::Finished => None,
            Self::Error { message, .. } => Some(message),
        }
    }
}

impl Artifact {
    /// The messages, in order.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The run that it is of.
    #[must_use]
    pub fn run_id(&self) -> &str {
        &self.run_id_ref
    }

    /// How the run closed.
    #[must_use]
    pub const fn terminal(&self) -> &Terminal {
        &self.terminal
    }

    /// When it started and finished, as labels.
    #[must_use]
    pub fn times(&self) -> (&str, Option<&str>) {
        (&self.started_at, self.finished_at.as_deref())
    }

    /// The artifact as it is written: the members in the order of the plan, indented, one line break at the end.
    ///
    /// # Panics
    /// Never: strings can be written.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(&self.shown()).expect("strings are JSON");
        json.push('\n');
        json
    }

    /// The same by RFC 8785. All that is left to decide there is the order of keys, which are ASCII, and how strings are
    /// escaped: there are no numbers.
    ///
    /// # Panics
    /// Never: strings can be written.
    #[must_use]
    pub fn to_canonical_json(&self) -> String {
        serde_json::to_string(&self.sorted()).expect("strings are JSON")
    }

    fn shown(&self) -> Shown<'_> {
        let messages = self.messages.iter();
        Shown {
            schema: SCHEMA,
            framework: FRAMEWORK,
            surface: SURFACE,
            thread_id_ref: &self.thread_id_ref,
            run_id_ref: &self.run_id_ref,
            parent_run_id_ref: self.parent_run_id_ref.as_deref(),
            started_at: &self.started_at,
            messages: messages
                .map(|Message { id, role, content, name }| ShownMessage {
                    id,
                    role,
                    content,
                    name: name.as_deref(),
                })
                .collect(),
            terminal_event: self.terminal.name(),
            finished_at: self.finished_at.as_deref(),
            error_code: self.terminal.code(),
            error_message: self.terminal.message(),
        }
    }

    fn sorted(&self) -> Sorted<'_> {
        let messages = self.messages.iter();
        Sorted {
            error_code: self.terminal.code(),
            error_message: self.terminal.message(),
            finished_at: self.finished_at.as_deref(),
            framework: FRAMEWORK,
            messages: messages
                .map(|Message { id, role, content, name }| SortedMessage {
                    content,
                    id,
                    name: name.as_deref(),
                    role,
                })
                .collect(),
            parent_run_id_ref: self.parent_run_id_ref.as_deref(),
            run_id_ref: &self.run_id_ref,
            schema: SCHEMA,
            started_at: &self.started_at,
            surface: SURFACE,
            terminal_event: self.terminal.name(),
            thread_id_ref: &self.thread_id_ref,
        }
    }
}

#[derive(Serialize)]
struct Shown<'a> {
    schema: &'a str,
    framework: &'a str,
    surface: &'a str,
    thread_id_ref: &'a str,
    run_id_ref: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_run_id_ref: Option<&'a str>,
    started_at: &'a str,
    messages: Vec<ShownMessage<'a>>,
    terminal_event: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<&'a str>,
}

#[derive(Serialize)]
struct ShownMessage<'a> {
    id: &'a str,
    role: &'a str,
    content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

/// The members by their keys, which is all that RFC 8785 asks of a value without numbers.
#[derive(Serialize)]
struct Sorted<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<&'a str>,
    framework: &'a str,
    messages: Vec<SortedMessage<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_run_id_ref: Option<&'a str>,
    run_id_ref: &'a str,
    schema: &'a str,
    started_at: &'a str,
    surface: &'a str,
    terminal_event: &'a str,
    thread_id_ref: &'a str,
}

#[derive(Serialize)]
struct SortedMessage<'a> {
    content: &'a str,
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    role: &'a str,
}
