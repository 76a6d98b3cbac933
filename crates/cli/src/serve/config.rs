//! What a server was told, on the command line, by the environment and in a file.

use super::args::ServeArgs;
use crate::report::Failure;
use crate::store::place::Place;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use threadline_server::Settings;
use threadline_server::settings::AgentSettings;
use toml::de::DeTable;

/// The file that is read if nobody names one.
const FILE: &str = "threadline.toml";

/// What a server was told.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) listen: SocketAddr,
    pub(crate) store: Place,
    /// Whether a database is taken that may lose what it has acknowledged.
    pub(crate) allow_unsafe_durability: bool,
    pub(crate) log: String,
    /// The collector that traces are sent to, if there is one.
    pub(crate) traces: Option<String>,
    pub(crate) settings: Settings,
}

impl Config {
    /// Flags and environment come before the file, and the file before the defaults.
    pub(crate) fn read(args: &ServeArgs) -> Result<Self, Failure> {
        let file = match &args.config {
            Some(file) => File::read(file, true)?,
            None => File::read(Path::new(FILE), false)?,
        };
        let (words, mut settings) = file.parts()?;
        let word = |name: &str, said: &Option<String>, default: &str| {
            said.clone().or_else(|| words.get(name).cloned()).unwrap_or_else(|| default.to_owned())
        };
        let listen = word("listen", &args.listen, "127.0.0.1:8000");
        let store = word("store", &args.store, "threadline-data");
        let log = word("log", &args.log, "info");
        let traces = args.traces.clone().or_else(|| words.get("traces").cloned());
        for agent in &args.agent {
            let (name, url) =
                agent.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
                    Failure::Usage(format!(
                        "--agent takes a name and a URL, such as chat=http://127.0.0.1:9000/. given={agent}"
                    ))
                })?;
            settings.default_agent.get_or_insert_with(|| name.to_owned());
            settings.agents.insert(name.to_owned(), AgentSettings::at(url));
        }
        if let Some(tokens) = &args.tokens {
            settings.auth.tokens = Some(tokens.clone());
        }
        settings.check().map_err(|error| Failure::Usage(error.to_string()))?;
        let listen = address(&listen, &settings)?;
        settings.http.inspector = settings.http.inspector.on(listen.ip());
        let store = Place::from(store);
        if let Place::Database(url) = &store {
            url.options()?;
        }
        let allow_unsafe_durability = args.allow_unsafe_durability;
        Ok(Self { listen, store, allow_unsafe_durability, log, traces, settings })
    }
}

/// A configuration file.
struct File {
    path: PathBuf,
    text: String,
}

impl File {
    fn read(path: &Path, must_exist: bool) -> Result<Self, Failure> {
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !must_exist => String::new(),
            text => text.map_err(|error| Failure::read(path, error))?,
        };
        Ok(Self { path: path.to_owned(), text })
    }

    /// What is the process's own, and the settings of the server.
    fn parts(&self) -> Result<(HashMap<&'static str, String>, Settings), Failure> {
        let invalid = |error: toml::de::Error| {
            let before = error.span().and_then(|span| self.text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            Failure::invalid(&self.path, &format!("line {line}: {}", error.message()))
        };
        let table = DeTable::parse(&self.text).map_err(invalid)?;
        let (mut words, mut rest) = (HashMap::new(), self.text.clone().into_bytes());
        for name in ["listen", "store", "log", "traces"] {
            let Some((key, value)) = table.get_ref().get_key_value(name) else { continue };
            let Some(word) = value.get_ref().as_str() else {
                return Err(Failure::invalid(&self.path, &format!("{name} is not a string")));
            };
            words.insert(name, word.to_owned());
            // Blank, so that what is wrong with the rest has the line that it has.
            for byte in &mut rest[key.span().start..value.span().end] {
                if *byte != b'\n' {
                    *byte = b' ';
                }
            }
        }
        let rest = String::from_utf8_lossy(&rest);
        Ok((words, toml::from_str(&rest).map_err(invalid)?))
    }
}

/// Who can reach the server can read and run everything, unless callers must prove who they are.
fn address(listen: &str, settings: &Settings) -> Result<SocketAddr, Failure> {
    let address: SocketAddr = listen.parse().map_err(|_other| {
        Failure::Usage(format!(
            "--listen takes an address and a port, such as 127.0.0.1:8000. given={listen}"
        ))
    })?;
    if !address.ip().is_loopback() && !settings.auth.is_on() {
        return Err(Failure::Usage(format!(
            "others can reach that address, and anybody could read and run everything: say --tokens FILE, or listen on a loopback address. given={listen}"
        )));
    }
    Ok(address)
}
