//! Where stores are.

use crate::report::Failure;
use std::fmt;
use std::path::PathBuf;
use threadline_store_postgres::{OpenError, PostgresOptions, PostgresStore};

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Dir(PathBuf),
    /// Nowhere: it is gone with the process.
    Memory,
    /// In PostgreSQL, where others may have it open as well.
    Database(DatabaseUrl),
}

/// The URL of a database. It may have a password in it, so that nobody is shown it as it is.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct DatabaseUrl(String);

/// What becomes of a store that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// It is made.
    Made,
    /// It is not, and that is said: whoever names the wrong place must not find an empty store there.
    Refused,
}

impl From<String> for Place {
    fn from(text: String) -> Self {
        match text.as_str() {
            "memory:" => Self::Memory,
            url if PostgresOptions::is_url(url) => Self::Database(DatabaseUrl(text)),
            _ => Self::Dir(text.into()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dir(dir) => dir.display().fmt(f),
            Self::Memory => f.write_str("memory:"),
            Self::Database(url) => url.fmt(f),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match PostgresOptions::new(&self.0) {
            Ok(options) => f.write_str(&options.shown()),
            Err(_) => f.write_str("postgres:"),
        }
    }
}

impl DatabaseUrl {
    /// What it says.
    pub(crate) fn options(&self) -> Result<PostgresOptions, Failure> {
        PostgresOptions::new(&self.0).map_err(|error| Failure::Usage(format!("--store: {error}")))
    }

    /// Opens the store there. One that may lose what it has acknowledged is refused, unless it may be.
    pub(crate) async fn open(&self, may_be_unsafe: bool, missing: Missing) -> Result<PostgresStore, Failure> {
        let mut options = self.options()?;
        options.unsafe_durability = may_be_unsafe;
        options.must_exist = missing == Missing::Refused;
        PostgresStore::open(&options).await.map_err(|error| match error {
            OpenError::Unsafe(_) => Failure::Store(format!(
                "{self}: {error}. Change the settings of the server, or say --allow-unsafe-durability to serve all the same"
            )),
            OpenError::Missing(_) => Failure::no_store(self),
            error => Failure::store(self, &error),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_directory_a_database_or_nowhere() {
        let place = |text: &str| Place::from(text.to_owned());
        assert_eq!(place("memory:"), Place::Memory);
        assert_eq!(place("data"), Place::Dir("data".into()));
        assert!(matches!(place("postgres://h/x"), Place::Database(_)));
        assert!(matches!(place("postgresql://h/x"), Place::Database(_)));
    }

    #[test]
    fn nobody_is_shown_a_password() {
        for url in ["postgres://u:secret@h/x?schema=s", "postgres://u:secret@h/x?colour=red"] {
            let place = Place::from(url.to_owned());
            let refused = match &place {
                Place::Database(url) => url.options().err().map(|failure| failure.to_string()),
                _ => None,
            };
            let said = format!("{place} {place:?} {refused:?}");
            assert!(!said.contains("secret") && said.contains("postgres:"), "{said}");
        }
    }
}
