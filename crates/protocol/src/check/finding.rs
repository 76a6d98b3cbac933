//! Findings, of which many may be one.

use super::code::Code;
use super::family::Family;
use super::issue::Issue;
use crate::limits::{CHECK_FINDINGS_MAX, CHECK_POSITIONS_MAX};
use indexmap::IndexMap;

/// Longer texts from the input are cut short.
const EXCERPT_BYTES_MAX: usize = 256;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Understood without loss, for now.
    Note,
    /// A 1.0 client goes on, but strips something that it does not know, or the prose of the protocol forbids it.
    Warning,
    /// A 1.0 client fails, or loses something that AG-UI has a place for: an event, an object or a member.
    Error,
}

impl Severity {
    /// The name, for people and for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Something that was found once or more often: the same code about the same type, at the same place but for
/// indices, and with the same advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What it is.
    pub code: Code,
    /// The family of events that it is about.
    pub family: Family,
    /// The type of the event as it was written; none if there is none, or if it is about events of any type.
    pub event_type: Option<String>,
    /// Where in the event, as a JSON pointer; `*` stands for indices that differ.
    pub path: String,
    /// What was found, the first time.
    pub message: String,
    /// What to do about it.
    pub advice: String,
    /// How often.
    pub count: u64,
    /// In which events, counted from 0; the first few. The number of events stands for the end of the stream.
    pub positions: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    severity: Severity,
    code: Code,
    event_type: Option<String>,
    shape: String,
    /// `ai` and `human` are both no roles, but not the same is to be done about them.
    advice: Option<String>,
}

/// Collects findings, in bounded memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    groups: IndexMap<Key, Finding>,
    /// How many of each severity: warnings must not keep errors out.
    kept: [usize; 3],
    omitted: u64,
    counts: Counts,
}

/// How often something of each severity was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) errors: u64,
    pub(super) warnings: u64,
    pub(super) notes: u64,
}

impl Findings {
    /// Adds what was found in an event. Whether its position is kept.
    pub(super) fn add(
        &mut self,
        position: u64,
        family: Family,
        event_type: Option<&str>,
        issue: Issue,
    ) -> bool {
        match issue.severity {
            Severity::Error => self.counts.errors += 1,
            Severity::Warning => self.counts.warnings += 1,
            Severity::Note => self.counts.notes += 1,
        }
        let path = excerpt(&issue.path);
        let key = Key {
            severity: issue.severity,
            code: issue.code,
            event_type: event_type.map(excerpt),
            shape: shape(&path),
            advice: issue.advice.clone(),
        };
        if let Some(found) = self.groups.get_mut(&key) {
            found.count += 1;
            if found.path != path {
                found.path = common(&found.path, &path);
            }
            let is_new = found.positions.len() < CHECK_POSITIONS_MAX && !found.positions.contains(&position);
            if is_new {
                found.positions.push(position);
            }
            return is_new;
        }
        let kept = &mut self.kept[issue.severity as usize];
        if *kept == CHECK_FINDINGS_MAX {
            self.omitted += 1;
            return false;
        }
        *kept += 1;
        let found = Finding {
            severity: issue.severity,
            code: issue.code,
            family,
            event_type: key.event_type.clone(),
            path,
            message: issue.message,
            advice: issue.advice.unwrap_or_else(|| issue.code.advice().to_owned()),
            count: 1,
            positions: vec![position],
        };
        self.groups.insert(key, found);
        true
    }

    pub(super) const fn counts(&self) -> Counts {
        self.counts
    }

    /// The findings by family, the worst and most frequent first, and how many were left out.
    pub(super) fn into_sorted(self) -> (Vec<Finding>, u64) {
        let mut findings: Vec<Finding> = self.groups.into_values().collect();
        findings.sort_by(|one, other| {
            one.family
                .cmp(&other.family)
                .then(other.severity.cmp(&one.severity))
                .then(one.positions.cmp(&other.positions))
        });
        (findings, self.omitted)
    }
}

/// A path without its indices.
fn shape(path: &str) -> String {
    let is_index = |token: &str| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
    path.split('/').map(|token| if is_index(token) { "*" } else { token }).collect::<Vec<_>>().join("/")
}

/// Two paths of one shape, with `*` for what differs.
fn common(one: &str, other: &str) -> String {
    let tokens = one.split('/').zip(other.split('/'));
    tokens.map(|(one, other)| if one == other { one } else { "*" }).collect::<Vec<_>>().join("/")
}

/// A text from the input, cut short if it is long.
pub(super) fn excerpt(text: &str) -> String {
    match text.char_indices().find(|(at, _)| *at >= EXCERPT_BYTES_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
