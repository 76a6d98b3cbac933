//! One client that reads a run: what is stored or said, then what comes, until the run ends.

use super::encoding::Encoding;
use super::view::View;
use crate::load::Listening;
use crate::runs::{Phase, Tiding};
use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use threadline_log::{Error, Follower, Incarnation, Record};
use threadline_protocol::Event;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::task::yield_now;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

/// So many records are shown before others have their turn.
const RECORDS_AT_ONCE: usize = 64;

/// Why a stream ends in the middle. The connection is cut: a clean end would read as the end of the run.
#[derive(Clone, Debug, Error)]
pub(crate) enum Cut {
    /// The records cannot be read.
    #[error(transparent)]
    Log(#[from] Error),
    /// The run cannot be written, so that it will not end.
    #[error("the run cannot be written")]
    Broken,
    /// The server stops.
    #[error("the server stops")]
    Stopping,
    /// The client has fallen too far behind a run that is not stored yet.
    #[error("the reader has fallen behind")]
    Behind,
}

/// What a stream says when it is over though the run is not.
#[derive(Clone, Debug)]
pub(crate) struct Deadline {
    /// When.
    pub(crate) at: Instant,
    /// The last frames.
    pub(crate) frames: Bytes,
}

/// Reads a run for one client.
#[derive(Debug)]
pub(crate) struct RunReader {
    feed: Feed,
    view: View,
    /// What is sent before anything else.
    first: Bytes,
    /// So many events of the next record were seen.
    skip: u32,
    /// Records that were given, from where they are still to be shown.
    held: Option<(Arc<[Record]>, usize)>,
    /// What becomes of the run, if it is executed here.
    phase: Option<watch::Receiver<Phase>>,
    deadline: Option<Deadline>,
    keep_alive: Option<Duration>,
    stopping: CancellationToken,
    /// The place that it takes.
    listening: Option<Listening>,
    is_over: bool,
}

/// Where a reader hears of a run.
#[derive(Debug)]
enum Feed {
    /// From the store, and what is stored.
    Stored(Follower),
    /// From whoever executes it.
    Live(broadcast::Receiver<Tiding>),
}

enum Fed {
    Records(Arc<[Record]>),
    Events(Arc<[Event<'static>]>),
    /// The last frames of a stream that is over though the run is not.
    Last(Bytes),
    Over,
}

impl Feed {
    /// Whether there is more than was given.
    fn is_behind(&self) -> bool {
        match self {
            Self::Stored(follower) => follower.is_behind(),
            Self::Live(told) => !told.is_empty(),
        }
    }

    /// Waits for more. Cancel-safe.
    async fn next(&mut self) -> Result<Fed, Cut> {
        let told = match self {
            Self::Stored(follower) => return Ok(Fed::Records(follower.next().await?)),
            Self::Live(told) => told.recv().await,
        };
        match told {
            Ok(Tiding::Events(events)) => Ok(Fed::Events(events)),
            Ok(Tiding::Stored) => Ok(Fed::Over),
            Err(RecvError::Lagged(_)) => Err(Cut::Behind),
            // Nobody is left who could say that it is stored.
            Err(RecvError::Closed) => Err(Cut::Broken),
        }
    }
}

enum Next {
    Frames(Vec<u8>),
    Silence,
    Over,
}

impl RunReader {
    /// Reads on with a follower.
    #[must_use]
    pub(crate) fn new(follower: Follower, view: View, stopping: CancellationToken) -> Self {
        Self::of(Feed::Stored(follower), view, stopping)
    }

    /// Reads a run before it is stored.
    #[must_use]
    pub(crate) fn live(
        tidings: broadcast::Receiver<Tiding>,
        view: View,
        stopping: CancellationToken,
    ) -> Self {
        Self::of(Feed::Live(tidings), view, stopping)
    }

    fn of(feed: Feed, view: View, stopping: CancellationToken) -> Self {
        Self {
            feed,
            view,
            first: Bytes::new(),
            skip: 0,
            held: None,
            phase: None,
            deadline: None,
            keep_alive: None,
            stopping,
            listening: None,
            is_over: false,
        }
    }

    /// Which thread of its name is read.
    #[must_use]
    pub(crate) const fn incarnation(&self) -> Incarnation {
        self.view.incarnation()
    }

    /// With frames before everything else.
    #[must_use]
    pub(crate) fn with_first(mut self, first: impl Into<Bytes>) -> Self {
        self.first = first.into();
        self
    }

    /// With so many events of the next record left out.
    #[must_use]
    pub(crate) const fn with_skip(mut self, skip: u32) -> Self {
        self.skip = skip;
        self
    }

    /// Cut if the run breaks.
    #[must_use]
    pub(crate) fn with_phase(mut self, phase: Option<watch::Receiver<Phase>>) -> Self {
        self.phase = phase;
        self
    }

    /// In a place of its own.
    #[must_use]
    pub(crate) fn with_place(mut self, listening: Listening) -> Self {
        self.listening = Some(listening);
        self
    }

    /// Ended at some time.
    #[must_use]
    pub(crate) fn with_deadline(mut self, deadline: Option<Deadline>) -> Self {
        self.deadline = deadline;
        self
    }

    /// With comments when nothing happens for so long.
    #[must_use]
    pub(crate) const fn with_keep_alive(mut self, keep_alive: Option<Duration>) -> Self {
        self.keep_alive = keep_alive;
        self
    }

    /// The frames, as they come.
    pub(crate) fn into_stream(self) -> impl Stream<Item = Result<Bytes, Cut>> + Send {
        unfold(self, async |mut reader| {
            let item = reader.next_frames().await?;
            reader.is_over |= item.is_err();
            Some((item, reader))
        })
    }

    async fn next_frames(&mut self) -> Option<Result<Bytes, Cut>> {
        if !self.first.is_empty() {
            return Some(Ok(std::mem::take(&mut self.first)));
        }
        while !self.is_over {
            if self.held.is_some() {
                yield_now().await;
            }
            let next = match self.keep_alive.filter(|_| self.view.encoding() == Encoding::Sse) {
                Some(silence) => timeout(silence, self.advance()).await.unwrap_or(Ok(Next::Silence)),
                None => self.advance().await,
            };
            let frames = match next {
                Ok(Next::Frames(frames)) => frames,
                Ok(Next::Silence) => {
                    let mut comment = Vec::new();
                    self.view.encoding().write_comment(&mut comment, "keep-alive");
                    comment
                }
                Ok(Next::Over) => return None,
                Err(cut) => {
                    // Whoever writes goes away at an error, and must have had the time to send what came before it.
                    yield_now().await;
                    return Some(Err(cut));
                }
            };
            if !frames.is_empty() {
                return Some(Ok(frames.into()));
            }
        }
        None
    }

    /// Waits for what comes next. Cancel-safe, since the feed is.
    async fn advance(&mut self) -> Result<Next, Cut> {
        let (records, start) = match self.held.take() {
            Some(held) => held,
            None => match self.fed().await? {
                Fed::Records(records) => (records, 0),
                Fed::Events(events) => {
                    let mut frames = Vec::new();
                    self.is_over = self.view.show_events(&mut frames, events.to_vec(), None);
                    return Ok(Next::Frames(frames));
                }
                Fed::Last(frames) => {
                    self.is_over = true;
                    return Ok(Next::Frames(frames.to_vec()));
                }
                Fed::Over => return Ok(Next::Over),
            },
        };
        let (run, mut frames) = (self.view.run(), Vec::new());
        let end = records.len().min(start + RECORDS_AT_ONCE);
        for record in records[start..end].iter().filter(|record| record.run == run) {
            let skip = std::mem::take(&mut self.skip);
            if self.view.show(&mut frames, record, skip) {
                self.is_over = true;
                break;
            }
        }
        if end < records.len() {
            self.held = Some((records, end));
        }
        Ok(Next::Frames(frames))
    }

    /// Waits until there is something to show, or nothing will come any more. Cancel-safe, since the feed is.
    async fn fed(&mut self) -> Result<Fed, Cut> {
        let deadline = self.deadline.as_ref().map(|deadline| deadline.at);
        // What is durable is told, also of a run that breaks.
        let is_told = !self.feed.is_behind();
        if let Some(listening) = &mut self.listening {
            listening.lag.set(!is_told);
        }
        tokio::select! {
            biased;
            fed = self.feed.next() => fed,
            () = broken(&mut self.phase), if is_told => Err(Cut::Broken),
            () = until(deadline) => Ok(self.deadline.take().map_or(Fed::Over, |deadline| Fed::Last(deadline.frames))),
            // The runs of this server are closed before it stops. This one was not: whoever reads it comes back.
            () = self.stopping.cancelled() => Err(Cut::Stopping),
        }
    }
}

/// Waits until a run breaks, if it ever does.
async fn broken(phase: &mut Option<watch::Receiver<Phase>>) {
    if let Some(phase) = phase
        && phase.wait_for(|phase| *phase == Phase::Broken).await.is_ok()
    {
        return;
    }
    std::future::pending().await
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
