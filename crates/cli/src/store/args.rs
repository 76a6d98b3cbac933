//! What can be said about stores on the command line.

use super::place::Place;
use crate::args::{Reporting, SourceArgs};
use crate::examples;
use crate::report::Failure;
use clap::{Subcommand, ValueEnum};
use std::num::NonZeroUsize;
use threadline_log::names::Owner;
use threadline_log::search;
use threadline_log::{Scope, ThreadId, ThreadKey};

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// List the threads of a store, the last that was updated first
    #[command(after_long_help = examples::THREADS)]
    Threads(ThreadsArgs),
    /// Show a thread: its runs, and what a client holds at any point of it
    #[command(after_long_help = examples::SHOW)]
    Show(ShowArgs),
    /// Write threads to standard output as lines of JSON
    #[command(after_long_help = examples::EXPORT)]
    Export(ExportArgs),
    /// Take threads in from an export, or from a recording of AG-UI events
    ///
    /// An export of which a line is missing, there twice or in another place is refused, and nothing of it is kept. What cannot be read as an
    /// event in a recording is kept, and told: the command ends with 1 then. If nothing can be, it is refused, and ends with 2.
    #[command(after_long_help = examples::IMPORT)]
    Import(ImportArgs),
    /// Copy a thread, or a part of it, into a new one
    #[command(after_long_help = examples::CLONE)]
    Clone(CloneArgs),
    /// Delete a thread
    #[command(after_long_help = examples::DELETE)]
    Delete(DeleteArgs),
    /// Copy all threads from one store to another, and see that they are the same there
    #[command(after_long_help = examples::MIGRATE)]
    Migrate(MigrateArgs),
    /// Check everything that a store holds
    #[command(after_long_help = examples::DOCTOR)]
    Doctor(DoctorArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct StoreArgs {
    /// Where the store is: a directory, or the URL of a database, such as postgres://user@host/database
    #[arg(long, value_name = "STORE", default_value = "threadline-data")]
    pub(crate) store: Place,
}

/// Where threads are: in a store, or at a server.
#[derive(Debug, clap::Args)]
pub(crate) struct PlaceArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// The URL of a running server, which is asked in place of a store. Whose threads they are is for the server to say
    #[arg(long, value_name = "URL", conflicts_with_all = ["store", "app", "user"])]
    pub(crate) server: Option<String>,
    /// What the server knows the caller by
    #[arg(long, value_name = "TOKEN", env = "THREADLINE_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
}

/// Whose threads.
#[derive(Debug, clap::Args)]
pub(crate) struct ScopeArgs {
    /// The application that the thread belongs to
    #[arg(long, value_name = "APP", default_value = DEFAULT_OWNER)]
    pub(crate) app: Owner,
    /// The user that the thread belongs to
    #[arg(long, value_name = "USER", default_value = DEFAULT_OWNER)]
    pub(crate) user: Owner,
}

/// The application and the user, where nobody says.
pub(crate) const DEFAULT_OWNER: &str = "default";

impl ScopeArgs {
    pub(crate) fn scope(&self) -> Scope {
        Scope { app: self.app.clone(), user: self.user.clone() }
    }

    pub(crate) fn thread(&self, id: &ThreadId) -> ThreadKey {
        ThreadKey::new(self.scope(), id.clone())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people
    Text,
    /// For programs: an object a line
    Json,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ThreadsArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Only those of this application
    #[arg(long, value_name = "APP", requires = "user")]
    pub(crate) app: Option<Owner>,
    /// Only those of this user
    #[arg(long, value_name = "USER", requires = "app")]
    pub(crate) user: Option<Owner>,
    /// Only those whose name or messages have all of these words
    #[arg(long, short, value_name = "WORDS", value_parser = words)]
    pub(crate) query: Option<String>,
    /// Only those of this agent
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Only those with this label
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = label)]
    pub(crate) labels: Vec<(String, String)>,
    /// Only those that were put away
    #[arg(long)]
    pub(crate) archived: bool,
    /// At most so many
    #[arg(long, value_name = "COUNT", default_value = "50")]
    pub(crate) limit: NonZeroUsize,
    /// How they are written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: OutputFormat,
}

/// A text without words would be looked for in vain, or find everything.
fn words(text: &str) -> Result<String, String> {
    match search::words(text).next() {
        Some(_) => Ok(text.to_owned()),
        None => Err("there are no words in it".to_owned()),
    }
}

fn label(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("no = in it")?;
    Ok((name.to_owned(), value.to_owned()))
}

#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    /// The thread
    pub(crate) thread: ThreadId,
    /// What its branch holds after this run; else that of the last run
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// What is held after this offset
    #[arg(long, value_name = "OFFSET")]
    pub(crate) at: Option<u64>,
    /// List the records as well
    #[arg(long)]
    pub(crate) records: bool,
    /// How it is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: OutputFormat,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    /// The thread
    #[arg(required_unless_present = "all")]
    pub(crate) thread: Option<ThreadId>,
    /// All threads, one after the other: of all scopes, or of the server's caller
    #[arg(long, conflicts_with = "thread")]
    pub(crate) all: bool,
    /// What of it
    #[arg(long, value_name = "FORM", default_value = "raw")]
    pub(crate) form: FormArg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormArg {
    /// Every record as it came, with its offset and time: import gives the same thread again, unless some of it was compacted
    Raw,
    /// The runs as AG-UI events, each compacted
    Compact,
    /// The last run's branch as AG-UI events, with its messages and its state as snapshots
    Snapshot,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) reporting: Reporting,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// The application that the threads will belong to; else that of the export
    #[arg(long, value_name = "APP", requires = "user")]
    pub(crate) app: Option<Owner>,
    /// The user that the threads will belong to; else that of the export
    #[arg(long, value_name = "USER", requires = "app")]
    pub(crate) user: Option<Owner>,
    /// The thread's id; else what the input says
    #[arg(long, value_name = "THREAD")]
    pub(crate) thread: Option<ThreadId>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CloneArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    /// The thread
    pub(crate) thread: ThreadId,
    /// The id of the copy
    pub(crate) new: ThreadId,
    /// Only the branch of this run
    #[arg(long, value_name = "RUN", conflicts_with = "at")]
    pub(crate) run: Option<String>,
    /// Only what lies at this offset and before
    #[arg(long, value_name = "OFFSET")]
    pub(crate) at: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DeleteArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    /// The thread
    pub(crate) thread: ThreadId,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MigrateArgs {
    /// Where the threads are: a directory, or the URL of a database
    #[arg(long, value_name = "STORE")]
    pub(crate) from: Place,
    /// Where they are copied to; it is made if it is not there
    #[arg(long, value_name = "STORE")]
    pub(crate) to: Place,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Make the catalogue anew from the log, if nothing is damaged
    #[arg(long)]
    pub(crate) rebuild: bool,
    /// Save what damaged files still hold, put those aside, and say what is lost
    #[arg(long)]
    pub(crate) repair: bool,
    /// How findings are written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: OutputFormat,
}

/// The scope that two options name.
pub(crate) fn named_scope(app: Option<&Owner>, user: Option<&Owner>) -> Option<Scope> {
    Some(Scope { app: app?.clone(), user: user?.clone() })
}

/// The scope of what says nothing of one.
pub(crate) fn default_scope() -> Result<Scope, Failure> {
    let owner = Owner::new(DEFAULT_OWNER)?;
    Ok(Scope { app: owner.clone(), user: owner })
}
