//! How two artifacts differ: field by field, and message by message.

use crate::artifact::{Artifact, Message};
use serde::Serialize;

/// How two artifacts differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference<'a> {
    /// The fields beside the messages that differ.
    pub fields: Vec<FieldChange<'a>>,
    /// The messages that differ, in order.
    pub messages: Vec<MessageChange<'a>>,
}

/// A field that differs. One that is absent has no value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldChange<'a> {
    /// The field.
    pub field: &'static str,
    /// Its value in the first artifact.
    pub left: Option<&'a str>,
    /// Its value in the second one.
    pub right: Option<&'a str>,
}

/// A message that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum MessageChange<'a> {
    /// Only the first artifact has it.
    Removed {
        /// Its place there, from 0.
        left: usize,
        /// Its id.
        id: &'a str,
    },
    /// Only the second artifact has it.
    Added {
        /// Its place there, from 0.
        right: usize,
        /// Its id.
        id: &'a str,
    },
    /// Both have it, and it says something else.
    Changed {
        /// Its place in the first artifact.
        left: usize,
        /// Its place in the second one.
        right: usize,
        /// Its id.
        id: &'a str,
        /// What differs.
        members: Vec<FieldChange<'a>>,
    },
}

impl Difference<'_> {
    /// Whether they are the same.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.messages.is_empty()
    }
}

/// Compares two artifacts. Messages of the same id are the same message, as far as their order allows.
#[must_use]
pub fn diff<'a>(left: &'a Artifact, right: &'a Artifact) -> Difference<'a> {
    let fields = changes(&[
        ("thread_id_ref", Some(&left.thread_id_ref), Some(&right.thread_id_ref)),
        ("run_id_ref", Some(&left.run_id_ref), Some(&right.run_id_ref)),
        ("parent_run_id_ref", left.parent_run_id_ref.as_deref(), right.parent_run_id_ref.as_deref()),
        ("started_at", Some(&left.started_at), Some(&right.started_at)),
        ("terminal_event", Some(left.terminal.name()), Some(right.terminal.name())),
        ("finished_at", left.finished_at.as_deref(), right.finished_at.as_deref()),
        ("error_code", left.terminal.code(), right.terminal.code()),
        ("error_message", left.terminal.message(), right.terminal.message()),
    ]);
    Difference { fields, messages: message_changes(&left.messages, &right.messages) }
}

fn changes<'a>(pairs: &[(&'static str, Option<&'a str>, Option<&'a str>)]) -> Vec<FieldChange<'a>> {
    let changed = pairs.iter().filter(|(_, left, right)| left != right);
    changed.map(|&(field, left, right)| FieldChange { field, left, right }).collect()
}

fn message_changes<'a>(left: &'a [Message], right: &'a [Message]) -> Vec<MessageChange<'a>> {
    let common = longest_common(left, right);
    let (mut at, mut changes_found) = ((0, 0), Vec::new());
    while at.0 < left.len() || at.1 < right.len() {
        match (left.get(at.0), right.get(at.1)) {
            (Some(one), Some(two)) if one.id == two.id => {
                let members = changes(&[
                    ("role", Some(&one.role), Some(&two.role)),
                    ("content", Some(&one.content), Some(&two.content)),
                    ("name", one.name.as_deref(), two.name.as_deref()),
                ]);
                if !members.is_empty() {
                    changes_found.push(MessageChange::Changed {
                        left: at.0,
                        right: at.1,
                        id: &one.id,
                        members,
                    });
                }
                at = (at.0 + 1, at.1 + 1);
            }
            (Some(one), None) => {
                changes_found.push(MessageChange::Removed { left: at.0, id: &one.id });
                at.0 += 1;
            }
            (Some(one), Some(_)) if common[at.0 + 1][at.1] >= common[at.0][at.1 + 1] => {
                changes_found.push(MessageChange::Removed { left: at.0, id: &one.id });
                at.0 += 1;
            }
            (_, Some(two)) => {
                changes_found.push(MessageChange::Added { right: at.1, id: &two.id });
                at.1 += 1;
            }
            (None, None) => break,
        }
    }
    changes_found
}

/// How many messages what follows two places has in common, by id, for all pairs of places. Artifacts are small.
fn longest_common(left: &[Message], right: &[Message]) -> Vec<Vec<usize>> {
    let mut common = vec![vec![0; right.len() + 1]; left.len() + 1];
    for one in (0..left.len()).rev() {
        for two in (0..right.len()).rev() {
            common[one][two] = if left[one].id == right[two].id {
                common[one + 1][two + 1] + 1
            } else {
                common[one + 1][two].max(common[one][two + 1])
            };
        }
    }
    common
}
