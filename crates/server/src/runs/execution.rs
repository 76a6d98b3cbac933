//! One run, executed: its source is read, what it gives is appended, and it is ended.

use super::active::{Phase, Registered};
use super::ingest::{Ingest, Judged};
use super::keeping::Keeping;
use super::source::{Failure, Given, Source};
use crate::load::Place;
use crate::settings::RunSettings;
use futures_util::FutureExt;
use std::time::Duration;
use threadline_log::Error;
use threadline_protocol::event::RunError;
use threadline_protocol::stages::close::Cause;
use tokio::task::yield_now;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tokio_util::sync::CancellationToken;

/// How many times as long as until it is renewed a lease lasts.
const RENEWALS: u32 = 3;
/// The most events of a batch.
const BATCH_EVENTS_MAX: usize = 256;
/// So many events are judged before others have their turn.
const EVENTS_AT_ONCE: usize = 32;
/// About the most bytes of a batch.
const BATCH_BYTES_MAX: usize = 1024 * 1024;
/// After how much silence an end counts that another run might have followed.
const END_PAUSE: Duration = Duration::from_secs(1);
/// How many bytes of a source are kept after the end of its run.
const AFTER_END_BYTES_MAX: usize = 1024 * 1024;

/// A run to be executed.
#[derive(Debug)]
pub(super) struct Execution {
    pub(super) keeping: Keeping,
    pub(super) ingest: Ingest,
    pub(super) source: Box<dyn Source>,
    pub(super) cancel: CancellationToken,
    pub(super) lost: CancellationToken,
    pub(super) shutdown: CancellationToken,
    pub(super) settings: RunSettings,
    /// How often the lease is renewed.
    pub(super) renewal: Duration,
    /// Its place among the runs.
    pub(super) place: Place,
}

/// How a run came to its end.
enum Outcome {
    /// Its source ended it.
    Ended,
    /// It has to be ended in the source's place.
    Close(Cause),
    /// The same, with an error.
    Fail(Failure),
    /// Another has ended it, or will.
    Lost,
}

impl Execution {
    /// Executes the run, and says what became of it.
    pub(super) async fn execute(mut self, registered: Registered) {
        let (thread, run) = (self.keeping.writer().thread.clone(), self.keeping.writer().run.0);
        let outcome = self.follow_source().await;
        // Whatever produces events is stopped before the run is closed.
        drop(std::mem::replace(&mut self.source, Box::new(Nothing)));
        let ended = match outcome {
            Ok(Outcome::Ended) => Ok(()),
            Ok(Outcome::Close(cause)) => self.keeping.close(cause, None).await,
            Ok(Outcome::Fail(failure)) => {
                let error = RunError::new(failure.message).with_code(failure.code);
                self.keeping.close(Cause::Failed, Some(error)).await
            }
            Ok(Outcome::Lost) => {
                tracing::warn!(%thread, run, "a run was taken from its writer");
                Ok(())
            }
            Err(error) => Err(error),
        };
        let phase = match ended {
            Ok(()) => Phase::Ended,
            // Its readers go on with what is stored, to the end that another gives it.
            Err(
                error @ (Error::RunEnded(_)
                | Error::Fenced { .. }
                | Error::OtherIncarnation(_)
                | Error::NoThread(_)),
            ) => {
                tracing::warn!(%thread, run, %error, "a run was taken from its writer");
                Phase::Ended
            }
            Err(error) => {
                tracing::error!(%thread, run, %error, "a run cannot be written");
                Phase::Broken
            }
        };
        self.keeping.count_end(phase).await;
        // Whoever hears of the end may want the place.
        drop(self.place);
        registered.end(phase);
    }

    /// Appends what the source gives, until the run ends or must be ended.
    async fn follow_source(&mut self) -> Result<Outcome, Error> {
        let mut renewal = interval(self.renewal);
        renewal.set_missed_tick_behavior(MissedTickBehavior::Delay);
        renewal.reset();
        let (mut renewed, lease) = (Instant::now(), self.renewal * RENEWALS);
        let mut bytes_left = self.settings.run_bytes_max;
        let overtime = overtime(self.settings.run_timeout);
        tokio::pin!(overtime);
        loop {
            let first = tokio::select! {
                biased;
                () = self.lost.cancelled() => return Ok(Outcome::Lost),
                () = self.cancel.cancelled() => return Ok(Outcome::Close(Cause::Cancelled)),
                () = self.shutdown.cancelled() => return Ok(Outcome::Close(Cause::Shutdown)),
                failure = &mut overtime => return Ok(Outcome::Fail(failure)),
                _ = renewal.tick() => {
                    match self.keeping.renew().await {
                        Ok(()) => renewed = Instant::now(),
                        // It is still ours, and the store may be back in time.
                        Err(Error::Unavailable(_) | Error::Indeterminate(_)) if renewed.elapsed() < lease => {}
                        Err(error) => return Err(error),
                    }
                    continue;
                }
                error = self.keeping.failed() => return Err(error),
                given = self.source.next() => given,
                () = sleep(END_PAUSE), if self.ingest.may_have_ended() => None,
            };
            let (judged, over) = self.gather(first, &mut bytes_left).await;
            let ended = judged.end.is_some();
            self.keeping.keep(judged).await?;
            match over {
                _ if ended || self.ingest.has_ended() => {
                    if over.is_none() {
                        self.keep_the_rest().await?;
                    }
                    return Ok(Outcome::Ended);
                }
                Some(None) => return Ok(Outcome::Close(Cause::Truncated)),
                Some(Some(failure)) => return Ok(Outcome::Fail(failure)),
                None => {}
            }
        }
    }

    /// Judges an event and whatever else is there already. Says whether the source is over, and how it failed.
    async fn gather(
        &mut self,
        first: Option<Result<Given, Failure>>,
        bytes_left: &mut u64,
    ) -> (Judged, Option<Option<Failure>>) {
        let mut judged = Judged::default();
        let (mut next, mut bytes) = (first, 0);
        for count in 1.. {
            match next {
                Some(Ok(given)) => {
                    let Some(left) = bytes_left.checked_sub(given.len() as u64) else {
                        return (judged, Some(Some(too_much(self.settings.run_bytes_max))));
                    };
                    *bytes_left = left;
                    bytes += given.len();
                    self.ingest.push(given, &mut judged);
                }
                Some(Err(failure)) => return (judged, Some(Some(failure))),
                None => {
                    self.ingest.finish(&mut judged);
                    return (judged, Some(None));
                }
            }
            // After its end the run is closed at once; what else comes is kept behind it.
            if count == BATCH_EVENTS_MAX || bytes >= BATCH_BYTES_MAX || judged.end.is_some() {
                break;
            }
            if count % EVENTS_AT_ONCE == 0 {
                yield_now().await;
            }
            next = match self.source.next().now_or_never() {
                Some(next) => next,
                None => break,
            };
        }
        (judged, None)
    }

    /// Keeps what a source says after the end of its run: a little of it, for a little while.
    async fn keep_the_rest(&mut self) -> Result<(), Error> {
        let mut judged = Judged::default();
        let mut bytes = 0;
        let shutdown = self.shutdown.clone();
        let rest = async {
            while let Some(Ok(given)) = self.source.next().await {
                bytes += given.len();
                self.ingest.push(given, &mut judged);
                if bytes > AFTER_END_BYTES_MAX {
                    break;
                }
            }
        };
        // A source that does not end is cut off, and nobody waits for it to stop the server.
        let _ = timeout(self.settings.after_end_timeout, shutdown.run_until_cancelled(rest)).await;
        self.keeping.keep(judged).await
    }
}

/// Waits until a run has gone on for as long as it may, if there is such a time.
async fn overtime(max: Option<Duration>) -> Failure {
    let Some(max) = max else { return std::future::pending().await };
    sleep(max).await;
    let message = format!("the run has gone on for longer than it may. max={max:?}");
    Failure { code: "run_timeout".to_owned(), message }
}

fn too_much(max: u64) -> Failure {
    let message = format!("the run has more than it may have. bytes_max={max}");
    Failure { code: "run_too_large".to_owned(), message }
}

/// In the place of a source that was let go.
#[derive(Debug)]
struct Nothing;

#[async_trait::async_trait]
impl Source for Nothing {
    async fn next(&mut self) -> Option<Result<Given, Failure>> {
        None
    }
}
