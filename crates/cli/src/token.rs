//! `threadline token`: who may call a server.

use crate::args::{ReportFormat, Reporting};
use crate::examples;
use crate::report::{Failure, Report, printable};
use crate::store::opened::SystemClock;
use crate::store::time::readable;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use threadline_log::Timestamp;
use threadline_log::clock::Clock;
use threadline_server::access::Permission;
use threadline_server::access::tokens::{Token, mint, read};

/// Make, list and revoke the tokens that callers of a server need
///
/// The file has only digests of tokens, so that a token is shown once, when it is made. A server that runs with
/// `--tokens FILE` notices changes within a second; streams of a token that was revoked end.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    command: TokenCommand,
    /// The file of tokens
    #[arg(
        long,
        value_name = "FILE",
        default_value = "tokens.jsonl",
        env = "THREADLINE_TOKENS",
        global = true
    )]
    tokens: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  threadline token create --user ann --permission run
  threadline token create --app shop --permission admin --expires 24h --note 'nightly export'
  threadline token list
  threadline token revoke 1f6b0c5e2d9a";

#[derive(Debug, clap::Subcommand)]
enum TokenCommand {
    /// Make a token, and print it
    #[command(after_long_help = examples::TOKEN_CREATE)]
    Create(CreateArgs),
    /// List all tokens
    #[command(after_long_help = examples::TOKEN_LIST)]
    List,
    /// Take tokens back, by their ids
    #[command(after_long_help = examples::TOKEN_REVOKE)]
    Revoke {
        /// Which ones
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
    },
}

#[derive(Debug, clap::Args)]
struct CreateArgs {
    /// The app whose threads it may see; if it is not given, requests say it as the server's settings tell
    #[arg(long)]
    app: Option<String>,
    /// The user whose threads it may see; if it is not given, requests say it as the server's settings tell
    #[arg(long)]
    user: Option<String>,
    /// What it may do: read, run or admin
    #[arg(long, default_value = "run", value_parser = permission)]
    permission: Permission,
    /// For how long it is good, such as 12h; for ever, if it is not given
    #[arg(long, value_name = "DURATION", value_parser = threadline_server::duration::parse)]
    expires: Option<Duration>,
    /// What it is for
    #[arg(long)]
    note: Option<String>,
}

fn permission(name: &str) -> Result<Permission, String> {
    Permission::from_name(name).ok_or_else(|| "expected read, run or admin".to_owned())
}

pub(crate) fn run(args: &TokenArgs) -> ExitCode {
    let result = match &args.command {
        TokenCommand::Create(create) => made(&args.tokens, create),
        TokenCommand::List => listed(&args.tokens),
        TokenCommand::Revoke { ids } => revoked(&args.tokens, ids),
    };
    let reporting = Reporting { format: ReportFormat::Text, keep_going: false };
    Report::new(String::new(), reporting, io::stderr().lock()).finish(result)
}

fn made(file: &Path, args: &CreateArgs) -> Result<(), Failure> {
    let mut tokens = tokens(file, false)?;
    let (text, id, sha256) =
        mint().map_err(|error| Failure::Environment(format!("there are no random numbers: {error}")))?;
    let created = SystemClock.now();
    let until = |left: Duration| {
        let left = i64::try_from(left.as_millis()).unwrap_or(i64::MAX);
        Timestamp(created.0.saturating_add(left))
    };
    tokens.push(Token {
        id,
        sha256,
        app: args.app.clone(),
        user: args.user.clone(),
        permission: args.permission,
        created,
        expires: args.expires.map(until),
        note: args.note.clone(),
    });
    write(file, &tokens)?;
    writeln!(io::stdout().lock(), "{text}").map_err(Failure::write)
}

fn listed(file: &Path) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{:<12}  {:<5}  {:<20}  {:<20}  {:<12}  {:<12}  NOTE",
        "ID", "MAY", "CREATED", "EXPIRES", "APP", "USER"
    )
    .map_err(Failure::write)?;
    for token in tokens(file, true)? {
        let any = |name: &Option<String>| name.as_deref().map_or("*".to_owned(), printable);
        let expires = token.expires.map_or("never".to_owned(), readable);
        let (id, may, created) = (printable(&token.id), token.permission, readable(token.created));
        let (app, user, note) =
            (any(&token.app), any(&token.user), printable(token.note.as_deref().unwrap_or("")));
        let line = format!("{id:<12}  {may:<5}  {created:<20}  {expires:<20}  {app:<12}  {user:<12}  {note}");
        writeln!(out, "{}", line.trim_end()).map_err(Failure::write)?;
    }
    Ok(())
}

fn revoked(file: &Path, ids: &[String]) -> Result<(), Failure> {
    let mut tokens = tokens(file, true)?;
    if let Some(unknown) = ids.iter().find(|id| !tokens.iter().any(|token| token.id == **id)) {
        return Err(Failure::Usage(format!("there is no such token, and nothing was revoked. id={unknown}")));
    }
    tokens.retain(|token| !ids.contains(&token.id));
    write(file, &tokens)
}

fn tokens(file: &Path, must_exist: bool) -> Result<Vec<Token>, Failure> {
    let text = match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !must_exist => String::new(),
        text => text.map_err(|error| Failure::read(file, error))?,
    };
    read(&text).map_err(|error| Failure::invalid(file, &error))
}

/// Puts a new file in the place of the old one, so that a server never reads half of it.
fn write(file: &Path, tokens: &[Token]) -> Result<(), Failure> {
    let mut beside = file.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    let mut text = String::new();
    for token in tokens {
        let line = serde_json::to_string(token).map_err(|error| Failure::write(error.into()))?;
        text.push_str(&line);
        text.push('\n');
    }
    let written = for_its_owner(&beside).and_then(|mut new| {
        new.write_all(text.as_bytes())?;
        new.sync_all()?;
        fs::rename(&beside, file)
    });
    written.map_err(Failure::write)
}

fn for_its_owner(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)
}
