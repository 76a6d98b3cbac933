//! What can be said to `threadline run`.

use clap::ValueEnum;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Lines of standard input are turns, if there is no --message. Ctrl-C cancels the run that goes on; a second one leaves.

Exit status: 0 good, 1 the last run failed, was cancelled or waits for an answer, 2 usage, 3 the agent cannot be reached.

Examples:
  threadline run http://localhost:8000/agui
  threadline run demo --message 'hello' --thread t1
  threadline run demo --thread t1 --parent RUN --message 'say it in another way'
  threadline run http://localhost:9000/ --message hi --record run.sse
  threadline run demo --message ask --tools tools.json --answers answers.json
  threadline run demo --message state --format json | threadline fold";

/// Talk to an agent.
///
/// What it says is written as it comes; what it thinks is dimmed; calls of tools and changes of state are a line each. Connections that
/// break are made again where the server can resume.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct RunArgs {
    /// The URL of an agent, or the name of one of the server's
    #[arg(value_name = "URL|NAME")]
    pub(crate) agent: String,
    #[command(flatten)]
    pub(crate) reaching: ReachArgs,
    /// What to say; once for each turn
    #[arg(long = "message", short, value_name = "TEXT")]
    pub(crate) messages: Vec<String>,
    /// The thread, which is continued if the server has it; else a new one
    #[arg(long, value_name = "THREAD")]
    pub(crate) thread: Option<String>,
    /// The run to continue: one that is not the last makes it a fork
    #[arg(long, value_name = "RUN", requires = "thread")]
    pub(crate) parent: Option<String>,
    /// The tools that are offered to the agent: a JSON array of name, description and parameters
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// What tools and interrupts are answered with: a JSON object, {"tools":{"NAME":RESULT},"interrupts":{"ID or REASON or *":ANSWER}}, where null
    /// gives an interrupt up
    #[arg(long, value_name = "FILE")]
    pub(crate) answers: Option<PathBuf>,
    /// Keep the events of the runs in a file: SSE with the time between events, or lines of JSON if it is called .jsonl
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// How it is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: TalkFormat,
}

/// How an agent is reached.
#[derive(Debug, clap::Args)]
pub(crate) struct ReachArgs {
    /// The server that an agent's name is one of
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8000", env = "THREADLINE_SERVER")]
    pub(crate) server: String,
    /// Who one is, for servers that want to know
    #[arg(long, value_name = "TOKEN", env = "THREADLINE_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// A header to send
    #[arg(long = "header", short = 'H', value_name = "NAME: VALUE")]
    pub(crate) headers: Vec<String>,
    /// Go through this proxy; else the one that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name
    #[arg(long, value_name = "URL")]
    pub(crate) proxy: Option<String>,
    /// Ask for events as protobuf
    #[arg(long)]
    pub(crate) protobuf: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TalkFormat {
    /// For people
    Text,
    /// The events as they came, a line each
    Json,
}
