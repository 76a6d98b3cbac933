//! What can be said about a server on the command line.

use std::path::PathBuf;

/// Serve agents over HTTP, and keep everything they say
///
/// What is not said here is taken from the environment, then from the configuration file, then it is the default. Without an
/// agent, the built-in demo agent is there; it needs no model.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct ServeArgs {
    /// Where to listen: an address and a port; port 0 takes any that is free [default: 127.0.0.1:8000]
    #[arg(long, value_name = "ADDR", env = "THREADLINE_LISTEN")]
    pub(crate) listen: Option<String>,
    /// Where the store is: a directory, the URL of a database that several servers may share, or `memory:` to keep nothing [default: threadline-data]
    #[arg(long, value_name = "STORE", env = "THREADLINE_STORE", hide_env_values = true)]
    pub(crate) store: Option<String>,
    /// Use a database even if its settings allow it to lose what it has acknowledged
    #[arg(long)]
    pub(crate) allow_unsafe_durability: bool,
    /// An agent to stand in front of, by a name and its URL; may be repeated, the first is the default one
    #[arg(long, value_name = "NAME=URL")]
    pub(crate) agent: Vec<String>,
    /// The tokens that callers need, which `threadline token` makes; without any, everybody who can reach the server may call
    #[arg(long, value_name = "FILE", env = "THREADLINE_TOKENS")]
    pub(crate) tokens: Option<PathBuf>,
    /// A configuration file; `threadline.toml` in the current directory is read if it is there
    #[arg(long, value_name = "FILE", env = "THREADLINE_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Say what is wrong with the configuration, or what would be served, and serve nothing
    #[arg(long)]
    pub(crate) check: bool,
    /// What to log to standard error: a level, or levels by module [default: info]
    #[arg(long, value_name = "FILTER", env = "THREADLINE_LOG")]
    pub(crate) log: Option<String>,
    /// A collector of OpenTelemetry to send traces to, by OTLP over HTTP, such as http://127.0.0.1:4318
    #[arg(long, value_name = "URL", env = "THREADLINE_TRACES")]
    pub(crate) traces: Option<String>,
}
