//! What can be said on the command line.

use crate::bench::BenchArgs;
use crate::evidence::EvidenceArgs;
use crate::examples;
use crate::manual::{CompletionsArgs, ManArgs};
use crate::reach::ReachArgs;
use crate::replay::ReplayArgs;
use crate::serve::ServeArgs;
use crate::store::StoreCommand;
use crate::talk::RunArgs;
use crate::token::TokenArgs;
use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use threadline_protocol::UnknownWords;
use threadline_protocol::stages::compact::Form;
use threadline_protocol::stages::era::PeerVersion;

/// The durable home of AG-UI conversations.
///
/// Without a command, it serves: the same as `threadline serve`. Some commands are filters, which read AG-UI events from a file
/// or from standard input, as JSONL, a JSON array, a single JSON document, SSE or protobuf, and find out which. What arrives is
/// kept byte for byte where a command has no reason to change it. The rest work on a store, which is a directory that holds threads, or ask a
/// running server.
#[derive(Debug, Parser)]
#[command(name = "threadline", version, after_long_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}

const EXAMPLES: &str = "\
Exit status: 0 good, 1 findings, 2 unreadable input or usage, 3 I/O.

Examples:
  threadline
  threadline serve --agent chat=http://127.0.0.1:9000/ --store data
  threadline run demo --message hello --record run.sse
  threadline replay run.sse --listen 127.0.0.1:9000
  threadline convert --to jsonl recording.sse > events.jsonl
  threadline convert --to proto events.jsonl > events.bin
  curl -sN localhost:8000/agent -d @input.json | threadline enforce
  threadline translate old.jsonl | threadline enforce --format json
  threadline compact --form snapshot events.jsonl
  threadline fold recording.sse
  threadline check --format sarif recording.sse > findings.sarif
  threadline check http://127.0.0.1:9000/agent
  threadline import recording.sse && threadline threads
  threadline show my-thread --at 17
  threadline export my-thread --form compact
  threadline evidence derive --thread my-thread --run my-run > artifact.json
  threadline threads --server http://localhost:8000
  threadline export my-thread --server http://localhost:8000 | threadline import --store copy";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(after_long_help = examples::SERVE)]
    Serve(ServeArgs),
    Run(RunArgs),
    Replay(ReplayArgs),
    #[command(flatten)]
    Filter(Filter),
    #[command(flatten)]
    Store(StoreCommand),
    Evidence(EvidenceArgs),
    Token(TokenArgs),
    /// Put a server under load, and say how long it takes: runs, followers, history
    #[command(after_long_help = examples::BENCH)]
    Bench(BenchArgs),
    /// Write what a shell completes commands with to standard output
    #[command(after_long_help = examples::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Write manual pages into a directory, one for each command
    #[command(after_long_help = examples::MAN)]
    Man(ManArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Filter {
    /// Rewrite a stream of events in another format
    #[command(after_long_help = examples::CONVERT)]
    Convert(ConvertArgs),
    /// Put events of AG-UI 0.x into the words of 1.0
    #[command(after_long_help = examples::TRANSLATE)]
    Translate(CommonArgs),
    /// Drop, strip and refuse what AG-UI 1.0 does not describe, as a 1.0 client does
    #[command(after_long_help = examples::ENFORCE)]
    Enforce(EnforceArgs),
    /// Replace chunks by the starts, contents and ends that they stand for
    #[command(after_long_help = examples::EXPAND)]
    Expand(CommonArgs),
    /// Merge pieces of messages, arguments, activities and state: an equivalent, shorter stream
    #[command(after_long_help = examples::COMPACT)]
    Compact(CompactArgs),
    /// Make a stream legal that breaks the rules: add missing starts and ends, drop what means nothing
    #[command(after_long_help = examples::REPAIR)]
    Repair(CommonArgs),
    /// Remove from each run's input the messages that the runs before it hold
    #[command(after_long_help = examples::NORMALISE)]
    Normalise(CommonArgs),
    /// Print what a client holds after the stream: messages, state, and what is pending, as JSON
    #[command(after_long_help = examples::FOLD)]
    Fold(FoldArgs),
    /// Say what is wrong with a stream or a live endpoint, how much it matters, and what to do about it
    ///
    /// Of a URL, runs are asked for: what will be sent is said before, and asked about unless the endpoint is on this machine.
    #[command(after_long_help = examples::CHECK)]
    Check(CheckArgs),
}

impl Filter {
    pub(crate) const fn source(&self) -> &SourceArgs {
        match self {
            Self::Check(args) => &args.source,
            Self::Convert(args) => &args.common.source,
            Self::Translate(args) | Self::Expand(args) | Self::Repair(args) | Self::Normalise(args) => {
                &args.source
            }
            Self::Enforce(args) => &args.common.source,
            Self::Compact(args) => &args.common.source,
            Self::Fold(args) => &args.common.source,
        }
    }

    pub(crate) const fn reporting(&self) -> Reporting {
        let common = match self {
            // Everything is in its output.
            Self::Check(_) => return Reporting { format: ReportFormat::Text, keep_going: true },
            Self::Convert(args) => &args.common,
            Self::Translate(args) | Self::Expand(args) | Self::Repair(args) | Self::Normalise(args) => args,
            Self::Enforce(args) => &args.common,
            Self::Compact(args) => &args.common,
            Self::Fold(args) => &args.common,
        };
        common.reporting
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct SourceArgs {
    /// The events: a file, or - for standard input; `check` takes the URL of an endpoint as well
    #[arg(value_name = "IN", default_value = "-")]
    pub(crate) input: PathBuf,
    /// The format of the input; found out if not given
    #[arg(long, value_name = "FORMAT")]
    pub(crate) from: Option<InputFormat>,
}

impl SourceArgs {
    /// What the input is called.
    pub(crate) fn name(&self) -> String {
        let name = self.input.display().to_string();
        if name == "-" { "stdin".to_owned() } else { name }
    }
}

/// How a command says what it found.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Reporting {
    /// Go on after input that cannot be read
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// How findings are written to standard error
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: ReportFormat,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CommonArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) reporting: Reporting,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// How the report is written to standard output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: CheckFormat,
    #[command(flatten)]
    pub(crate) live: LiveArgs,
}

/// How an endpoint is looked at.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "If IN is a URL")]
pub(crate) struct LiveArgs {
    /// Say this in a run of its own, to bring forth what the agent does then; may be repeated
    #[arg(long, value_name = "TEXT")]
    pub(crate) say: Vec<String>,
    /// Say what would be sent, and send nothing
    #[arg(long)]
    pub(crate) plan: bool,
    #[command(flatten)]
    pub(crate) reach: ReachArgs,
}

impl LiveArgs {
    /// Whether anything was said that is only for endpoints.
    pub(crate) const fn is_given(&self) -> bool {
        !self.say.is_empty() || self.plan || self.reach.is_given()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// For people
    Text,
    /// For people, as a document
    Markdown,
    /// A JSON object
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    /// The format of the output
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: OutputFormat,
}

#[derive(Debug, clap::Args)]
pub(crate) struct EnforceArgs {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    /// What to do with a word that 1.0 does not allow, such as an unknown role of a text message
    #[arg(long, value_name = "WHAT", default_value = "refuse")]
    unknown_words: UnknownWordsArg,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompactArgs {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    /// What the result looks like
    #[arg(long, value_name = "FORM", default_value = "stream")]
    form: FormArg,
    /// The state before the stream, as JSON; else that of the first run's input, if there is one
    #[arg(long, value_name = "FILE")]
    pub(crate) base_state: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct FoldArgs {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    /// The RunAgentInput that the client sent: its messages and state are what it held before
    #[arg(long = "input", value_name = "FILE")]
    pub(crate) input_file: Option<PathBuf>,
    /// Skip events that end the stream for a client, and go on
    #[arg(long)]
    pub(crate) lenient: bool,
    /// The release that the stream's producer is known to be of, such as 0.0.57: what it cannot have meant is left out
    #[arg(long, value_name = "VERSION")]
    pub(crate) peer_version: Option<PeerVersion>,
}

impl EnforceArgs {
    pub(crate) const fn unknown_words(&self) -> UnknownWords {
        match self.unknown_words {
            UnknownWordsArg::Refuse => UnknownWords::Refuse,
            UnknownWordsArg::Strip => UnknownWords::Strip,
        }
    }
}

impl CompactArgs {
    pub(crate) const fn form(&self) -> Form {
        match self.form {
            FormArg::Stream => Form::Stream,
            FormArg::Snapshot => Form::Snapshot,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormArg {
    /// The same stream with one piece a message and a call
    Stream,
    /// The runs, and in the last one all messages and the state as snapshots
    Snapshot,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum UnknownWordsArg {
    /// Refuse the event, as the reference client does
    Refuse,
    /// Remove the field, as the specification's prose says
    Strip,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// An event a line
    Jsonl,
    /// One JSON text: an array of events, or a single event
    Json,
    /// Server-sent events
    Sse,
    /// Length-prefixed protobuf
    Proto,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// An event a line
    Jsonl,
    /// A JSON array
    Json,
    /// Server-sent events
    Sse,
    /// Length-prefixed protobuf
    Proto,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Lines for people
    Text,
    /// A JSON object a line
    Json,
}
