//! Where an artifact came from: an in-toto Statement about it. The artifact is closed, so that this stands beside it.

use crate::bounds::STATEMENT_BYTES_MAX;
use crate::derive::{Derived, Dropped};
use crate::digest::{RawRange, sha256_hex};
use crate::reason::{Reason, Refusal};
use crate::{DOES_NOT_CLAIM, artifact, json};
use serde::{Deserialize, Serialize};
use thiserror::Error;

const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
const PREDICATE_TYPE: &str = "urn:threadline:predicate:compacted-message-snapshot:v1";
/// The name of the projection from events to artifacts.
pub(crate) const PROJECTION: &str = "threadline.integration-emitted-snapshot";
/// Grows when the same events would give another artifact, or other counts.
pub(crate) const PROJECTION_VERSION: u32 = 1;

/// Why a statement cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum StatementError {
    /// Its JSON is refused.
    #[error("{0}")]
    Json(Refusal),
    /// It is JSON, and something else than a statement of this kind.
    #[error("not a statement of this kind. line={line}, column={column}")]
    Shape {
        /// Where it went wrong.
        line: usize,
        /// Where in the line.
        column: usize,
    },
    /// A member with another value than this version knows.
    #[error("not what this version knows. member={0}")]
    Unknown(&'static str),
}

/// An in-toto Statement whose single subject is an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    #[serde(rename = "_type")]
    statement_type: String,
    subject: Vec<Subject>,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    predicate: Predicate,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Subject {
    name: String,
    digest: SubjectDigest,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SubjectDigest {
    sha256: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Predicate {
    projection: Projection,
    artifact: ArtifactDigests,
    source: Source,
    raw: RawRange,
    dropped: Dropped,
    clock: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chain: Option<ChainValue>,
    does_not_claim: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Projection {
    name: String,
    version: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ArtifactDigests {
    schema: String,
    bytes: u64,
    /// Of its RFC 8785 form: the same for every way of writing it.
    canonical_sha256: String,
}

/// Where the raw records are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// What they are kept in.
    pub kind: SourceKind,
    /// Whose thread it is, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// The thread.
    pub thread: String,
    /// The run.
    pub run: String,
}

/// What raw records are kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// A log, whose offsets the range has.
    Log,
    /// A recording, whose events are counted from 0.
    Recording,
}

/// Whose thread it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// The application.
    pub app: String,
    /// The user.
    pub user: String,
}

/// The value of the hash chain over a thread's records, of all its runs, after the last record of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainValue {
    /// The offset that the chain begins at.
    pub from: u64,
    /// One past the last record.
    pub at: u64,
    /// The value there, in hexadecimal digits.
    pub value: String,
}

impl Statement {
    /// What is known about an artifact that was derived.
    #[must_use]
    pub fn about(
        derived: &Derived,
        source: SourceKind,
        scope: Option<Scope>,
        chain: Option<ChainValue>,
    ) -> Self {
        let written = derived.artifact.to_json();
        Self {
            statement_type: STATEMENT_TYPE.to_owned(),
            subject: vec![Subject {
                name: "artifact".to_owned(),
                digest: SubjectDigest { sha256: sha256_hex(written.as_bytes()) },
            }],
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate: Predicate {
                projection: Projection { name: PROJECTION.to_owned(), version: PROJECTION_VERSION },
                artifact: ArtifactDigests {
                    schema: artifact::SCHEMA.to_owned(),
                    bytes: written.len() as u64,
                    canonical_sha256: sha256_hex(derived.artifact.to_canonical_json().as_bytes()),
                },
                source: Source {
                    kind: source,
                    scope,
                    thread: derived.artifact.thread_id_ref.clone(),
                    run: derived.artifact.run_id_ref.clone(),
                },
                raw: derived.range.clone(),
                dropped: derived.dropped.clone(),
                clock: derived.clock.to_owned(),
                chain,
                does_not_claim: DOES_NOT_CLAIM.iter().map(|claim| (*claim).to_owned()).collect(),
            },
        }
    }

    /// Reads a statement. One of another kind or version is refused, and so is one with anything more in it.
    ///
    /// # Errors
    /// If it is none.
    pub fn read(bytes: &[u8]) -> Result<Self, StatementError> {
        if bytes.len() > STATEMENT_BYTES_MAX {
            let message = format!("too large. bytes={}, max={STATEMENT_BYTES_MAX}", bytes.len());
            return Err(StatementError::Json(Refusal::new(Reason::TooLarge, "", message)));
        }
        json::read(bytes).map_err(StatementError::Json)?;
        let statement: Self = serde_json::from_slice(bytes)
            .map_err(|error| StatementError::Shape { line: error.line(), column: error.column() })?;
        let Self { statement_type, subject, predicate_type, predicate } = &statement;
        let known = [
            (statement_type == STATEMENT_TYPE, "_type"),
            (predicate_type == PREDICATE_TYPE, "predicateType"),
            (subject.len() == 1, "subject"),
            (predicate.projection.name == PROJECTION, "projection.name"),
            (predicate.projection.version == PROJECTION_VERSION, "projection.version"),
            (predicate.artifact.schema == artifact::SCHEMA, "artifact.schema"),
        ];
        match known.into_iter().find(|(is_known, _)| !is_known) {
            Some((_, member)) => Err(StatementError::Unknown(member)),
            None => Ok(statement),
        }
    }

    /// The statement as it is written, and signed.
    ///
    /// # Panics
    /// Never: strings and numbers can be written.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(self).expect("strings and numbers are JSON");
        json.push('\n');
        json
    }

    /// Where the raw records are.
    #[must_use]
    pub const fn source(&self) -> &Source {
        &self.predicate.source
    }

    /// Whose clock the times are of.
    #[must_use]
    pub fn clock(&self) -> &str {
        &self.predicate.clock
    }

    /// The value of the thread's chain after the run.
    #[must_use]
    pub const fn chain(&self) -> Option<&ChainValue> {
        self.predicate.chain.as_ref()
    }

    /// Whether these are the bytes it is about: what differs, by member.
    #[must_use]
    pub fn differences_from_artifact(&self, bytes: &[u8]) -> Vec<&'static str> {
        let digest = self.subject.first().map(|subject| subject.digest.sha256.as_str());
        let canonical =
            crate::check(bytes).ok().map(|artifact| sha256_hex(artifact.to_canonical_json().as_bytes()));
        let claimed = &self.predicate.artifact;
        let same = [
            (digest == Some(sha256_hex(bytes).as_str()), "subject.digest.sha256"),
            (claimed.bytes == bytes.len() as u64, "artifact.bytes"),
            (
                canonical.is_none_or(|canonical| claimed.canonical_sha256 == canonical),
                "artifact.canonicalSha256",
            ),
        ];
        same.into_iter().filter(|(is_same, _)| !is_same).map(|(_, member)| member).collect()
    }

    /// In which members two statements differ. The chain is for its own level.
    pub(crate) fn differences(&self, other: &Self) -> Vec<&'static str> {
        let (one, two) = (&self.predicate, &other.predicate);
        let same = [
            (self.subject == other.subject, "subject"),
            (one.artifact == two.artifact, "artifact"),
            (one.source.thread == two.source.thread, "source.thread"),
            (one.source.run == two.source.run, "source.run"),
            (one.source.kind == two.source.kind, "source.kind"),
            (one.source.scope == two.source.scope, "source.scope"),
            (one.raw == two.raw, "raw"),
            (one.dropped == two.dropped, "dropped"),
            (one.clock == two.clock, "clock"),
        ];
        same.into_iter().filter(|(is_same, _)| !is_same).map(|(_, member)| member).collect()
    }
}
