//! Who can prove what, as the files say that the settings name.

use super::Caller;
use super::jwt::{Jwt, JwtError};
use super::tickets::Tickets;
use super::tokens::{self, TokenFileError, Tokens};
use crate::settings::AuthSettings;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};
use std::time::SystemTime;
use thiserror::Error;
use threadline_log::Timestamp;

/// Decides who a caller is.
#[derive(Debug, Default)]
pub struct Authority {
    settings: AuthSettings,
    known: RwLock<Known>,
    tickets: Tickets,
}

#[derive(Debug, Default)]
struct Known {
    tokens: Tokens,
    jwt: Option<Jwt>,
    /// How the files were when they were read.
    seen: Vec<Option<(SystemTime, u64)>>,
}

/// A file that says who may call cannot be used.
#[derive(Debug, Error)]
pub enum AccessError {
    /// It cannot be read.
    #[error("cannot read {}: {error}", file.display())]
    Read {
        /// Which file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is no token file.
    #[error("{}: {error}", file.display())]
    Tokens {
        /// Which file.
        file: PathBuf,
        /// Where and why.
        error: TokenFileError,
    },
    /// It has no keys that can be used.
    #[error("{error}")]
    Keys {
        /// Why.
        #[from]
        error: JwtError,
    },
}

impl Authority {
    /// By what the files say now.
    ///
    /// # Errors
    /// If one of them cannot be used.
    pub fn open(settings: &AuthSettings) -> Result<Self, AccessError> {
        let authority = Self { settings: settings.clone(), ..Self::default() };
        authority.reload()?;
        Ok(authority)
    }

    /// Reads the files anew. Callers who are no longer there are told, and their streams end. If a file cannot be used, everything
    /// stays as it was.
    ///
    /// # Errors
    /// If a file cannot be used.
    pub fn reload(&self) -> Result<(), AccessError> {
        // Looked at first: what changes while it is read is read again.
        let seen = self.look();
        let tokens = match &self.settings.tokens {
            Some(file) => {
                let error = |error| AccessError::Tokens { file: file.clone(), error };
                tokens::read(&read(file)?).map_err(error)?
            }
            None => Vec::new(),
        };
        let jwt = match &self.settings.jwt {
            Some(settings) => Some(Jwt::open(settings)?),
            None => None,
        };
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.tokens.replace(tokens);
        (known.jwt, known.seen) = (jwt, seen);
        Ok(())
    }

    /// Whether a file is not as it was when it was read.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.look() != self.known.read().unwrap_or_else(PoisonError::into_inner).seen
    }

    fn look(&self) -> Vec<Option<(SystemTime, u64)>> {
        let AuthSettings { tokens, jwt } = &self.settings;
        let of_jwt = jwt.iter().flat_map(|jwt| [&jwt.key, &jwt.jwks]).flatten();
        let look = |file: &PathBuf| {
            let meta = fs::metadata(file).ok()?;
            Some((meta.modified().ok()?, meta.len()))
        };
        tokens.iter().chain(of_jwt).map(look).collect()
    }

    /// Who has this bearer token.
    pub(super) fn identify(&self, bearer: &str, now: Timestamp) -> Option<Caller> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let by_jwt = || known.jwt.as_ref().and_then(|jwt| jwt.identify(bearer, now));
        known.tokens.identify(bearer, now).or_else(by_jwt)
    }

    pub(crate) const fn tickets(&self) -> &Tickets {
        &self.tickets
    }
}

fn read(file: &Path) -> Result<String, AccessError> {
    fs::read_to_string(file).map_err(|error| AccessError::Read { file: file.to_owned(), error })
}
