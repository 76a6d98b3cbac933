//! Whether the database can be used, as far as is known.

use crate::clock::DatabaseClock;
use crate::connection::{Connection, Connector, Failure, Remedy};
use std::sync::Arc;
use std::time::Duration;
use threadline_log::Error;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

/// How often the database is asked whether it is there, and what time it is.
const LOOK: Duration = Duration::from_millis(500);
/// How long the answer to that may take.
const LOOK_MAX: Duration = Duration::from_secs(3);

/// A row as an append has it, which takes room and is not there afterwards. No thread has the number 0.
const TRY_TO_WRITE: &str = "DO $$ BEGIN \
      INSERT INTO batch (thread, first, count, run, time, token, body) \
        VALUES (0, pg_backend_pid(), 0, 0, 0, 0, decode(repeat('00', 8192), 'hex')); \
      RAISE SQLSTATE 'TL000'; \
    EXCEPTION WHEN SQLSTATE 'TL000' THEN NULL; END $$";

/// What is known.
#[derive(Debug, Default)]
pub(crate) struct Health(watch::Sender<Known>);

#[derive(Debug, Default)]
struct Known {
    is_closed: bool,
    /// Why the database cannot be used, when it could not the last time.
    away: Option<String>,
    /// Why it takes no writes, while it is there.
    refusing: Option<String>,
}

impl Health {
    pub(crate) fn close(&self) {
        self.0.send_modify(|known| known.is_closed = true);
    }

    pub(crate) fn check_open(&self) -> Result<(), Error> {
        match self.0.borrow().is_closed {
            true => Err(closed()),
            false => Ok(()),
        }
    }

    /// Whoever asks while the database is away is told at once.
    pub(crate) fn check_there(&self) -> Result<(), Error> {
        self.0.borrow().away.clone().map_or(Ok(()), |away| Err(Error::Unavailable(away)))
    }

    /// Reads what may take long, and no longer than the database is there: whatever swallows the answer, nobody waits for it then.
    pub(crate) async fn while_there<T>(
        &self,
        reading: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Error> {
        let mut known = self.0.subscribe();
        let away = async {
            let known = known.wait_for(|known| known.away.is_some()).await;
            known.ok().and_then(|known| known.away.clone()).unwrap_or_default()
        };
        tokio::select! {
            answer = reading => answer.map_err(Failure::of_read),
            away = away => Err(Error::Unavailable(away)),
        }
    }

    /// Why nothing can be written, if that is so.
    pub(crate) fn trouble(&self) -> Option<String> {
        let known = self.0.borrow();
        if known.is_closed {
            return Some(closed().to_string());
        }
        known.away.clone().or_else(|| known.refusing.clone())
    }

    /// A write has failed.
    pub(crate) fn note(&self, failure: &Failure) {
        if let Failure::Refused { remedy: Remedy::WaitForHelp, .. } = failure {
            let why = format!("the database: {failure}");
            self.0.send_modify(|known| {
                if known.refusing.is_none() {
                    tracing::error!(why, "the database takes no writes");
                }
                known.refusing = Some(why);
            });
        }
    }

    /// It was tried whether writes are taken again: whoever can write may be kept from trying because they are not.
    fn tried(&self, outcome: Result<(), Failure>) {
        match outcome {
            // A refusal that is about this write says nothing of others.
            Ok(()) | Err(Failure::Refused { remedy: Remedy::None, .. }) => {
                tracing::warn!("the database takes writes again");
                self.0.send_modify(|known| known.refusing = None);
            }
            Err(failure) => self.note(&failure),
        }
    }

    fn looked(&self, away: Option<String>) {
        self.0.send_modify(|known| {
            match (&known.away, &away) {
                (None, Some(away)) => tracing::error!(away, "the database cannot be used"),
                (Some(_), None) => tracing::warn!("the database can be used again"),
                _ => {}
            }
            known.away = away;
        });
    }

    /// Looks whether the database is there, what time it has, and whether it takes writes again, on a connection that nobody else is busy with.
    pub(crate) async fn watch(self: Arc<Self>, connector: Arc<Connector>, clock: Arc<DatabaseClock>) {
        let mut ticks = interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut connection: Option<Connection> = None;
        loop {
            ticks.tick().await;
            let looked = async {
                let open = match connection.take().filter(|open| !open.is_closed()) {
                    Some(open) => open,
                    None => connector.connect_for(LOOK_MAX).await?,
                };
                clock.synchronise(&open).await?;
                let is_refusing = self.0.borrow().refusing.is_some();
                if is_refusing {
                    self.tried(open.query(TRY_TO_WRITE, &[]).await.map(drop));
                }
                connection = Some(open);
                Ok::<_, Failure>(())
            };
            let away = looked.await.err().map(|failure| format!("the database: {failure}"));
            self.looked(away);
        }
    }
}

pub(crate) fn closed() -> Error {
    Error::Unavailable("the store is closed".to_owned())
}
