//! What a server was told, on the command line, by the environment and in a file.

use super::args::ServeArgs;
use crate::report::Failure;
use crate::store::opened::Place;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use threadline_server::Settings;
use threadline_server::settings::AgentSettings;
use toml::{Table, Value};

/// The file that is read if nobody names one.
const FILE: &str = "threadline.toml";

/// What a server was told.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) listen: SocketAddr,
    pub(crate) store: Place,
    pub(crate) log: String,
    pub(crate) settings: Settings,
}

impl Config {
    /// Flags and environment come before the file, and the file before the defaults.
    pub(crate) fn read(args: &ServeArgs) -> Result<Self, Failure> {
        let mut table = match &args.config {
            Some(file) => read_file(file, true)?,
            None => read_file(Path::new(FILE), false)?,
        };
        let mut word = |name: &str, said: &Option<String>, default: &str| -> Result<String, Failure> {
            let in_file = match table.remove(name) {
                Some(Value::String(text)) => Some(text),
                Some(_) => {
                    return Err(Failure::Usage(format!("{name} in the configuration is not a string")));
                }
                None => None,
            };
            Ok(said.clone().or(in_file).unwrap_or_else(|| default.to_owned()))
        };
        let listen = word("listen", &args.listen, "127.0.0.1:8000")?;
        let store = word("store", &args.store, "threadline-data")?;
        let log = word("log", &args.log, "info")?;
        let mut settings: Settings = Value::Table(table).try_into().map_err(|error: toml::de::Error| {
            Failure::Usage(format!("the configuration: {}", error.message()))
        })?;
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
        Ok(Self { listen: address(&listen, &settings)?, store: store.into(), log, settings })
    }
}

fn read_file(path: &Path, must_exist: bool) -> Result<Table, Failure> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !must_exist => return Ok(Table::new()),
        text => text.map_err(|error| Failure::read(path, error))?,
    };
    text.parse().map_err(|error: toml::de::Error| Failure::invalid(path, &error.to_string().trim_end()))
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
