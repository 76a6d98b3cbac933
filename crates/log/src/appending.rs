//! The way of an append through the engine: durable first, then shown to those who follow.

use crate::engine::{Engine, ThreadChange};
use crate::error::Error;
use crate::names::{Incarnation, RunNo, ThreadKey};
use crate::record::NewRecord;
use crate::store::{Ack, Appending};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// An append that is shown when it is durable. No `async` block: there is one for every append, and it would need a box beside
/// that of the store.
pub(crate) struct Shown {
    pub(crate) engine: Engine,
    /// What the store does; after that what is left to do at the end of a run.
    pub(crate) work: Appending,
    /// What is to be done when it is durable.
    pub(crate) then: Option<Then>,
}

/// What is to be done when an append is durable.
pub(crate) struct Then {
    pub(crate) incarnation: Incarnation,
    pub(crate) run: RunNo,
    /// The records, if somebody follows.
    pub(crate) records: Option<Vec<NewRecord>>,
    /// The thread, if the run ends.
    pub(crate) ended: Option<(ThreadKey, Checkpointing)>,
}

/// When the checkpoint of a run is made that ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checkpointing {
    /// Before its end is told.
    Now,
    /// By whoever needs it first, or keeps a server up.
    Later,
}

impl Future for Shown {
    type Output = Result<Ack, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let ack = ready!(self.work.as_mut().poll(context))?;
            let Some(Then { incarnation, run, records, ended }) = self.then.take() else {
                return Poll::Ready(Ok(ack));
            };
            self.engine.publish(incarnation, run, &ack, records);
            let Some((thread, checkpointing)) = ended else { return Poll::Ready(Ok(ack)) };
            let engine = self.engine.clone();
            self.work = Box::pin(async move {
                if checkpointing == Checkpointing::Now {
                    // It can be made later, by whoever needs it first.
                    let _ = engine.keep_checkpoint_of(&thread, incarnation, run).await;
                }
                engine.changed(ThreadChange::Changed(thread));
                Ok(ack)
            });
        }
    }
}
