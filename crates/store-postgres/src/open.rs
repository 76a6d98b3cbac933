//! Opening the store.

use crate::clock::DatabaseClock;
use crate::connection::{Connector, Failure};
use crate::durability;
use crate::migrate;
use crate::options::PostgresOptions;
use std::sync::Arc;

/// Why a database cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// What should say where the database is does not.
    #[error("not the URL of a database: {0}")]
    Url(String),
    /// The certificates cannot be used.
    #[error("certificates cannot be read: {0}")]
    Certificates(String),
    /// It does not answer, or not to us.
    #[error("the database cannot be used: {0}")]
    Database(String),
    /// It is too old.
    #[error("the database is too old: PostgreSQL 14 or later is needed. version={0}")]
    Old(String),
    /// It may lose what it has acknowledged.
    #[error("the database may lose what it has acknowledged: {}", .0.join("; "))]
    Unsafe(Vec<String>),
    /// There is no store in it, and none is to be made.
    #[error("there is no store in the database. schema={0}")]
    Missing(String),
    /// Somebody has used it who knows more than we do.
    #[error("the database was made by a newer version. format={found}, known={known}")]
    Newer {
        /// The format that it has.
        found: i32,
        /// The last that we know.
        known: i32,
    },
}

impl From<Failure> for OpenError {
    fn from(failure: Failure) -> Self {
        Self::Database(failure.to_string())
    }
}

/// A database that can be used.
pub(crate) struct Opened {
    pub(crate) connector: Arc<Connector>,
    pub(crate) clock: Arc<DatabaseClock>,
}

/// Looks at the database, and brings it to the format that we know.
pub(crate) async fn open(options: &PostgresOptions) -> Result<Opened, OpenError> {
    let connector = Arc::new(Connector::new(options)?);
    let connection = connector.connect().await?;
    let risks = durability::check(&connection).await?;
    if !risks.is_empty() {
        if !options.unsafe_durability {
            return Err(OpenError::Unsafe(risks));
        }
        tracing::warn!(risks = risks.join("; "), "the database may lose what it has acknowledged");
    }
    migrate::bring_up(&connection, &options.schema, options.must_exist).await?;
    let clock = Arc::new(DatabaseClock::new());
    clock.synchronise(&connection).await?;
    Ok(Opened { connector, clock })
}
