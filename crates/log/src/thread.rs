//! Threads: what is known about each of them beside its runs and records.

use crate::names::{Incarnation, RunNo, ThreadKey, Timestamp};
use crate::run::RunStatus;
use serde::{Deserialize, Serialize};
use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::ops::Range;

/// What people and programs say about a thread. It takes no offsets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// Its name. At first, the engine gives it the user's first words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether it is put away.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    /// The agent that it talks to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Anything else, for its owner.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// A change of a thread's metadata. What is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetadataChange {
    /// Its name from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether it is put away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// Its agent from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Labels that are set, or removed by `None`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, Option<String>>,
}

impl Metadata {
    /// The change that makes all of it true.
    #[must_use]
    pub fn as_change(&self) -> MetadataChange {
        let Self { name, archived, agent, labels } = self.clone();
        let labels = labels.into_iter().map(|(label, value)| (label, Some(value))).collect();
        MetadataChange { name, archived: Some(archived), agent, labels }
    }

    /// Makes a change.
    pub fn apply(&mut self, change: &MetadataChange) {
        if let Some(name) = &change.name {
            self.name = Some(name.clone());
        }
        if let Some(archived) = change.archived {
            self.archived = archived;
        }
        if let Some(agent) = &change.agent {
            self.agent = Some(agent.clone());
        }
        for (label, value) in &change.labels {
            match value {
                Some(value) => self.labels.insert(label.clone(), value.clone()),
                None => self.labels.remove(label),
            };
        }
    }
}

/// What is known about a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadInfo {
    /// Its name in full.
    pub key: ThreadKey,
    /// Tells it from deleted ones of the same name.
    pub incarnation: Incarnation,
    /// The first offset that can be read, and the tail.
    pub offsets: Range<u64>,
    /// What people say about it.
    pub metadata: Metadata,
    /// When it was made.
    pub created: Timestamp,
    /// When something was last appended or said about it.
    pub updated: Timestamp,
    /// How many runs it has.
    pub runs: u32,
    /// The last run that was opened, and how it stands.
    pub last_run: Option<(RunNo, RunStatus)>,
    /// How many bytes its records have, as they came.
    pub bytes: u64,
}

/// What a scope keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// How many threads it has.
    pub threads: u64,
    /// How many bytes their records have, as they came: all that [`ThreadInfo::bytes`] say. Only what is deleted is taken off.
    pub bytes: u64,
}

impl Usage {
    /// What threads come to that have so many bytes each.
    #[must_use]
    pub fn of(bytes: impl IntoIterator<Item = u64>) -> Self {
        bytes
            .into_iter()
            .fold(Self::default(), |sum, bytes| Self { threads: sum.threads + 1, bytes: sum.bytes + bytes })
    }
}

/// In which order threads are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThreadOrder {
    /// The last that was updated comes first; ties are in order of their names. Whoever is updated moves to the front: who goes from page
    /// to page while others write may miss it.
    #[default]
    Updated,
    /// In order of their names, which stay as they are: who goes from page to page gets each thread once that is there all the while,
    /// whatever is written to it.
    Name,
}

impl ThreadOrder {
    /// Which of two threads comes first.
    #[must_use]
    pub fn compare(self, one: &ThreadInfo, other: &ThreadInfo) -> Ordering {
        self.place(one.updated, &one.key).cmp(&self.place(other.updated, &other.key))
    }

    fn place(self, updated: Timestamp, key: &ThreadKey) -> (Option<Reverse<Timestamp>>, &ThreadKey) {
        match self {
            Self::Updated => (Some(Reverse(updated)), key),
            Self::Name => (None, key),
        }
    }
}

/// Which threads to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadQuery {
    /// Which comes first.
    pub order: ThreadOrder,
    /// Only of this scope's application and user.
    pub scope: Option<crate::names::Scope>,
    /// Only those put away, or only those not.
    pub archived: Option<bool>,
    /// Only those of this agent.
    pub agent: Option<String>,
    /// Only those with all of these labels.
    pub labels: BTreeMap<String, String>,
    /// Only those whose name or messages have all of these words, in any case.
    pub words: Option<String>,
    /// Go on after this thread.
    pub after: Option<ThreadCursor>,
    /// At most so many.
    pub limit: usize,
}

/// A place in a list of threads, in either order, that stays right while threads come and go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadCursor {
    /// When the last thread of the page was updated.
    pub updated: Timestamp,
    /// Its name.
    pub key: ThreadKey,
}

impl ThreadQuery {
    /// Whether a thread belongs to the list, words aside.
    #[must_use]
    pub fn accepts(&self, thread: &ThreadInfo) -> bool {
        let metadata = &thread.metadata;
        self.scope.as_ref().is_none_or(|scope| *scope == thread.key.scope)
            && self.archived.is_none_or(|archived| archived == metadata.archived)
            && self.agent.as_ref().is_none_or(|agent| metadata.agent.as_ref() == Some(agent))
            && self.labels.iter().all(|(label, value)| metadata.labels.get(label) == Some(value))
            && self.after.as_ref().is_none_or(|after| {
                self.order.place(after.updated, &after.key) < self.order.place(thread.updated, &thread.key)
            })
    }
}

impl ThreadCursor {
    /// The place of a thread.
    #[must_use]
    pub fn of(thread: &ThreadInfo) -> Self {
        Self { updated: thread.updated, key: thread.key.clone() }
    }
}
