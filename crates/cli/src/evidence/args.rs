//! What can be said about evidence on the command line.

use crate::args::{InputFormat, ReportFormat, SourceArgs};
use crate::examples;
use crate::store::args::{PlaceArgs, ScopeArgs, StoreArgs};
use clap::{Subcommand, ValueEnum};
use std::path::PathBuf;
use threadline_evidence::verify::Level;
use threadline_log::ThreadId;

/// Derive, check, sign, verify and compare the artifacts of runs
///
/// An artifact is what one integration-emitted MESSAGES_SNAPSHOT said, between the start and the end of its run: plain text,
/// strictly bounded. It claims no complete stream, no replay, no state and no branch. What does not fit is refused by name.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct EvidenceArgs {
    #[command(subcommand)]
    pub(crate) command: EvidenceCommand,
}

const EXAMPLES: &str = "\
Exit status: 0 good, 1 refused, failed or different, 2 unreadable input or usage, 3 I/O.

Examples:
  threadline evidence derive --thread my-thread --run my-run --statement statement.json > artifact.json
  threadline evidence check artifact.json
  threadline evidence keygen key.pem --public public.pem
  threadline evidence sign artifact.json --statement statement.json --key key.pem > envelope.json
  threadline evidence verify artifact.json --envelope envelope.json --key public.pem --thread my-thread --run my-run";

#[derive(Debug, Subcommand)]
pub(crate) enum EvidenceCommand {
    /// Make the artifact of a run, from a recorded stream, a store or a server
    #[command(after_long_help = examples::EVIDENCE_DERIVE)]
    Derive(DeriveArgs),
    /// Say whether a file is an artifact, and if not, everything that is wrong with it
    #[command(after_long_help = examples::EVIDENCE_CHECK)]
    Check(CheckArgs),
    /// Sign the statement about an artifact
    #[command(after_long_help = examples::EVIDENCE_SIGN)]
    Sign(SignArgs),
    /// Say level by level what holds for an artifact: contract, signature, subject, rederived, chain
    #[command(after_long_help = examples::EVIDENCE_VERIFY)]
    Verify(VerifyArgs),
    /// Compare two artifacts, message by message
    #[command(after_long_help = examples::EVIDENCE_DIFF)]
    Diff(DiffArgs),
    /// Print the head of a thread's hash chain, to be kept elsewhere; or say whether the records still give one that was kept
    #[command(after_long_help = examples::EVIDENCE_HEAD)]
    Head(HeadArgs),
    /// Make an Ed25519 key
    #[command(after_long_help = examples::EVIDENCE_KEYGEN)]
    Keygen(KeygenArgs),
}

/// A run of a store or a server.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    /// The thread, in a store or at a server
    #[arg(long, value_name = "THREAD", requires = "run")]
    pub(crate) thread: Option<ThreadId>,
    /// The run
    #[arg(long, value_name = "RUN", requires = "thread")]
    pub(crate) run: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DeriveArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// When RUN_STARTED was seen, by the clock of who made the recording; else what the events say
    #[arg(long, value_name = "TIME", conflicts_with = "thread")]
    pub(crate) started_at: Option<String>,
    /// When the terminal event was seen, by the same clock
    #[arg(long, value_name = "TIME", requires = "started_at")]
    pub(crate) finished_at: Option<String>,
    /// Write what is known about where the artifact came from to this file: what `sign` signs
    #[arg(long, value_name = "FILE")]
    pub(crate) statement: Option<PathBuf>,
    /// How refusals are written to standard error
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: ReportFormat,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// The artifact: a file, or - for standard input
    #[arg(value_name = "ARTIFACT", default_value = "-")]
    pub(crate) artifact: PathBuf,
    /// How the answer is written to standard output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: ReportFormat,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SignArgs {
    /// The artifact
    #[arg(value_name = "ARTIFACT")]
    pub(crate) artifact: PathBuf,
    /// The statement about it, as `derive` wrote it
    #[arg(long, value_name = "FILE")]
    pub(crate) statement: PathBuf,
    /// The private key: Ed25519, PKCS#8, PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    /// The artifact
    #[arg(value_name = "ARTIFACT")]
    pub(crate) artifact: PathBuf,
    /// The envelope, as `sign` wrote it
    #[arg(long, value_name = "FILE")]
    pub(crate) envelope: Option<PathBuf>,
    /// A statement that nobody has signed
    #[arg(long, value_name = "FILE", conflicts_with = "envelope")]
    pub(crate) statement: Option<PathBuf>,
    /// A public key that is trusted, as PEM; may be given several times
    #[arg(long = "key", value_name = "FILE")]
    pub(crate) keys: Vec<PathBuf>,
    /// The recording that the artifact came from
    #[arg(long, value_name = "FILE", conflicts_with = "thread")]
    pub(crate) raw: Option<PathBuf>,
    /// The format of the recording; found out if not given
    #[arg(long, value_name = "FORMAT", requires = "raw")]
    pub(crate) from: Option<InputFormat>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Levels that must have passed; else it is enough that none has failed
    #[arg(long, value_name = "LEVEL", value_delimiter = ',')]
    pub(crate) require: Vec<LevelArg>,
    /// How the answer is written to standard output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: ReportFormat,
}

impl VerifyArgs {
    /// What the recording is called.
    pub(crate) fn raw_name(&self) -> String {
        self.raw.as_ref().map(|raw| raw.display().to_string()).unwrap_or_default()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LevelArg {
    /// The bytes are an artifact
    Contract,
    /// A trusted key has signed the statement
    Signature,
    /// The statement is about these bytes
    Subject,
    /// The raw records give the same again
    Rederived,
    /// The log's hash chain gives the same again
    Chain,
}

impl LevelArg {
    pub(crate) const fn level(self) -> Level {
        match self {
            Self::Contract => Level::Contract,
            Self::Signature => Level::Signature,
            Self::Subject => Level::Subject,
            Self::Rederived => Level::Rederived,
            Self::Chain => Level::Chain,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct DiffArgs {
    /// The first artifact
    #[arg(value_name = "LEFT")]
    pub(crate) left: PathBuf,
    /// The second artifact
    #[arg(value_name = "RIGHT")]
    pub(crate) right: PathBuf,
    /// How the differences are written to standard output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: ReportFormat,
}

#[derive(Debug, clap::Args)]
pub(crate) struct HeadArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    /// The thread
    #[arg(value_name = "THREAD")]
    pub(crate) thread: ThreadId,
    /// A file with what this command has printed earlier: all records are read again, and compared with it
    #[arg(long, value_name = "FILE")]
    pub(crate) pinned: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct KeygenArgs {
    /// Where the private key is written: PKCS#8, PEM, for its owner only. Never over another file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Where the public key is written; else to standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) public: Option<PathBuf>,
}
