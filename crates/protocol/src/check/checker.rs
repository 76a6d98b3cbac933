//! The checker itself.

use super::code::Code;
use super::coverage::Coverage;
use super::documents::Documents;
use super::family::Family;
use super::finding::{Findings, Severity, excerpt};
use super::issue::Issue;
use super::mend::{Mended, Mender};
use super::report::{CheckReport, Verdict};
use super::sequence::{Sequence, is_about_any_event};
use super::tree_path::{get, remove, rename, set, string, text};
use super::types::{self, TYPE_MEMBERS};
use crate::event::{Envelope, Event, EventType, Received};
use crate::json::{Json, Text, Tree};
use crate::schema::{Departure, DepartureKind, ReadError, ReadErrorKind, UnknownWords};
use crate::stages::enforce::{Verdict as Enforced, enforce};
use crate::stages::translate::{Change, ChangeKind, Translator};

/// Checks the events of one stream, in order. It needs memory for what is open, for the state, and for a bounded number of
/// activities and findings.
#[derive(Clone, Debug)]
pub struct Checker {
    translator: Translator,
    sequence: Sequence,
    documents: Documents,
    findings: Findings,
    coverage: Coverage,
    position: u64,
    readable: u64,
    /// How many events have errors.
    failed: u64,
}

/// Where a run declares its version.
const VERSION: &str = "/protocolVersion";

/// What is known about an event.
#[derive(Debug)]
struct Judged {
    /// The type as it was written.
    written: Option<String>,
    /// The type that was meant, if that is one of 1.0 or 0.x.
    meant: Option<&'static str>,
    family: Family,
    issues: Vec<Issue>,
}

impl Default for Checker {
    fn default() -> Self {
        Self::new()
    }
}

impl Checker {
    /// At the start of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self {
            translator: Translator::new(),
            sequence: Sequence::new(),
            documents: Documents::default(),
            findings: Findings::default(),
            coverage: Coverage::new(),
            position: 0,
            readable: 0,
            failed: 0,
        }
    }

    /// Takes the next event. Whether a finding names its position, so that the caller should remember where it was.
    pub fn push(&mut self, json: &str) -> bool {
        let judged = match Received::read(json) {
            Ok(received) => match received.event().event_type() {
                Some(event_type) if received.departures().is_empty() => {
                    return self.push_clean(received, event_type);
                }
                Some(event_type) => self.judge_known(json, Ok(received), event_type),
                None => self.judge_unknown(json, &received),
            },
            Err(error) => self.judge_error(json, &error),
        };
        self.conclude(judged)
    }

    /// Takes note of a part of the input that is not even a text.
    pub fn push_unreadable(&mut self, message: &str) -> bool {
        let issue = Issue::new(Severity::Error, Code::Undecodable, "").with_message(excerpt(message));
        self.conclude(Judged { written: None, meant: None, family: Family::Other, issues: vec![issue] })
    }

    /// Takes note that clients cannot tell an event, counted from 0, from what comes before it in its SSE stream. See
    /// [`SseDecoder::joined`](crate::codec::SseDecoder::joined).
    pub fn joined(&mut self, position: u64) -> bool {
        let issue = Issue::new(Severity::Error, Code::SseLineEnds, "");
        self.findings.add(position, Family::Other, None, issue)
    }

    /// Takes note of something that the next event has lost before it came here, as events in protobuf may.
    pub fn lost(&mut self, event_type: &str, path: &str) -> bool {
        let issue = Issue::new(Severity::Error, Code::LostInProtobuf, path);
        self.findings.add(self.position, types::family(event_type), Some(event_type), issue)
    }

    /// There are no more events.
    #[must_use]
    pub fn finish(mut self) -> CheckReport {
        if let Some(issue) = self.sequence.finish() {
            self.findings.add(self.position, Family::Lifecycle, None, issue);
        }
        let counts = self.findings.counts();
        let verdict = if self.readable == 0 {
            Verdict::Unreadable
        } else if counts.errors > 0 && self.failed.saturating_mul(2) >= self.position {
            Verdict::Severe
        } else if counts.errors > 0 {
            Verdict::Drift
        } else if counts.warnings > 0 {
            Verdict::Warnings
        } else {
            Verdict::Conformant
        };
        let (findings, omitted) = self.findings.into_sorted();
        CheckReport {
            verdict,
            events: self.position,
            readable: self.readable,
            errors: counts.errors,
            warnings: counts.warnings,
            notes: counts.notes,
            findings,
            omitted,
            coverage: self.coverage,
        }
    }

    /// An event of 1.0 with nothing wrong in it. Most are.
    fn push_clean(&mut self, received: Received<'_>, event_type: EventType) -> bool {
        let name = event_type.as_str();
        let mut judged = Judged {
            written: Some(name.to_owned()),
            meant: Some(name),
            family: Family::of(event_type),
            issues: Vec::new(),
        };
        self.readable += 1;
        self.deliver(received, false, &mut judged);
        self.conclude(judged)
    }

    /// A text that no 1.0 client takes as it is.
    fn judge_error(&mut self, json: &str, error: &ReadError) -> Judged {
        let nothing = |code: Code, message: String| Judged {
            written: None,
            meant: None,
            family: Family::Other,
            issues: vec![Issue::new(Severity::Error, code, "").with_message(message)],
        };
        match error.kind() {
            ReadErrorKind::Utf8 | ReadErrorKind::Syntax(_) => nothing(Code::NotJson, error.to_string()),
            ReadErrorKind::NotAnEvent(_) => match tree_of(json) {
                Some(tree @ Tree::Object(_)) => self.judge_typeless(tree),
                Some(_) => nothing(Code::NotAnObject, Code::NotAnObject.summary().to_owned()),
                None => nothing(Code::NoType, Code::NoType.summary().to_owned()),
            },
            _ => match type_of(json) {
                Some(event_type) => self.judge_known(json, Err(error), event_type),
                None => nothing(Code::WrongValue, error.to_string()),
            },
        }
    }

    /// An object without a type, which may have one under another name.
    fn judge_typeless(&mut self, mut tree: Tree) -> Judged {
        let named = TYPE_MEMBERS.iter().find_map(|&member| {
            let name = get(&tree, &format!("/{member}")).and_then(text)?;
            let is_known = EventType::from_name(name).is_some()
                || types::respelled(name).is_some()
                || types::foreign(name).is_some();
            is_known.then(|| (member, name.to_owned()))
        });
        let Some((member, name)) = named else {
            let issues = vec![Issue::new(Severity::Error, Code::NoType, "")];
            return Judged { written: None, meant: None, family: Family::Other, issues };
        };
        self.readable += 1;
        // A type that is there and no string makes way.
        remove(&mut tree, "/type");
        rename(&mut tree, "", member, "type");
        let message = format!("the type stands in `{member}`");
        let issue = Issue::new(Severity::Error, Code::TypeMember, format!("/{member}"))
            .with_message(message)
            .with_advice("name the member `type`");
        let mut judged = match EventType::from_name(&name) {
            Some(event_type) => self.judge_tree(tree, event_type),
            None => self.judge_named(Some(tree), &name),
        };
        judged.written = Some(name);
        judged.issues.insert(0, issue);
        judged
    }

    /// An event of a type that 1.0 does not have.
    fn judge_unknown(&mut self, json: &str, received: &Received<'_>) -> Judged {
        self.readable += 1;
        let name = received.event().type_name().to_str().into_owned();
        if let Some((thinking, _)) = types::thinking(&name) {
            return self.judge_thinking(thinking, received.clone());
        }
        self.judge_named(tree_of(json), &name)
    }

    /// An event of a type that 1.0 does not have, but may be meant to have.
    fn judge_named(&mut self, tree: Option<Tree>, name: &str) -> Judged {
        if let Some(meant) = types::respelled(name) {
            let write = types::thinking(meant).map_or(meant, |(_, successor)| successor.as_str());
            let issue = Issue::new(Severity::Error, Code::TypeSpelling, "/type")
                .with_message("AG-UI spells the type differently, clients drop the event")
                .with_advice(format!("write {write}"));
            return self.judge_as(tree, name, meant, issue);
        }
        if let Some(foreign) = types::foreign(name) {
            let issue = Issue::new(Severity::Error, Code::ForeignType, "/type").with_advice(foreign.advice);
            let mut judged = match foreign.meant {
                Some(meant) => self.judge_as(tree, name, meant.as_str(), issue),
                None => Judged {
                    written: Some(name.to_owned()),
                    meant: None,
                    family: foreign.family,
                    issues: vec![issue],
                },
            };
            judged.family = foreign.family;
            return judged;
        }
        let issue = Issue::new(Severity::Error, Code::UnknownType, "/type");
        Judged { written: Some(name.to_owned()), meant: None, family: Family::Other, issues: vec![issue] }
    }

    /// An event as if it had the type that was meant.
    fn judge_as(&mut self, tree: Option<Tree>, name: &str, meant: &'static str, issue: Issue) -> Judged {
        let mut judged = match (tree, EventType::from_name(meant)) {
            (Some(mut tree), Some(event_type)) => {
                set(&mut tree, "/type", string(meant));
                self.judge_tree(tree, event_type)
            }
            (Some(mut tree), None) => {
                set(&mut tree, "/type", string(meant));
                match Received::read_owned(tree.to_json().as_str().to_owned()) {
                    Ok(received) => self.judge_thinking(meant, received),
                    Err(_) => Judged::of(meant),
                }
            }
            (None, _) => Judged::of(meant),
        };
        judged.written = Some(name.to_owned());
        judged.issues.insert(0, issue);
        judged
    }

    /// An event of 0.x.
    fn judge_thinking(&mut self, name: &'static str, received: Received<'_>) -> Judged {
        let mut judged = Judged::of(name);
        let translated = match self.translator.translate(received) {
            Ok(translated) => translated,
            Err(error) => {
                judged.issues.push(malformed_issue(&error));
                return judged;
            }
        };
        let is_orphan = translated.changes.iter().any(|change| change.kind == ChangeKind::Orphaned);
        judged.issues.extend(translated.changes.iter().map(era_issue));
        let event_type = translated.event.event().event_type();
        if let (Some(event_type), Some(tree)) = (event_type, tree_of(translated.event.json())) {
            let Mended { json, issues, has_made_up_ids } = Mender::new(tree, event_type).mend();
            judged.issues.extend(issues);
            if let Ok(received) = Received::read(json.as_str()) {
                // What continues nothing has been said to do so.
                self.deliver(received, has_made_up_ids || is_orphan, &mut judged);
            }
        }
        judged
    }

    /// An event of a type that 1.0 has, with something wrong in it.
    fn judge_known(
        &mut self,
        json: &str,
        read: Result<Received<'_>, &ReadError>,
        event_type: EventType,
    ) -> Judged {
        self.readable += 1;
        if let Some(tree) = tree_of(json) {
            return self.judge_tree(tree, event_type);
        }
        // Nested too deep to be mended.
        let mut judged = Judged::of(event_type.as_str());
        match read {
            Ok(received) => {
                judged.issues.extend(received.departures().iter().map(plain_issue));
                self.deliver(received, false, &mut judged);
            }
            Err(error) => judged.issues.push(malformed_issue(error)),
        }
        judged
    }

    fn judge_tree(&mut self, tree: Tree, event_type: EventType) -> Judged {
        let mut judged = Judged::of(event_type.as_str());
        let Mended { json, issues, has_made_up_ids } = Mender::new(tree, event_type).mend();
        judged.issues = issues;
        if let Ok(received) = Received::read(json.as_str()) {
            self.deliver(received, has_made_up_ids, &mut judged);
        }
        judged
    }

    /// Judges an event that can be read by its era and by where it stands.
    fn deliver(&mut self, received: Received<'_>, has_made_up_ids: bool, judged: &mut Judged) {
        let Ok(translated) = self.translator.translate(received) else { return };
        judged.issues.extend(translated.changes.iter().map(era_issue));
        let event = translated.event.event();
        // What was wrong with it has been said.
        let is_version_wrong = judged.issues.iter().any(|issue| issue.meant_path == VERSION);
        if let (Event::RunStarted(started), false) = (event, is_version_wrong) {
            judged.issues.extend(version_issue(started.protocol_version.as_ref()));
        }
        if judged.issues.iter().all(|issue| issue.severity < Severity::Error) {
            judged.issues.extend(self.documents.judge(event));
        }
        let deviations = judged.issues.iter().filter(|issue| issue.is_deviation());
        let wrong: Vec<String> = deviations.map(|issue| issue.meant_path.clone()).collect();
        self.coverage.count_inside(event, &wrong);
        if let Enforced::Kept { event, .. } = enforce(translated.event, UnknownWords::Strip) {
            judged.issues.extend(self.sequence.judge(event.event(), has_made_up_ids));
        }
    }

    /// Counts an event and what is wrong with it.
    fn conclude(&mut self, judged: Judged) -> bool {
        let position = self.position;
        self.position += 1;
        let Judged { written, meant, family, issues } = judged;
        // That there is no run is the stream's fault, and not that of each event, but for those that end one.
        let is_end = matches!(meant, Some("RUN_FINISHED" | "RUN_ERROR"));
        let own = issues.iter().filter(|issue| is_end || !is_about_any_event(issue.code));
        let worst = own.map(|issue| issue.severity).max();
        self.failed += u64::from(worst == Some(Severity::Error));
        // An event of an unknown type changes nothing; one that cannot be read could have been any.
        if worst == Some(Severity::Error) && (meant.is_some() || written.is_none()) {
            self.documents.forget(meant);
        }
        if let Some(meant) = meant {
            self.coverage.count_type(meant, worst >= Some(Severity::Warning));
        }
        let mut is_named = false;
        for issue in issues {
            let (family, event_type) = match is_about_any_event(issue.code) {
                true => (Family::Lifecycle, None),
                false => (family, written.as_deref()),
            };
            is_named |= self.findings.add(position, family, event_type, issue);
        }
        is_named
    }
}

impl Judged {
    fn of(meant: &'static str) -> Self {
        let (written, family) = (Some(meant.to_owned()), types::family(meant));
        Self { written, meant: Some(meant), family, issues: Vec::new() }
    }
}

/// The event as a tree, unless it is nested too deep.
fn tree_of(json: &str) -> Option<Tree> {
    Tree::parse(&Json::parse(json).ok()?, Tree::DEPTH_MAX).ok()
}

fn type_of(json: &str) -> Option<EventType> {
    Envelope::read(json).ok().and_then(|envelope| envelope.event_type())
}

/// What a departure is, without a look at what was meant.
fn plain_issue(departure: &Departure) -> Issue {
    let (severity, code) = match departure.kind {
        DepartureKind::UnknownMember => (Severity::Warning, Code::UnknownMember),
        DepartureKind::UnknownVariant => (Severity::Error, Code::UnknownVariant),
        DepartureKind::UnknownToken => (Severity::Error, Code::UnknownWord),
        DepartureKind::NullOptional => (Severity::Error, Code::NullMember),
    };
    Issue::new(severity, code, departure.pointer.clone())
}

fn malformed_issue(error: &ReadError) -> Issue {
    Issue::new(Severity::Error, Code::WrongValue, error.pointer()).with_message(error.to_string())
}

fn era_issue(change: &Change) -> Issue {
    let (severity, code) = match change.kind {
        ChangeKind::Renamed { .. } => (Severity::Note, Code::ThinkingEvent),
        ChangeKind::Lost => (Severity::Warning, Code::ThinkingTitleLost),
        ChangeKind::Orphaned => (Severity::Error, Code::ThinkingOrphan),
        ChangeKind::NullRemoved => (Severity::Note, Code::LegacyNull),
        ChangeKind::PartConverted | ChangeKind::MirrorRemoved => (Severity::Note, Code::BinaryPart),
        // Ours to correct: the reference client fails.
        ChangeKind::RoleCorrected => (Severity::Error, Code::ReasoningRole),
    };
    let issue = Issue::new(severity, code, change.pointer.clone());
    match change.kind {
        ChangeKind::Renamed { to } => issue.with_advice(format!("write {to}")),
        _ => issue,
    }
}

fn version_issue(version: Option<&Text<'_>>) -> Option<Issue> {
    let path = VERSION;
    match version {
        Some(version) if *version == "1.0" => None,
        Some(other) => {
            let message =
                format!("the run declares version `{}`, which is not 1.0", excerpt(&other.to_str()));
            Some(Issue::new(Severity::Note, Code::VersionOther, path).with_message(message))
        }
        None => Some(Issue::new(Severity::Note, Code::VersionUndeclared, path)),
    }
}
