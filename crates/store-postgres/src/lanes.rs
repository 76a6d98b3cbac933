//! Some connections for everybody: each of them serves many at once.

use crate::connection::{ANSWER_TIMEOUT, Connection, Connector, Failure, LONG_ANSWER_TIMEOUT};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::timeout;

/// How many there are for what is answered soon.
const LANES: usize = 4;

/// Some connections, made when they are needed.
#[derive(Debug)]
pub(crate) struct Lanes {
    connector: Arc<Connector>,
    lanes: [Lane; LANES],
    /// For what may take long: answers come in the order of the questions, and nobody else is to wait for these.
    slow: Lane,
    next: AtomicUsize,
}

type Lane = Mutex<Option<Arc<Connection>>>;

impl Lanes {
    pub(crate) fn new(connector: Arc<Connector>) -> Self {
        Self { connector, lanes: Default::default(), slow: Lane::default(), next: AtomicUsize::new(0) }
    }

    /// One of them.
    pub(crate) async fn lane(&self) -> Result<Arc<Connection>, Failure> {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        self.open(&self.lanes[next % LANES], ANSWER_TIMEOUT).await
    }

    /// The one for what may take long.
    pub(crate) async fn slow_lane(&self) -> Result<Arc<Connection>, Failure> {
        self.open(&self.slow, LONG_ANSWER_TIMEOUT).await
    }

    async fn open(&self, lane: &Lane, answers_max: Duration) -> Result<Arc<Connection>, Failure> {
        let opening = async {
            let mut lane = lane.lock().await;
            if let Some(connection) = lane.as_ref().filter(|connection| !connection.is_closed()) {
                return Ok(Arc::clone(connection));
            }
            let connection = Arc::new(self.connector.connect_for(answers_max).await?);
            *lane = Some(Arc::clone(&connection));
            Ok(connection)
        };
        // Others may be trying, one behind the other.
        let late = || Failure::Unreachable("cannot connect in time".to_owned());
        timeout(ANSWER_TIMEOUT, opening).await.unwrap_or_else(|_| Err(late()))
    }
}
