//! The way of a write: admitted, submitted in the same order, visible when durable.

use crate::catalogue::StoredThread;
use crate::done::Done;
use crate::engine::{Engine, Pending};
use crate::entry::{self, Attached, RECORDS, SHARED};
use crate::journal::format::FLAG_FACT;
use crate::journal::{CommitError, EntryHead, Frames, SubmitError};
use crate::overlay::{Item, Known, Overlay, View, Write};
use bytes::Bytes;
use smallvec::SmallVec;
use std::future::{poll_fn, ready};
use std::sync::Arc;
use threadline_log::fact::Fact;
use threadline_log::sealed::batch::BatchHead;
use threadline_log::sealed::shared;
use threadline_log::state::{Admission, Admitted, ThreadState};
use threadline_log::store::{Ack, Append, Appending, OpenRun, Opened};
use threadline_log::{Epoch, Error, NewRecord, ThreadKey, Timestamp};

/// Facts up to this length are in sidecars, so that opening need not read the segment.
const SIDECAR_FACT_BYTES_MAX: usize = 512;

/// What is to be written.
#[derive(Debug)]
pub(crate) struct Plan {
    write: Write,
    frames: Frames,
    tail: u64,
}

/// The records of a write, before their place is known. Who brings them encodes them: that holds up nobody, and of what it was given
/// nothing has to stay until it is durable.
#[derive(Debug, Clone)]
struct Batch {
    count: u32,
    bytes: u64,
    body: Vec<u8>,
}

fn admit_append(
    append: &Append,
    batch: Batch,
    known: Option<(u64, &ThreadState)>,
) -> Result<Decision<Ack>, Error> {
    let (no, state) = known.ok_or_else(|| Error::NoThread(append.thread.clone()))?;
    let admitted = match state.admit_append(append)? {
        Admission::Repeated(ack) => {
            return Ok(Decision::After { thread: no, end: ack.offsets().end, value: ack });
        }
        Admission::New(admitted) => admitted,
    };
    let Admitted { first, time, .. } = admitted;
    let ack = Ack { first, count: u64::from(batch.count), time, repeated: false };
    let mut plan = Plan::new(no, first);
    plan.records(&admitted, batch);
    plan.facts(time, admitted.after);
    Ok(Decision::Write(plan, ack))
}

impl Plan {
    /// Nothing yet, for a thread with this tail.
    pub(crate) fn new(thread: u64, tail: u64) -> Self {
        let write = Write { thread, items: SmallVec::new() };
        Self { write, frames: Frames::default(), tail }
    }

    /// Adds a fact, with bytes that belong to it, and the compacted events if it is a checkpoint.
    pub(crate) fn fact(&mut self, time: Timestamp, fact: Fact, attached: &Attached, delta: Bytes) {
        let delta = Attached::plain(delta);
        let entry = entry::encode_fact(time, self.tail, &fact, attached);
        let sidecar = if entry.body.len() <= SIDECAR_FACT_BYTES_MAX { FLAG_FACT } else { 0 };
        let head = EntryHead {
            kind: entry.kind,
            flags: entry.flags | sidecar,
            thread: self.write.thread,
            run: u64::from(entry.run.0),
            first: self.tail,
            count: 0,
            time_min: time.0,
            time_max: time.0,
            weight: 0,
        };
        self.frames.push(head, entry.body.into());
        self.write.items.push(Item::Fact { time, tail: self.tail, fact: Box::new(fact), delta });
    }

    fn facts(&mut self, time: Timestamp, facts: Vec<Fact>) {
        for fact in facts {
            self.fact(time, fact, &Attached::default(), Bytes::new());
        }
    }

    fn records(&mut self, admitted: &Admitted, batch: Batch) {
        if batch.count == 0 {
            return;
        }
        let Admitted { run, first, time, .. } = *admitted;
        let head = EntryHead {
            kind: RECORDS,
            flags: SHARED,
            thread: self.write.thread,
            run: u64::from(run.0),
            first,
            count: batch.count,
            time_min: time.0,
            time_max: time.0,
            weight: batch.bytes,
        };
        self.frames.push(head, batch.body);
        let head = BatchHead { first, count: batch.count, run, time };
        self.tail = head.end();
        self.write.items.push(Item::Records { head, bytes: batch.bytes });
    }
}

impl Batch {
    /// The records of an append, or the first ones of a run.
    fn new(records: &[NewRecord]) -> Result<Self, Error> {
        let parts = records.iter().map(|record| (record.kind, &record.bytes[..]));
        let body = shared::encode(parts).ok_or_else(|| too_large(records))?;
        let bytes: usize = records.iter().map(|record| record.bytes.len()).sum();
        let count = u32::try_from(records.len()).ok().ok_or_else(|| too_large(records))?;
        Ok(Self { count, bytes: bytes as u64, body })
    }
}

fn too_large(records: &[NewRecord]) -> Error {
    let bytes = records.iter().map(|record| record.bytes.len()).sum();
    Error::TooLarge { bytes, max: u32::MAX as usize >> 2 }
}

/// What becomes of a write that was looked at.
enum Decision<T> {
    Write(Plan, T),
    /// There is nothing to do, once all up to an offset is durable.
    After {
        thread: u64,
        end: u64,
        value: T,
    },
}

/// What is to be done next for a write.
enum Step<T> {
    /// It is submitted.
    Finish(Arc<Pending>, T),
    /// Another is waited for.
    After { thread: u64, end: u64, value: T },
    /// The catalogue is too far behind.
    Flush,
    /// The journal has as much as it takes. Something is on its way, and makes room when it arrives.
    Wait,
}

impl Engine {
    /// Looks at a thread, which is taken up from the catalogue if it is not in use.
    pub(crate) async fn look<T>(
        self: &Arc<Self>,
        key: &ThreadKey,
        view: View,
        mut f: impl FnMut(&mut Overlay, Option<u64>) -> T,
    ) -> Result<T, Error> {
        loop {
            let evictions = {
                let mut overlay = self.core.overlay();
                match overlay.find(key, view) {
                    Known::Thread(no) => return Ok(f(&mut overlay, Some(no))),
                    Known::Absent => return Ok(f(&mut overlay, None)),
                    Known::Unknown => overlay.evictions,
                }
            };
            // Boxed, because few need it and all would carry its future.
            let stored = Box::pin(self.stored(key.clone())).await?;
            let mut overlay = self.core.overlay();
            if overlay.evictions != evictions {
                continue;
            }
            if let Some(stored) = stored {
                overlay.take_up(stored);
            }
            let no = match overlay.find(key, view) {
                Known::Thread(no) => Some(no),
                Known::Absent | Known::Unknown => None,
            };
            return Ok(f(&mut overlay, no));
        }
    }

    async fn stored(self: &Arc<Self>, key: ThreadKey) -> Result<Option<StoredThread>, Error> {
        Ok(self.in_background(move |engine| engine.catalogue.thread_by_name(&key)).await??)
    }

    /// Does what waits for files where it holds up nobody.
    pub(crate) async fn in_background<T: Send + 'static>(
        self: &Arc<Self>,
        f: impl FnOnce(&Arc<Self>) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let engine = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || f(&engine)).await;
        done.map_err(|error| Error::Unavailable(format!("the work was not ended: {error}")))
    }

    /// Lets `decide` look at the state of a thread, writes what it says, and waits until that is durable.
    async fn decide<T>(
        self: &Arc<Self>,
        key: &ThreadKey,
        mut decide: impl FnMut(&Overlay, Option<(u64, &ThreadState)>) -> Result<Decision<T>, Error>,
    ) -> Result<T, Error> {
        if let Some(trouble) = self.trouble() {
            return Err(Error::Unavailable(trouble));
        }
        let mut arrivals = None;
        loop {
            let looked = self.look(key, View::Admitted, |overlay, no| self.step(overlay, no, &mut decide));
            match looked.await?? {
                Step::Finish(pending, value) => return finish(pending, value).await,
                Step::After { thread, end, value } => {
                    Box::pin(self.after(key, thread, end)).await?;
                    return Ok(value);
                }
                Step::Flush => {
                    let flushed = Box::pin(self.in_background(|engine| engine.flush())).await?;
                    flushed.map_err(|error| Error::Unavailable(error.to_string()))?;
                }
                Step::Wait => match &mut arrivals {
                    // What was on its way may have arrived before anybody listened.
                    None => arrivals = Some(self.core.completed.subscribe()),
                    Some(arrivals) => _ = arrivals.changed().await,
                },
            }
        }
    }

    /// Lets `decide` look at the state of a thread, and submits what it says.
    fn step<T>(
        &self,
        overlay: &mut Overlay,
        no: Option<u64>,
        decide: impl FnOnce(&Overlay, Option<(u64, &ThreadState)>) -> Result<Decision<T>, Error>,
    ) -> Result<Step<T>, Error> {
        if overlay.dirty_bytes() > self.limits.overlay_bytes_max {
            return Ok(Step::Flush);
        }
        let known = no.and_then(|no| Some((no, overlay.state(no, View::Admitted)?)));
        Ok(match decide(overlay, known)? {
            Decision::Write(plan, value) => match self.submit(overlay, plan) {
                Ok(pending) => Step::Finish(pending, value),
                Err(SubmitError::Full { .. }) => Step::Wait,
                Err(error) => return Err(refused(&error)),
            },
            Decision::After { thread, end, value } => Step::After { thread, end, value },
        })
    }

    /// Waits until everything of a thread up to an offset is durable.
    async fn after(self: &Arc<Self>, key: &ThreadKey, thread: u64, end: u64) -> Result<(), Error> {
        let mut completed = self.core.completed.subscribe();
        loop {
            {
                let overlay = self.core.overlay();
                let durable = overlay.state(thread, View::Durable);
                // What was put away has nothing on its way.
                if !overlay.has(thread) || durable.is_some_and(|state| state.tail() >= end) {
                    return Ok(());
                }
                if durable.is_none() && overlay.state(thread, View::Admitted).is_none() {
                    return Err(Error::NoThread(key.clone()));
                }
            }
            if let Some(trouble) = self.trouble() {
                return Err(Error::Indeterminate(trouble));
            }
            _ = completed.changed().await;
        }
    }

    /// Puts a write into the journal's queue. Whoever has the overlay has the order.
    fn submit(&self, overlay: &mut Overlay, plan: Plan) -> Result<Arc<Pending>, SubmitError> {
        let Plan { write, frames, .. } = plan;
        let place = self.journal.reserve(frames.bytes())?;
        overlay.admit(&write);
        let pending = Arc::new(Pending { core: Arc::clone(&self.core), write, frames, done: Done::new() });
        place.submit(Arc::<Pending>::clone(&pending));
        Ok(pending)
    }
}

async fn finish<T>(pending: Arc<Pending>, value: T) -> Result<T, Error> {
    match poll_fn(|context| pending.done.poll(context)).await {
        Ok(()) => Ok(value),
        Err(CommitError::Unavailable(failure)) => Err(Error::Unavailable(failure.in_full())),
        Err(CommitError::Indeterminate(failure)) => Err(Error::Indeterminate(failure.in_full())),
    }
}

fn refused(error: &SubmitError) -> Error {
    match error {
        SubmitError::TooLarge { bytes, max } => Error::TooLarge { bytes: *bytes, max: *max },
        SubmitError::Unavailable(failure) => Error::Unavailable(failure.in_full()),
        SubmitError::Closed | SubmitError::Full { .. } => Error::Unavailable(error.to_string()),
    }
}

impl Engine {
    pub(crate) async fn open_run(self: &Arc<Self>, open: OpenRun) -> Result<Opened, Error> {
        let batch = Batch::new(&open.records)?;
        let request = Attached::new(open.request.clone());
        self.decide(&open.thread, |overlay, known| {
            let made = ThreadState::new(open.thread.clone(), open.incarnation, open.time);
            let admitted = known.map_or(&made, |(_, state)| state).admit_open(&open)?;
            let mut plan = Plan::new(known.map_or(overlay.threads_end, |(no, _)| no), admitted.first);
            if known.is_none() {
                let created = Fact::Created { key: open.thread.clone(), incarnation: open.incarnation };
                let described = Fact::Described { change: open.metadata.clone() };
                plan.facts(open.time, vec![created, described]);
            }
            for fact in admitted.before.clone() {
                plan.fact(admitted.time, fact, &request, Bytes::new());
            }
            plan.records(&admitted, batch.clone());
            let Admitted { run, first, time, after, .. } = admitted;
            plan.facts(time, after);
            let ack = Ack { first, count: u64::from(batch.count), time, repeated: false };
            let incarnation = known.map_or(open.incarnation, |(_, state)| state.incarnation());
            Ok(Decision::Write(plan, Opened { run, epoch: Epoch(1), incarnation, ack }))
        })
        .await
    }

    /// Begins at once: nearly every append finds its thread in use and room in the journal, and has nothing to do but wait.
    pub(crate) fn append(self: &Arc<Self>, append: Append) -> Appending {
        match self.append_now(&append) {
            Ok(Some(Step::Finish(pending, ack))) => Box::pin(finish(pending, ack)),
            Ok(_) => {
                let engine = Arc::clone(self);
                Box::pin(async move {
                    let batch = Batch::new(&append.records)?;
                    engine
                        .decide(&append.thread, |_, known| admit_append(&append, batch.clone(), known))
                        .await
                })
            }
            Err(error) => Box::pin(ready(Err(error))),
        }
    }

    /// What comes of an append without a wait. None if only the catalogue can tell.
    fn append_now(&self, append: &Append) -> Result<Option<Step<Ack>>, Error> {
        if let Some(trouble) = self.trouble() {
            return Err(Error::Unavailable(trouble));
        }
        let batch = Batch::new(&append.records)?;
        let mut overlay = self.core.overlay();
        let no = match overlay.find(&append.thread, View::Admitted) {
            Known::Thread(no) => Some(no),
            Known::Absent => None,
            Known::Unknown => return Ok(None),
        };
        self.step(&mut overlay, no, |_, known| admit_append(append, batch, known)).map(Some)
    }

    /// Writes a fact about a thread, as its state says, and the bytes that belong to it.
    pub(crate) async fn state_fact(
        self: &Arc<Self>,
        key: &ThreadKey,
        attached: &Attached,
        delta: &Bytes,
        admit: impl Fn(&ThreadState) -> Result<(Timestamp, Fact), Error>,
    ) -> Result<(), Error> {
        self.decide(key, |_, known| {
            let (no, state) = known.ok_or_else(|| Error::NoThread(key.clone()))?;
            let (time, fact) = admit(state)?;
            let mut plan = Plan::new(no, state.tail());
            plan.fact(time, fact, attached, delta.clone());
            Ok(Decision::Write(plan, ()))
        })
        .await
    }
}
