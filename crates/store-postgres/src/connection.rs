//! Connections to the database.

use crate::open::OpenError;
use crate::options::PostgresOptions;
use crate::tls::{Private, Tls};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use threadline_log::Error;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_postgres::error::{Severity, SqlState};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Row, Socket, Statement};

/// How long an answer may take. What is cut off without a word looks like this.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an answer may take that is about many threads.
pub(crate) const LONG_ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// Which backend of the database a connection has. A number alone may be another's by now.
const BACKEND: &str = "SELECT pid, (extract(epoch FROM backend_start) * 1000000)::bigint FROM pg_stat_activity \
    WHERE pid = pg_backend_pid()";
const END_BACKEND: &str = "SELECT pg_terminate_backend(pid, $3) FROM pg_stat_activity \
    WHERE pid = $1 AND (extract(epoch FROM backend_start) * 1000000)::bigint = $2";

/// Why a statement has no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// There is no connection, and nothing was asked.
    #[error("{0}")]
    Unreachable(String),
    /// The connection is gone, and nobody knows what has become of it.
    #[error("{0}")]
    Lost(String),
    /// The database refuses it. Nothing was done.
    #[error("{message}")]
    Refused {
        /// Why, for people.
        message: String,
        /// What can be done about it.
        remedy: Remedy,
    },
}

/// What can be done about a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// Nothing.
    None,
    /// The database may do it later.
    Wait,
    /// It takes no writes of anybody, until there is room again or somebody has done something about it.
    WaitForHelp,
    /// Somebody else has what is needed: others need not wait with it.
    WaitAlone,
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(refusal) = error.as_db_error() else { return Self::Lost(said(&error)) };
        let message = format!("{} ({})", refusal.message(), refusal.code().code());
        // A backend that ends says so, too, and may have committed before.
        if refusal.parsed_severity() != Some(Severity::Error) {
            return Self::Lost(message);
        }
        let remedy = match refusal.code() {
            &SqlState::LOCK_NOT_AVAILABLE => Remedy::WaitAlone,
            &SqlState::T_R_DEADLOCK_DETECTED | &SqlState::T_R_SERIALIZATION_FAILURE => Remedy::Wait,
            &SqlState::READ_ONLY_SQL_TRANSACTION | &SqlState::DISK_FULL => Remedy::WaitForHelp,
            code => match code.code().get(..2) {
                // Resources and interventions.
                Some("53" | "57") => Remedy::Wait,
                // The machine itself.
                Some("58") => Remedy::WaitForHelp,
                _ => Remedy::None,
            },
        };
        Self::Refused { message, remedy }
    }
}

impl Failure {
    /// For who only wanted to read.
    pub(crate) fn of_read(self) -> Error {
        Error::Unavailable(format!("the database: {self}"))
    }

    /// For who wanted to write.
    pub(crate) fn of_write(self) -> Error {
        match self {
            Self::Lost(what) => Error::Indeterminate(format!("the database: {what}")),
            other => other.of_read(),
        }
    }
}

/// All that an error says: the first line alone is "db error".
pub(crate) fn said(error: &dyn std::error::Error) -> String {
    let mut said = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        said = format!("{said}: {source}");
        next = source.source();
    }
    said
}

/// Makes connections.
pub(crate) struct Connector {
    config: Config,
    tls: Tls,
    /// What instances hear of each other on.
    pub(crate) channel: String,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("channel", &self.channel).finish_non_exhaustive()
    }
}

impl Connector {
    pub(crate) fn new(options: &PostgresOptions) -> Result<Self, OpenError> {
        let channel = format!("threadline:{}", options.schema);
        Ok(Self { config: options.config.clone(), tls: Tls::new(&options.trust)?, channel })
    }

    /// A connection on which no answer takes longer: what is given up here is given up there, and nothing is done later that nobody waits for.
    pub(crate) async fn connect_for(&self, answers_max: Duration) -> Result<Connection, Failure> {
        let mut connection = self.connect().await?;
        connection.answers_max = answers_max;
        let ms = answers_max.as_millis() * 9 / 10;
        connection.set(&format!("SET statement_timeout = {ms}")).await?;
        Ok(connection)
    }

    /// A connection that is served in the background.
    pub(crate) async fn connect(&self) -> Result<Connection, Failure> {
        let (client, connection) = self.connect_raw().await?;
        let serving = tokio::spawn(async move {
            // Whoever waits for an answer is told.
            _ = connection.await;
        });
        let mut connection = Connection {
            client,
            statements: Mutex::default(),
            serving: serving.abort_handle(),
            answers_max: ANSWER_TIMEOUT,
            backend: Backend { pid: 0, started: 0 },
        };
        // Nothing that matters was asked yet.
        let row = connection
            .query_one(BACKEND, &[])
            .await
            .map_err(|failure| Failure::Unreachable(failure.to_string()))?;
        connection.backend = Backend { pid: row.get(0), started: row.get(1) };
        Ok(connection)
    }

    /// A connection whose messages the caller sees.
    pub(crate) async fn connect_raw(
        &self,
    ) -> Result<(Client, tokio_postgres::Connection<Socket, Private>), Failure> {
        let unreachable = |what: String| Failure::Unreachable(format!("cannot connect: {what}"));
        let connecting = self.config.connect(self.tls.clone());
        match timeout(ANSWER_TIMEOUT, connecting).await {
            Ok(connected) => connected.map_err(|error| unreachable(said(&error))),
            Err(_) => Err(unreachable("no answer in time".to_owned())),
        }
    }
}

/// The process of the database that serves a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Backend {
    pid: i32,
    /// In microseconds since 1970.
    started: i64,
}

/// A connection. Any number of tasks may ask at once; answers come in the order of the questions.
pub(crate) struct Connection {
    client: Client,
    statements: Mutex<HashMap<&'static str, Statement>>,
    serving: AbortHandle,
    answers_max: Duration,
    backend: Backend,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("backend", &self.backend).finish_non_exhaustive()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Connection {
    /// Whether it can be used no more.
    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    pub(crate) const fn backend(&self) -> &Backend {
        &self.backend
    }

    /// Asks something. A connection that does not answer in time is given up.
    pub(crate) async fn query(
        &self,
        sql: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        self.answered(async {
            let statement = self.prepared(sql).await?;
            Ok(self.client.query(&statement, parameters).await?)
        })
        .await
    }

    async fn answered<T>(&self, asked: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        match timeout(self.answers_max, asked).await {
            Ok(answer) => answer,
            Err(_) => {
                self.serving.abort();
                Err(Failure::Lost("no answer in time".to_owned()))
            }
        }
    }

    /// Changes how things are done on it, before anything that matters is asked.
    pub(crate) async fn set(&self, sql: &str) -> Result<(), Failure> {
        self.batch(sql).await.map_err(|failure| Failure::Unreachable(failure.to_string()))
    }

    /// Asks something that has one row as its answer.
    pub(crate) async fn query_one(
        &self,
        sql: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, Failure> {
        let none = || Failure::Refused {
            message: "no answer where there is always one".to_owned(),
            remedy: Remedy::None,
        };
        self.query(sql, parameters).await?.into_iter().next().ok_or_else(none)
    }

    /// Does several things that have no answers.
    pub(crate) async fn batch(&self, sql: &str) -> Result<(), Failure> {
        match timeout(LONG_ANSWER_TIMEOUT, self.client.batch_execute(sql)).await {
            Ok(done) => Ok(done?),
            Err(_) => Err(Failure::Lost("no answer in time".to_owned())),
        }
    }

    /// Ends a backend that may still be doing what it was asked on a connection that is lost. Afterwards it has done it, or never will.
    pub(crate) async fn end(&self, backend: &Backend) -> Result<(), Failure> {
        let ms = i64::try_from(ANSWER_TIMEOUT.as_millis() / 2).unwrap_or(i64::MAX);
        let ended = self.query(END_BACKEND, &[&backend.pid, &backend.started, &ms]).await?;
        match ended.first().is_none_or(|row| row.get(0)) {
            true => Ok(()),
            false => Err(Failure::Refused {
                message: "an old backend does not end".to_owned(),
                remedy: Remedy::WaitAlone,
            }),
        }
    }

    async fn prepared(&self, sql: &'static str) -> Result<Statement, Failure> {
        if let Some(known) = self.lock().get(sql) {
            return Ok(known.clone());
        }
        let statement = self.client.prepare(sql).await?;
        self.lock().insert(sql, statement.clone());
        Ok(statement)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<&'static str, Statement>> {
        // Nothing here panics half way.
        self.statements.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
