//! The floor for what is live: the bare log, a channel for each thread, and no memory of what threads come to.

use super::committer::Grouped;
use super::indexed::Indexed;
use super::subject::{Batch, Durability, Follower, Live, Reads, Subject, Tally};
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use threadline_protocol::Received;
use threadline_protocol::stages::fold::Fold;
use tokio::sync::broadcast::{Receiver, Sender};

/// How many batches a follower may be behind.
const BEHIND_MAX: usize = 16;

type Events = Arc<[String]>;

/// A bare log that tells followers.
pub(super) struct Broadcast {
    log: Grouped<Indexed>,
    channels: Mutex<HashMap<u32, Sender<Events>>>,
}

impl Subject for Broadcast {
    async fn open(dir: &Path, durability: Durability) -> io::Result<Self> {
        Ok(Self { log: Grouped::open(dir, durability).await?, channels: Mutex::default() })
    }

    async fn append(&self, batch: Batch<'_>) -> io::Result<()> {
        self.log.append(batch).await?;
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = channels.get(&batch.thread) {
            // Nobody may be there.
            let _ = channel.send(batch.events.into());
        }
        Ok(())
    }

    async fn close(self) -> io::Result<()> {
        self.log.close().await
    }
}

impl Reads for Broadcast {
    async fn settle(&self) -> io::Result<()> {
        self.log.settle().await
    }

    async fn read(&self, thread: u32, offset: u64, count: usize, tally: &mut Tally) -> io::Result<()> {
        self.log.read(thread, offset, count, tally).await
    }
}

impl Live for Broadcast {
    type Follower = Receiver<Events>;

    async fn follow(&self, thread: u32) -> io::Result<Receiver<Events>> {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(channels.entry(thread).or_insert_with(|| Sender::new(BEHIND_MAX)).subscribe())
    }

    async fn messages(&self, thread: u32) -> io::Result<usize> {
        let mut fold = Fold::new();
        self.log.each_event(thread, |event| {
            let text = std::str::from_utf8(event).map_err(io::Error::other)?;
            let event = Received::read(text).map_err(io::Error::other)?.into_event();
            fold.apply(&event).map_err(io::Error::other)
        })?;
        Ok(fold.messages().len())
    }
}

impl Follower for Receiver<Events> {
    async fn next(&mut self, tally: &mut Tally) -> io::Result<()> {
        for event in &*self.recv().await.map_err(io::Error::other)? {
            tally.take(event.as_bytes());
        }
        Ok(())
    }
}
