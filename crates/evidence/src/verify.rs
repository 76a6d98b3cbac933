//! What can be said about an artifact, level by level. There is no word for all of them.

use crate::artifact::Artifact;
use crate::derive::{Derived, Times};
use crate::envelope::Envelope;
use crate::key::PublicKey;
use crate::reason::{Reason, Refused};
use crate::statement::{Scope, SourceKind, Statement};
use crate::{DOES_NOT_CLAIM, check};
use serde::Serialize;

/// What was found at a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It holds.
    Passed,
    /// It does not hold.
    Failed,
    /// Nobody looked, or there was nothing to look at. Says nothing either way.
    NotChecked,
}

impl Outcome {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotChecked => "not_checked",
        }
    }
}

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The bytes are an artifact by the contract.
    Contract,
    /// One of the keys that the verifier trusts has signed the statement.
    Signature,
    /// The statement is about these bytes.
    Subject,
    /// The raw records give the same artifact and the same statement again.
    Rederived,
    /// The log that they are in gives the same chain value again.
    Chain,
}

impl Level {
    /// All of them, in the order they are told.
    pub const ALL: [Self; 5] = [Self::Contract, Self::Signature, Self::Subject, Self::Rederived, Self::Chain];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Contract => "contract",
            Self::Signature => "signature",
            Self::Subject => "subject",
            Self::Rederived => "rederived",
            Self::Chain => "chain",
        }
    }
}

/// A level with what was found there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub level: Level,
    /// What was found.
    pub outcome: Outcome,
    /// Why, or by what.
    pub detail: String,
}

/// All levels, and what none of them says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// In the order of [`Level::ALL`].
    pub levels: Vec<Finding>,
    /// What is not claimed.
    pub does_not_claim: &'static [&'static str],
}

impl Verdict {
    /// What was found at a level.
    ///
    /// # Panics
    /// Never: a verdict has all levels.
    #[must_use]
    pub fn outcome(&self, level: Level) -> Outcome {
        let found = self.levels.iter().find(|finding| finding.level == level);
        found.expect("a verdict has all levels").outcome
    }
}

/// What somebody says about where an artifact came from.
#[derive(Clone, Copy, Debug)]
pub enum Claim<'a> {
    /// Nothing.
    Nothing,
    /// A statement that nobody has signed.
    Statement(&'a [u8]),
    /// A statement in an envelope.
    Envelope(&'a [u8]),
}

/// Looks at an artifact and what is said about it. What needs raw records is told to it.
#[derive(Debug)]
pub struct Verification<'a> {
    bytes: &'a [u8],
    artifact: Option<Artifact>,
    statement: Option<Statement>,
    contract: (Outcome, String),
    signature: (Outcome, String),
    subject: (Outcome, String),
    rederived: (Outcome, String),
    chain: (Outcome, String),
}

fn not_checked(why: &str) -> (Outcome, String) {
    (Outcome::NotChecked, why.to_owned())
}

fn passed(what: impl Into<String>) -> (Outcome, String) {
    (Outcome::Passed, what.into())
}

fn failed(why: impl Into<String>) -> (Outcome, String) {
    (Outcome::Failed, why.into())
}

impl<'a> Verification<'a> {
    /// Looks at what can be looked at without raw records. A statement whose signature is wrong is not read.
    #[must_use]
    pub fn new(bytes: &'a [u8], claim: Claim<'_>, trusted: &[PublicKey]) -> Self {
        let (artifact, contract) = match check(bytes) {
            Ok(artifact) => (Some(artifact), passed("an artifact of v1 by every rule of the contract")),
            Err(refused) => (None, failed(refused.to_string())),
        };
        let (payload, signature) = signed(claim, trusted);
        let (statement, subject) = match payload.as_deref().map(Statement::read) {
            None if signature.0 == Outcome::Failed => {
                (None, not_checked("the statement is not to be believed"))
            }
            None => (None, not_checked("no statement was given")),
            Some(Err(error)) => (None, failed(format!("the statement cannot be used: {error}"))),
            Some(Ok(statement)) => {
                let differences = statement.differences_from_artifact(bytes);
                let subject = match differences.is_empty() {
                    true => passed("the statement is about exactly these bytes"),
                    false => failed(format!(
                        "the statement is about other bytes. members={}",
                        differences.join(",")
                    )),
                };
                (Some(statement), subject)
            }
        };
        let rederived = not_checked("no raw records were given");
        let chain = not_checked("no log was given");
        Self { bytes, artifact, statement, contract, signature, subject, rederived, chain }
    }

    /// The statement, if there is one that may be read.
    #[must_use]
    pub const fn statement(&self) -> Option<&Statement> {
        self.statement.as_ref()
    }

    /// What the times of a recording have to be to give the same artifact: they are labels, and where the events do not say them,
    /// only the artifact does.
    #[must_use]
    pub fn times(&self) -> Times {
        let said = self.statement.as_ref().map(Statement::clock);
        match &self.artifact {
            Some(artifact) if said != Some(Times::OfEvents.clock()) => {
                let (started_at, finished_at) = artifact.times();
                Times::Given {
                    started_at: started_at.to_owned(),
                    finished_at: finished_at.map(str::to_owned),
                }
            }
            _ => Times::OfEvents,
        }
    }

    /// Takes what the raw records give.
    pub fn rederive(&mut self, derived: &Result<Derived, Refused>, source: SourceKind, scope: Option<Scope>) {
        self.rederived = match derived {
            // A refusal to look is no finding.
            Err(refused) if refused.has(Reason::RawNotKept) => not_checked(&refused.to_string()),
            Err(refused) => failed(format!("the raw records give no artifact: {refused}")),
            Ok(derived) if derived.artifact.to_json().as_bytes() != self.bytes => {
                failed("the raw records give another artifact")
            }
            Ok(derived) => match &self.statement {
                None => passed("the raw records give the same artifact; there is no statement to compare"),
                Some(statement) => {
                    let again = Statement::about(derived, source, scope, None);
                    let differences = statement.differences(&again);
                    match differences.is_empty() {
                        true => passed("the raw records give the same artifact and the same statement"),
                        false => {
                            let members = differences.join(",");
                            failed(format!("the raw records give another statement. members={members}"))
                        }
                    }
                }
            },
        };
    }

    /// Takes what the log says about its chain.
    pub fn chain(&mut self, outcome: Outcome, detail: impl Into<String>) {
        self.chain = (outcome, detail.into());
    }

    /// What was found.
    #[must_use]
    pub fn verdict(self) -> Verdict {
        let found = [self.contract, self.signature, self.subject, self.rederived, self.chain];
        let levels = Level::ALL.into_iter().zip(found);
        let levels = levels.map(|(level, (outcome, detail))| Finding { level, outcome, detail }).collect();
        Verdict { levels, does_not_claim: DOES_NOT_CLAIM }
    }
}

/// The statement's bytes, if they may be read, and what is to be said about who signed them.
fn signed(claim: Claim<'_>, trusted: &[PublicKey]) -> (Option<Vec<u8>>, (Outcome, String)) {
    let envelope = match claim {
        Claim::Nothing => return (None, not_checked("no statement was given")),
        Claim::Statement(bytes) => {
            return (Some(bytes.to_vec()), not_checked("nobody has signed the statement"));
        }
        Claim::Envelope(bytes) => Envelope::read(bytes),
    };
    match envelope {
        Err(error) => (None, failed(format!("the envelope cannot be used: {error}"))),
        Ok(envelope) if trusted.is_empty() => {
            (Some(envelope.payload().to_vec()), not_checked("no key was given to check it with"))
        }
        Ok(envelope) => match envelope.signed_by(trusted) {
            Some(key) => (
                Some(envelope.payload().to_vec()),
                passed(format!("signed by a trusted key. keyid={}", key.id())),
            ),
            None => (None, failed("no trusted key has signed the statement")),
        },
    }
}
