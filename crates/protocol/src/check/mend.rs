//! Events read as they were meant.
//!
//! The schema says what is wrong, one thing at a time. Whatever it is, is reported and put right, and the event is read
//! again: so all of it is found, nothing twice, and what follows in the stream is judged by what the event meant.

use super::code::Code;
use super::finding::{Severity, excerpt};
use super::issue::Issue;
use super::members;
use super::tree_path::{get, get_mut, is_within, remove, rename, set, split, string, text};
use crate::event::{Event, EventType, Received};
use crate::json::{Json, Members, Tree};
use crate::limits::{CHECK_READING_BYTES_MAX, CHECK_READINGS_MAX};
use crate::schema::{Departure, DepartureKind, ReadError, ReadErrorKind};
use crate::stages::translate::{Translator, is_legacy_null};
use std::collections::HashSet;

/// More is not said about one event.
const ISSUES_MAX: usize = 200;

/// However large an event is, it is read this often.
const READINGS_MIN: usize = 8;

/// Ids by which events refer to each other. One that was made up refers to nothing.
const ID_MEMBERS: &[&str] =
    &["threadId", "runId", "messageId", "toolCallId", "stepName", "entityId", "subagentRunId"];

/// An event as it was meant.
#[derive(Debug)]
pub(super) struct Mended {
    pub(super) json: Json<'static>,
    pub(super) issues: Vec<Issue>,
    /// Whether one of the event's own ids is not what was written.
    pub(super) has_made_up_ids: bool,
}

#[derive(Debug)]
pub(super) struct Mender {
    pub(super) tree: Tree,
    event_type: EventType,
    issues: Vec<Issue>,
    /// Places in the tree about which all is said.
    settled: HashSet<String>,
    /// Places in the tree, and where they were before. The last one came last.
    renamed: Vec<(String, String)>,
    has_made_up_ids: bool,
    /// How large the event is, and how often it was read.
    bytes: usize,
    readings: usize,
}

impl Mender {
    /// Takes an event of this type.
    pub(super) fn new(tree: Tree, event_type: EventType) -> Self {
        Self {
            bytes: tree.bytes(),
            tree,
            event_type,
            issues: Vec::new(),
            settled: HashSet::new(),
            renamed: Vec::new(),
            has_made_up_ids: false,
            readings: 0,
        }
    }

    /// Finds everything that is wrong with the event.
    pub(super) fn mend(mut self) -> Mended {
        self.mend_messages(self.event_type);
        loop {
            let json = self.tree.to_json();
            let may_go_on = !self.is_full() && self.may_read();
            let goes_on = may_go_on
                && match Received::read(json.as_str()) {
                    Ok(received) => self.mend_departures(&received),
                    Err(error) => self.mend_error(&error),
                };
            if !goes_on {
                if !may_go_on || self.is_full() {
                    self.issues.push(Issue::new(Severity::Note, Code::NotAllChecked, ""));
                }
                let json = self.without_the_rest(json);
                return Mended { json, issues: self.issues, has_made_up_ids: self.has_made_up_ids };
            }
        }
    }

    /// The event without the members that were not mended to the end. A run with a hopeless input has started all the
    /// same, and what follows must not be blamed for it.
    fn without_the_rest(&mut self, mut json: Json<'static>) -> Json<'static> {
        for _ in 0..READINGS_MIN {
            let Err(error) = Received::read(json.as_str()) else { break };
            let Some(member) = error.pointer().split('/').nth(1) else { break };
            let member = format!("/{member}");
            let is_list = matches!(get(&self.tree, &member), Some(Tree::Array(_)));
            let is_gone = match is_list {
                true => set(&mut self.tree, &member, Tree::Array(Vec::new())),
                false => remove(&mut self.tree, &member),
            };
            if !is_gone {
                break;
            }
            json = self.tree.to_json();
        }
        json
    }

    pub(super) const fn is_full(&self) -> bool {
        self.issues.len() >= ISSUES_MAX
    }

    /// Says something about a place in the tree as it is now.
    pub(super) fn report(&mut self, mut issue: Issue) {
        issue.path = self.as_written(issue.meant_path.clone());
        self.settled.insert(issue.meant_path.clone());
        self.issues.push(issue);
    }

    /// Says that a member was meant to have another name. It has it now. A client loses what it says, required or not.
    pub(super) fn report_renamed(&mut self, object: &str, from: &str, to: &str) {
        let code = if members::is_respelled(from, to) { Code::MemberSpelling } else { Code::MemberName };
        let meant_path = format!("{object}/{to}");
        let path = self.as_written(format!("{object}/{}", escaped(from)));
        self.renamed.push((meant_path.clone(), format!("{object}/{}", escaped(from))));
        let message = format!("`{}` is called `{to}` in AG-UI", excerpt(from));
        let issue =
            Issue::new(Severity::Error, code, path).with_message(message).with_advice(format!("write {to}"));
        self.issues.push(Issue { meant_path, ..issue });
    }

    /// Says where something was before.
    pub(super) fn renamed(&mut self, now: String, before: String) {
        self.renamed.push((now, before));
    }

    /// Nothing more is to be said about a place.
    pub(super) fn settle(&mut self, place: &str) {
        self.settled.insert(place.to_owned());
    }

    fn is_settled(&self, pointer: &str) -> bool {
        let ends = pointer.match_indices('/').skip(1).map(|(end, _)| end).chain([pointer.len()]);
        ends.into_iter().any(|end| self.settled.contains(&pointer[..end]))
    }

    /// Where a place of the tree stands in the event as it was written.
    fn as_written(&self, mut pointer: String) -> String {
        for (now, before) in self.renamed.iter().rev() {
            if is_within(&pointer, now) {
                pointer.replace_range(..now.len(), before);
            }
        }
        pointer
    }

    /// Whether the event may be read once more.
    const fn may_read(&mut self) -> bool {
        self.readings += 1;
        self.readings <= CHECK_READINGS_MAX
            && (self.readings <= READINGS_MIN
                || self.readings.saturating_mul(self.bytes) <= CHECK_READING_BYTES_MAX)
    }

    /// Gives a member another name, if the event is then one that `fits`.
    fn try_rename(
        &mut self,
        (object, from, to): (&str, &str, &str),
        fits: impl FnOnce(Result<Received<'_>, ReadError>) -> bool,
    ) -> bool {
        if !self.may_read() || !rename(&mut self.tree, object, from, to) {
            return false;
        }
        let json = self.tree.to_json();
        let fits = fits(Received::read(json.as_str()));
        if !fits {
            rename(&mut self.tree, object, to, from);
        }
        fits
    }

    /// Puts right what kept the event from being read. Whether there is a point in going on.
    fn mend_error(&mut self, error: &ReadError) -> bool {
        match error.kind() {
            ReadErrorKind::Missing(member) => self.mend_missing(error.pointer(), member),
            ReadErrorKind::Mismatch { expected, found } => {
                self.mend_mismatch(error.pointer(), expected, found)
            }
            // The tree is JSON, and an object with a type.
            _ => false,
        }
    }

    fn mend_missing(&mut self, object: &str, member: &'static str) -> bool {
        let path = format!("{object}/{member}");
        if !self.is_settled(&path) {
            let Some(Tree::Object(members)) = get(&self.tree, object) else { return false };
            let names = members.keys().filter_map(|key| key.as_str());
            let candidates: Vec<String> =
                names.filter(|name| members::is_alias(name, member)).map(str::to_owned).collect();
            for from in candidates {
                // Unless it was missed under its old name.
                let fits = |read: Result<Received<'_>, ReadError>| {
                    !read.is_err_and(|error| {
                        matches!(error.kind(), ReadErrorKind::Missing(name) if *name == from)
                            && error.pointer() == object
                    })
                };
                if self.try_rename((object, &from, member), fits) {
                    self.report_renamed(object, &from, member);
                    return true;
                }
            }
            let code = if object == "/input" { Code::InputIncomplete } else { Code::MissingMember };
            let mut issue = Issue::new(Severity::Error, code, path.clone())
                .with_message(format!("the required member `{member}` is not there"));
            if code == Code::MissingMember {
                issue = issue.with_advice(format!("add {member}"));
            }
            self.report(issue);
        }
        self.make_up(&path, string(""))
    }

    fn mend_mismatch(&mut self, at: &str, expected: &'static str, found: &str) -> bool {
        let substitute = neutral(expected);
        if self.is_settled(at) {
            return match substitute {
                Some(value) if get(&self.tree, at) != Some(&value) => self.make_up(at, value),
                _ => remove(&mut self.tree, at),
            };
        }
        let wrong = || {
            let message = format!("expected {expected}, found {}", excerpt(found));
            Issue::new(Severity::Error, Code::WrongValue, at).with_message(message)
        };
        if at == "/timestamp" {
            let message = format!("expected {expected}, found {}", excerpt(found));
            self.report(Issue::new(Severity::Error, Code::TimestampNotInteger, at).with_message(message));
            return remove(&mut self.tree, at);
        }
        match (expected, get_mut(&mut self.tree, at)) {
            ("an array", Some(value)) if is_operation(value) => {
                let operation = std::mem::take(value);
                *value = Tree::Array(vec![operation]);
                self.report(Issue::new(Severity::Error, Code::PatchNotAList, at));
                // What is in it may still be wrong.
                self.settled.remove(at);
                self.renamed(format!("{at}/0"), at.to_owned());
                true
            }
            ("a string" | "a string or an array of parts", Some(Tree::Object(members))) => {
                if let Some((name, inner)) = text_member(members) {
                    set(&mut self.tree, at, inner);
                    let message = format!("the text stands in an object, as its `{name}`");
                    self.report(Issue::new(Severity::Error, Code::TextInObject, at).with_message(message));
                    return true;
                }
                if self.holds_arguments(at) {
                    return self.mend_arguments(at);
                }
                self.report(wrong());
                true
            }
            _ => {
                self.report(wrong());
                true
            }
        }
    }

    fn holds_arguments(&self, at: &str) -> bool {
        at == "/delta" && matches!(self.event_type, EventType::ToolCallArgs | EventType::ToolCallChunk)
            || at == "/content" && self.event_type == EventType::ToolCallResult
            || at.ends_with("/function/arguments")
    }

    /// Puts something into a place that has nothing of the kind.
    fn make_up(&mut self, at: &str, value: Tree) -> bool {
        let (object, member) = split(at);
        self.has_made_up_ids |= object.is_empty() && ID_MEMBERS.contains(&&*member);
        set(&mut self.tree, at, value)
    }

    /// Reports everything in an event that could be read and is not as 1.0 has it. Whether anything was changed.
    fn mend_departures(&mut self, received: &Received<'_>) -> bool {
        let event = received.event();
        let is_old_null = |departure: &Departure| {
            departure.kind == DepartureKind::NullOptional && is_legacy_null(event, &departure.pointer)
        };
        let mut changed = false;
        let open = received.departures().iter().filter(|departure| !self.is_settled(&departure.pointer));
        let mut open: Vec<Departure> = open.filter(|departure| !is_old_null(departure)).cloned().collect();
        // The translator leaves events alone that have other nulls, so those go first.
        open.retain(|departure| {
            let is_null = departure.kind == DepartureKind::NullOptional;
            if is_null {
                // All of them go, or the event could not be read; more than can be said is not said.
                if !self.is_full() {
                    self.report(Issue::new(Severity::Error, Code::NullMember, departure.pointer.clone()));
                }
                changed |= remove(&mut self.tree, &departure.pointer);
            }
            !is_null
        });
        if changed || open.is_empty() {
            return changed;
        }
        let translated = Translator::new().translate(received.clone());
        let changes = translated.map(|translated| translated.changes).unwrap_or_default();
        open.retain(|departure| !changes.iter().any(|change| is_within(&departure.pointer, &change.pointer)));
        // If there is more than can be said, it should be the errors.
        open.sort_by_key(|departure| departure.kind == DepartureKind::UnknownMember);
        for Departure { pointer, kind } in open {
            if self.is_full() {
                return false;
            }
            // A member around it may have got another name since.
            if self.is_settled(&pointer) || get(&self.tree, &pointer).is_none() {
                continue;
            }
            changed |= match kind {
                DepartureKind::UnknownMember => self.mend_unknown_member(&pointer),
                DepartureKind::UnknownToken => self.mend_word(event, &pointer),
                DepartureKind::UnknownVariant => {
                    let issue = self.unknown_variant(&pointer);
                    self.report(issue);
                    false
                }
                DepartureKind::NullOptional => false,
            };
        }
        changed
    }

    fn mend_unknown_member(&mut self, pointer: &str) -> bool {
        let (object, from) = split(pointer);
        for to in members::meanings(&from) {
            // Messages may have names, too, but those are not of tools.
            if to == "name" && !object.ends_with("/function") && !members::is_respelled(&from, &to) {
                continue;
            }
            let meant = format!("{object}/{to}");
            let fits = |read: Result<Received<'_>, ReadError>| match read {
                Ok(received) => {
                    let is_unknown = |departure: &Departure| {
                        departure.kind == DepartureKind::UnknownMember && departure.pointer == meant
                    };
                    !received.departures().iter().any(is_unknown)
                }
                // The member is known, but not like this.
                Err(error) => is_within(error.pointer(), &meant),
            };
            if self.try_rename((object, &from, &to), fits) {
                self.report_renamed(object, &from, &to);
                return true;
            }
        }
        let message = format!("AG-UI 1.0 has no member `{}` here, clients strip it", excerpt(&from));
        self.report(Issue::new(Severity::Warning, Code::UnknownMember, pointer).with_message(message));
        false
    }

    /// A word that is none of the allowed ones makes way.
    fn mend_word(&mut self, event: &Event<'_>, pointer: &str) -> bool {
        let written = get(&self.tree, pointer).and_then(text).unwrap_or_default().to_owned();
        let message = format!("`{}` is none of the allowed words", excerpt(&written));
        let mut issue = Issue::new(Severity::Error, Code::UnknownWord, pointer).with_message(message);
        let meant = match event {
            Event::ReasoningMessageStart(_) => Some("reasoning"),
            Event::ToolCallResult(_) => Some("tool"),
            Event::TextMessageStart(_) | Event::TextMessageChunk(_) => members::role(&written)
                .filter(|role| matches!(*role, "developer" | "system" | "assistant" | "user")),
            Event::ReasoningEncryptedValue(_) => match members::letters(&written).as_str() {
                "toolcall" => Some("tool-call"),
                "message" => Some("message"),
                _ => None,
            },
            _ if pointer.contains("/toolCalls/") => Some("function"),
            _ => None,
        };
        if let Some(meant) = meant {
            issue = issue.with_advice(format!("write {meant}"));
        }
        self.report(issue);
        match meant {
            Some(meant) => set(&mut self.tree, pointer, string(meant)),
            None => remove(&mut self.tree, pointer),
        }
    }

    fn unknown_variant(&self, pointer: &str) -> Issue {
        let (list, _) = split(pointer);
        let (what, tag) = match split(list).1.as_str() {
            "content" => ("content part", "type"),
            "delta" | "patch" => ("patch operation", "op"),
            "messages" => ("message", "role"),
            _ if pointer.ends_with("/outcome") => ("outcome", "type"),
            _ => ("object", "type"),
        };
        let word = get(&self.tree, &format!("{pointer}/{tag}")).and_then(text);
        let message = match word {
            Some(word) => format!("`{}` is no kind of {what} in AG-UI 1.0, clients drop it", excerpt(word)),
            None => format!("the {what} does not say in `{tag}` what it is, clients drop it"),
        };
        let issue = Issue::new(Severity::Error, Code::UnknownVariant, pointer).with_message(message);
        match (what, word) {
            ("content part", Some("binary")) => issue.with_advice(
                "write an image, audio, video or document part whose `source` has the data, a url or a file",
            ),
            ("content part", Some("image_url")) => {
                issue.with_advice("write an image part whose `source` is a url")
            }
            ("content part", _) => issue.with_advice("write a text, image, audio, video or document part"),
            ("patch operation", _) => issue.with_advice("use add, remove, replace, move, copy or test"),
            ("outcome", _) => {
                issue.with_advice("use an outcome of AG-UI 1.0; without one it reads as success")
            }
            _ => issue,
        }
    }
}

/// A value of the kind that the schema expects.
fn neutral(expected: &str) -> Option<Tree> {
    Some(match expected {
        "a string" | "a string or an array of parts" | "a JSON pointer" => string(""),
        "an array" => Tree::Array(Vec::new()),
        "an object" => Tree::Object(Box::default()),
        "a boolean" => Tree::Bool(true),
        "any JSON but null" => Tree::Number("0".into()),
        "at least one interrupt" => {
            let members = ["id", "reason"].map(|key| (key.into(), string("")));
            Tree::Array(vec![Tree::Object(Box::new(members.into_iter().collect()))])
        }
        expected if expected.starts_with("an integer") => Tree::Number("0".into()),
        _ => return None,
    })
}

fn is_operation(value: &Tree) -> bool {
    matches!(value, Tree::Object(members) if members.contains_key(&b"op"[..]))
}

/// The text that an object was put around.
fn text_member(members: &Members) -> Option<(&'static str, Tree)> {
    ["text", "content", "message"].into_iter().find_map(|name| match members.get(name.as_bytes()) {
        Some(text @ Tree::String(_)) => Some((name, text.clone())),
        _ => None,
    })
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
