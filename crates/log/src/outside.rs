//! Runs that somebody outside executes, who gives their events bit by bit.

use crate::engine::{Batch, Engine, RunWriter};
use crate::error::Error;
use crate::kin::Sought;
use crate::names::{AppendKey, RunId, RunNo, ThreadKey, Timestamp};
use crate::opening::{ATTEMPTS_MAX, digest};
use crate::record::{Kind, NewRecord};
use crate::run::{BaseState, RunEnd, RunInfo};
use crate::search::first_words;
use crate::store::{Ack, Claim, OpenRun};
use crate::thread::MetadataChange;
use bytes::Bytes;
use threadline_protocol::event::RunStarted;
use threadline_protocol::stages::fold::Fold;
use threadline_protocol::{Event, Received, Text};

/// Events of one run. The run is opened if it is not there, and its thread is made.
#[derive(Clone, Debug)]
pub struct Contribution {
    /// The thread.
    pub thread: ThreadKey,
    /// The run.
    pub run: RunId,
    /// Events as JSON, at least one. RUN_STARTED may be the first of a run, and what ends the run the last.
    pub events: Vec<Bytes>,
    /// Makes a repetition land once.
    pub key: Option<AppendKey>,
    /// Where the caller thinks that the tail is.
    pub expected_tail: Option<u64>,
    /// For how long the caller may be silent before the run is closed in its place.
    pub silence_ms_max: i64,
}

/// Events that are durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contributed {
    /// The run.
    pub run: RunNo,
    /// Where they are, a start that was made for them included.
    pub ack: Ack,
}

impl Contribution {
    fn records(&self) -> Vec<NewRecord> {
        self.events.iter().cloned().map(NewRecord::event).collect()
    }
}

impl Engine {
    /// Appends the events of somebody who executes a run elsewhere: all of them, or none. Nobody is asked whether the run is theirs.
    ///
    /// # Errors
    /// If the events are out of place, the run has ended or is told to start a second time, the run that a new one would continue goes
    /// on, or the tail is elsewhere.
    pub async fn contribute(&self, contribution: Contribution) -> Result<Contributed, Error> {
        let events = Events::read(&contribution)?;
        for _ in 0..ATTEMPTS_MAX {
            match self.try_contribute(&contribution, &events).await {
                Err(Error::RunsChanged) => {}
                result => return result,
            }
        }
        Err(Error::RunsChanged)
    }

    async fn try_contribute(
        &self,
        contribution: &Contribution,
        events: &Events<'_>,
    ) -> Result<Contributed, Error> {
        let started = events.started.as_ref();
        let (input, parent_run_id) =
            (started.and_then(|s| s.input.as_deref()), started.and_then(|s| s.parent_run_id.as_ref()));
        let sought = Sought::for_parent(parent_run_id, input).with_run(contribution.run.clone());
        let kin = self.kin(&contribution.thread, &sought).await?;
        if let Some(run) = kin.runs.get(&contribution.run) {
            return self.go_on(contribution, events, *run).await;
        }
        let parent = match kin.parent(parent_run_id, input) {
            Some(parent) => Some(self.run(&contribution.thread, parent).await?),
            None => None,
        };
        if let Some(running) = parent.as_ref().filter(|run| run.is_running()) {
            return Err(Error::RunActive(running.id.clone()));
        }
        // What the parent holds must not go before its child is there.
        let upkeep = self.upkeep().of(&contribution.thread).await;
        if let Some(input) = input {
            let held = match &parent {
                Some(parent) => self.fold_after(&contribution.thread, parent.no).await?,
                None => Fold::new(),
            };
            self.check_answers(&contribution.thread, &held, input).await?;
        }
        let request = input.map(|input| Bytes::from(input.to_json())).unwrap_or_default();
        let mut records = contribution.records();
        if started.is_none() {
            let started = made_start(contribution, parent.as_ref());
            records.insert(0, NewRecord::made(started.to_json().into_bytes()));
        }
        let open = OpenRun {
            thread: contribution.thread.clone(),
            incarnation: self.ids().incarnation(),
            metadata: MetadataChange {
                name: input.and_then(|input| first_words(&input.messages)),
                ..MetadataChange::default()
            },
            seen: kin.seen,
            id: contribution.run.clone(),
            parent: parent.map(|parent| parent.no),
            spawned_by: kin.spawned_by(parent_run_id),
            base_state: if input.is_some() { BaseState::Input } else { BaseState::Branch },
            request_digest: digest(&request),
            request,
            records,
            key: contribution.key.clone(),
            expected_tail: contribution.expected_tail,
            end: events.end.clone(),
            lease_until: self.silent_until(contribution),
            time: self.now(),
        };
        let (writer, ack) = self.open_run(open).await?;
        drop(upkeep);
        if events.end.is_some() {
            // It can be made later, by whoever needs it first.
            let _ = Box::pin(self.keep_checkpoint_of(&writer.thread, writer.incarnation, writer.run)).await;
        }
        Ok(Contributed { run: writer.run, ack })
    }

    /// Whether somebody outside gives the events of a run: it was opened without a request, or by a start that came from there.
    ///
    /// # Errors
    /// As [`Store::read`](crate::Store::read).
    pub async fn is_contributed(&self, thread: &ThreadKey, run: &RunInfo) -> Result<bool, Error> {
        if self.store().request(thread, run.no).await?.is_empty() {
            return Ok(true);
        }
        let page = self.store().read(thread, run.offsets.clone(), Some(run.no), 1).await?;
        Ok(page.records.first().is_none_or(|first| first.kind != Kind::Made))
    }

    /// Appends to a run that is there.
    async fn go_on(
        &self,
        contribution: &Contribution,
        events: &Events<'_>,
        run: RunNo,
    ) -> Result<Contributed, Error> {
        let Contribution { thread, key, expected_tail, .. } = contribution;
        let info = self.run(thread, run).await?;
        let incarnation = self.store().thread(thread).await?.incarnation;
        let writer = RunWriter { thread: thread.clone(), incarnation, run, epoch: info.epoch };
        let batch = match events.started {
            // Only a repetition may say so again: without records, nothing else is taken.
            Some(_) => Batch { key: key.clone(), ..Batch::default() },
            None => Batch {
                records: contribution.records(),
                key: key.clone(),
                expected_tail: *expected_tail,
                end: events.end.clone(),
            },
        };
        let ack = match self.append(&writer, batch).await {
            Err(Error::Invalid(_)) if events.started.is_some() => return Err(Error::RunIdReused(info.id)),
            ack => ack?,
        };
        // A lease is a write of its own, so that it is renewed now and then, not each time.
        let left = info.lease_until.0.saturating_sub(self.now().0);
        if events.end.is_none() && !ack.repeated && left < contribution.silence_ms_max / 2 {
            let claim = Claim::Renew(self.silent_until(contribution));
            // If it has ended meanwhile, the next append is told so.
            let _ = self.store().claim(thread, run, info.epoch, claim, self.now()).await;
        }
        Ok(Contributed { run, ack })
    }

    fn silent_until(&self, contribution: &Contribution) -> Timestamp {
        Timestamp(self.now().0.saturating_add(contribution.silence_ms_max))
    }
}

/// Events that are in their places.
struct Events<'a> {
    /// The start, if it is among them.
    started: Option<RunStarted<'a>>,
    /// How the run ends with them, if it does.
    end: Option<RunEnd>,
}

impl<'a> Events<'a> {
    fn read(contribution: &'a Contribution) -> Result<Self, Error> {
        let mut events = Self { started: None, end: None };
        for (place, bytes) in contribution.events.iter().enumerate() {
            let received = Received::read_bytes(bytes)
                .map_err(|error| Error::Invalid(format!("no event: {error}. place={place}")))?;
            if events.end.is_some() {
                return Err(Error::Invalid(format!("an event after the end of its run. place={place}")));
            }
            events.end = RunEnd::of(received.event());
            if let Event::RunStarted(started) = received.into_event() {
                if place > 0 {
                    return Err(Error::Invalid(format!("a start that is not the first. place={place}")));
                }
                events.started = Some(started);
            }
        }
        Ok(events)
    }
}

/// The start of a run whose source says nothing of it.
fn made_start(contribution: &Contribution, parent: Option<&RunInfo>) -> Event<'static> {
    let (thread, run) = (contribution.thread.thread.as_str(), contribution.run.as_str());
    let mut started = RunStarted::new(thread.to_owned(), run.to_owned());
    started.parent_run_id = parent.map(|parent| Text::from(parent.id.as_str().to_owned()));
    started.protocol_version = Some(Text::from("1.0"));
    started.into()
}
