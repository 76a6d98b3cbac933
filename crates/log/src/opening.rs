//! Opening a run: finding the run it continues, and writing down what it was asked.

use crate::engine::{Engine, RunWriter, ThreadChange};
use crate::error::Error;
use crate::hex::to_hex;
use crate::kin::{Kin, Sought};
use crate::names::{RunId, RunNo, ThreadKey};
use crate::record::NewRecord;
use crate::run::{BaseState, RunInfo};
use crate::search::first_words;
use crate::store::{Ack, OpenRun, Opened, RunsSeen};
use crate::thread::MetadataChange;
use crate::to_its_end::to_its_end;
use bytes::Bytes;
use sha2::{Digest, Sha256};
use threadline_protocol::event::RunStarted;
use threadline_protocol::json::JsonObject;
use threadline_protocol::stages::fold::Fold;
use threadline_protocol::stages::translate::translate_input;
use threadline_protocol::{Event, Message, RunAgentInput, Text};

/// How often something is tried anew because a run was opened or ended meanwhile. More would be a thread under siege.
pub(crate) const ATTEMPTS_MAX: usize = 16;

/// Who keeps the history of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HistoryMode {
    /// The client, who sends all of it with each run.
    #[default]
    Client,
    /// The server; the client may send only what is new.
    Server,
}

/// A run that a client asks for.
#[derive(Clone, Debug)]
pub struct StartRun {
    /// The thread.
    pub thread: ThreadKey,
    /// The request: a RunAgentInput as JSON, kept byte for byte.
    pub request: Bytes,
    /// Who keeps the history.
    pub history: HistoryMode,
    /// The agent, for a thread that is made.
    pub agent: Option<String>,
}

/// What became of a request for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Started {
    /// The run is open, and the caller its writer.
    New(RunWriter),
    /// The same request has opened this run before.
    Known(RunNo),
}

impl Engine {
    /// Opens a run, and makes its thread if it is not there. What clients see of its start is durable when it returns.
    ///
    /// # Errors
    /// If the request is no RunAgentInput for this thread, its run id is taken by another request, or the run that it would
    /// continue goes on.
    pub async fn start_run(&self, start: StartRun) -> Result<Started, Error> {
        let request = Request::read(&start)?;
        for _ in 0..ATTEMPTS_MAX {
            match self.try_start(&start, &request).await {
                Err(Error::RunsChanged) => {}
                result => return result,
            }
        }
        Err(Error::RunsChanged)
    }

    async fn try_start(&self, start: &StartRun, request: &Request<'_>) -> Result<Started, Error> {
        let input = &request.input;
        let sought = Sought::for_parent(None, Some(input)).with_run(request.id.clone());
        let kin = self.kin(&start.thread, &sought).await?;
        if let Some(known) = kin.runs.get(&request.id) {
            let known = self.run(&start.thread, *known).await?;
            let is_same = known.request_digest == request.digest;
            return if is_same { Ok(Started::Known(known.no)) } else { Err(Error::RunIdReused(known.id)) };
        }
        let parent = match kin.parent(None, Some(input)) {
            Some(parent) => Some(self.run(&start.thread, parent).await?),
            None => None,
        };
        if let Some(running) = parent.as_ref().filter(|run| run.is_running()) {
            return Err(Error::RunActive(running.id.clone()));
        }
        // What the parent holds must not go before its child is there.
        let _upkeep = self.upkeep().of(&start.thread).await;
        let held = match &parent {
            Some(parent) => self.fold_after(&start.thread, parent.no).await?,
            None => Fold::new(),
        };
        self.check_answers(&start.thread, &held, input).await?;
        let started = made_start(request, parent.as_ref(), &held);
        let change = MetadataChange {
            name: first_words(&input.messages),
            agent: start.agent.clone(),
            ..MetadataChange::default()
        };
        let open = OpenRun {
            thread: start.thread.clone(),
            incarnation: self.ids().incarnation(),
            metadata: change,
            seen: kin.seen,
            id: request.id.clone(),
            parent: parent.map(|parent| parent.no),
            spawned_by: kin.spawned_by(input.parent_run_id.as_ref()),
            base_state: base_state(start.history, input),
            request: start.request.clone(),
            request_digest: request.digest.clone(),
            records: vec![NewRecord::made(started.to_json().into_bytes())],
            key: None,
            expected_tail: None,
            end: None,
            lease_until: self.lease_until(),
            time: self.now(),
        };
        self.open_run(open).await.map(|(writer, _)| Started::New(writer))
    }

    /// Opens a run that somebody else has described.
    pub(crate) async fn open_run(&self, open: OpenRun) -> Result<(RunWriter, Ack), Error> {
        let engine = self.clone();
        to_its_end(async move {
            let thread = open.thread.clone();
            let records = open.records.clone();
            let Opened { run, epoch, incarnation, ack } = engine.store().open_run(open).await?;
            engine.publish(incarnation, run, &ack, Some(records));
            engine.changed(ThreadChange::Changed(thread.clone()));
            Ok((RunWriter { thread, incarnation, run, epoch }, ack))
        })
        .await
    }

    /// What a run that is to be opened has to know of the others. Nothing, if there is no thread.
    pub(crate) async fn kin(&self, thread: &ThreadKey, sought: &Sought) -> Result<Kin, Error> {
        for _ in 0..ATTEMPTS_MAX {
            let kin = match self.store().kin(thread, sought).await {
                Err(Error::NoThread(_)) => Kin::default(),
                kin => kin?,
            };
            if kin.unfolded.is_empty() {
                return Ok(kin);
            }
            for run in kin.unfolded {
                self.keep_checkpoint(thread, run).await?;
            }
        }
        Err(Error::RunsChanged)
    }

    /// The runs of a thread, where those that ended have the lineage that a parent is found by. None if there is no thread.
    pub(crate) async fn runs_with_lineage(&self, thread: &ThreadKey) -> Result<Vec<RunInfo>, Error> {
        let mut runs = match self.store().runs(thread).await {
            Err(Error::NoThread(_)) => Vec::new(),
            runs => runs?,
        };
        for run in &mut runs {
            if run.is_unfolded() {
                run.lineage = Some(self.keep_checkpoint(thread, run.no).await?.lineage);
            }
        }
        Ok(runs)
    }
}

/// How far the caller knows these runs.
pub(crate) fn seen(runs: &[RunInfo]) -> RunsSeen {
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    RunsSeen { opened: count(runs.len()), ended: count(runs.iter().filter(|run| !run.is_running()).count()) }
}

/// A request that makes sense.
struct Request<'a> {
    id: RunId,
    input: RunAgentInput<'a>,
    digest: String,
}

impl<'a> Request<'a> {
    fn read(start: &'a StartRun) -> Result<Self, Error> {
        let invalid =
            |what: &dyn std::fmt::Display| Error::Invalid(format!("the request is no RunAgentInput: {what}"));
        let text = std::str::from_utf8(&start.request).map_err(|error| invalid(&error))?;
        let (mut input, _) = RunAgentInput::read_json(text).map_err(|error| invalid(&error))?;
        // What was asked is kept as it came; what it means is said in the words of 1.0.
        translate_input(&mut input);
        if input.thread_id != *start.thread.thread.as_str() {
            return Err(Error::Invalid(format!(
                "the request is for another thread. thread={}",
                input.thread_id
            )));
        }
        let id = input.run_id.as_str().ok_or_else(|| invalid(&"the run id is not Unicode"))?;
        Ok(Self { id: RunId::new(id)?, digest: digest(&start.request), input })
    }
}

/// The SHA-256 of a request, in hexadecimal digits.
pub(crate) fn digest(request: &[u8]) -> String {
    to_hex(&Sha256::digest(request))
}

fn base_state(history: HistoryMode, input: &RunAgentInput<'_>) -> BaseState {
    let is_empty = || {
        let object = input.state.as_ref().map(|state| JsonObject::try_from(state.as_json().clone()));
        object.is_none_or(|object| object.is_ok_and(|object| object.members().is_empty()))
    };
    match history {
        HistoryMode::Server if is_empty() => BaseState::Branch,
        HistoryMode::Client | HistoryMode::Server => BaseState::Input,
    }
}

/// The start that clients see: the request without what the run's ancestors hold.
fn made_start(request: &Request<'_>, parent: Option<&RunInfo>, held: &Fold) -> Event<'static> {
    let mut input = request.input.clone().into_owned();
    let is_held = |message: &Message<'_>| {
        message.id().and_then(|id| held.message(id)).is_some_and(|held| *held == *message)
    };
    input.messages.retain(|message| !is_held(message));
    input.tools.get_or_insert_default();
    input.context.get_or_insert_default();
    let mut started = RunStarted::new(input.thread_id.clone(), input.run_id.clone());
    let parent = parent.map(|parent| Text::from(parent.id.as_str().to_owned()));
    started.parent_run_id = parent.or_else(|| input.parent_run_id.clone());
    started.protocol_version = Some(Text::from("1.0"));
    started.input = Some(Box::new(input));
    started.into()
}
