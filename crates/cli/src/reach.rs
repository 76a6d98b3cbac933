//! How a server is reached, and whether it may be.

use crate::address::Address;
use crate::report::Failure;
use http::{HeaderMap, HeaderName, HeaderValue};
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

/// How long a run may take, in seconds.
const TIMEOUT: u64 = 60;

/// How a server is asked for runs.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ReachArgs {
    /// Send this with every request; may be repeated
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(HeaderName, HeaderValue)>,
    /// How long a run may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = TIMEOUT, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    timeout: u64,
    /// Do not ask, also if the server is not on this machine
    #[arg(long, short)]
    yes: bool,
}

impl ReachArgs {
    pub(crate) fn headers(&self) -> HeaderMap {
        self.headers.iter().cloned().collect()
    }

    pub(crate) const fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }

    /// Whether anything was said.
    pub(crate) const fn is_given(&self) -> bool {
        !self.headers.is_empty() || self.timeout != TIMEOUT || self.yes
    }

    /// Whether a server may be sent what it is about to be sent: who sits at the terminal is asked, unless it is on this machine.
    pub(crate) fn is_wanted(&self, address: &Address) -> Result<bool, Failure> {
        if self.yes || address.is_loopback() {
            return Ok(true);
        }
        if !io::stdin().is_terminal() {
            let message = "nothing was sent: the server is not on this machine, say --yes".to_owned();
            return Err(Failure::Usage(message));
        }
        let mut err = io::stderr().lock();
        write!(err, "send this? [y/N] ").and_then(|()| err.flush()).map_err(Failure::write)?;
        let mut answer = String::new();
        io::stdin()
            .read_line(&mut answer)
            .map_err(|source| Failure::Read { path: "stdin".to_owned(), source })?;
        Ok(["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str()))
    }
}

fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = text.split_once(':').ok_or("no : in it")?;
    let name = HeaderName::try_from(name.trim()).map_err(|error| error.to_string())?;
    let mut value = HeaderValue::try_from(value.trim()).map_err(|error| error.to_string())?;
    value.set_sensitive(true);
    Ok((name, value))
}
