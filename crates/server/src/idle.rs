//! How things are in a thread where nothing goes on, as a run of its own.

use crate::error::{Code, Refusal};
use crate::stream::Encoding;
use crate::stream::alias::about;
use serde_json::json;
use threadline_log::run::RunInfo;
use threadline_log::{At, Engine, Error, Incarnation, RunId, RunNo, ThreadKey};
use threadline_protocol::event::{MessagesSnapshot, RunFinished, RunStarted, StateSnapshot};
use threadline_protocol::run::{Interrupts, RunInterrupt};
use threadline_protocol::stages::fold::Fold;
use threadline_protocol::{Event, Limits, Text};

/// What a branch holds after a run.
#[derive(Debug)]
pub(crate) struct Idle {
    /// Which thread of its name.
    pub(crate) incarnation: Incarnation,
    /// The last record of the branch; none where there is none.
    pub(crate) offset: Option<u64>,
    /// The last run; none where there is none.
    pub(crate) run: Option<RunInfo>,
    /// What the branch holds.
    pub(crate) fold: Fold,
}

impl Idle {
    /// Reads a branch. A thread that is not there holds nothing: nobody need know.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) async fn read(engine: &Engine, thread: &ThreadKey, run: Option<RunNo>) -> Result<Self, Error> {
        let info = match engine.store().thread(thread).await {
            Err(Error::NoThread(_)) => {
                return Ok(Self { incarnation: Incarnation(0), offset: None, run: None, fold: Fold::new() });
            }
            info => info?,
        };
        let snapshot = engine.snapshot(thread, run.map_or(At::Head, At::Run)).await?;
        let run = match snapshot.run {
            Some(run) => Some(engine.run(thread, run).await?),
            None => None,
        };
        let offset = snapshot.offset.checked_sub(1);
        Ok(Self { incarnation: info.incarnation, offset, run, fold: snapshot.fold })
    }

    /// The events of a run that says how things are. An old failure is not told as a new one.
    #[must_use]
    pub(crate) fn events(&self, thread: &ThreadKey, run_id: &RunId) -> Vec<Event<'static>> {
        let (thread_id, id) = (text(thread.thread.as_str()), text(run_id.as_str()));
        let mut finished = RunFinished::new(thread_id.clone(), id.clone());
        if let Ok(interrupts) = Interrupts::try_from(self.fold.interrupts().to_vec()) {
            finished.outcome = Some(RunInterrupt::new(interrupts).into());
        }
        finished.metadata = self
            .run
            .as_ref()
            .map(|run| about(&json!({ "runId": run.id.as_str(), "status": run.status().name() })));
        let mut messages = MessagesSnapshot::new(self.fold.messages().cloned().collect::<Vec<_>>());
        messages.mark_synthesised();
        vec![
            started(thread_id, id),
            StateSnapshot::new(self.fold.state()).into(),
            messages.into(),
            finished.into(),
        ]
    }
}

/// The start of a run that only tells something.
pub(crate) fn started(thread_id: Text<'static>, run_id: Text<'static>) -> Event<'static> {
    RunStarted::new(thread_id, run_id).with_protocol_version("1.0").into()
}

pub(crate) fn text(text: &str) -> Text<'static> {
    Text::from(text.to_owned())
}

/// Refuses what a client could not read.
///
/// # Errors
/// If an event is larger than one may be.
pub(crate) fn check_size(events: &[Event<'_>], encoding: Encoding) -> Result<(), Refusal> {
    let max = Limits::default().event_bytes_max;
    for event in events {
        if !matches!(event, Event::MessagesSnapshot(_) | Event::StateSnapshot(_)) {
            continue;
        }
        let bytes = event.to_json().len();
        if bytes > max || encoding.write(&mut Vec::new(), event, None).is_err() {
            let message = format!("the snapshot is too large for one event. bytes={bytes}, max={max}");
            let details = json!({ "see": "/v1/threads/{thread}/messages" });
            return Err(Refusal::new(Code::SnapshotTooLarge, message).with_details(details));
        }
    }
    Ok(())
}

/// An id for a run of a request that names none.
pub(crate) fn mint_run_id() -> RunId {
    let mut drawn = [0; 16];
    // Only who reads this one stream sees it.
    let _ = getrandom::fill(&mut drawn);
    let digits: String = drawn.iter().map(|byte| format!("{byte:02x}")).collect();
    RunId::new(digits).expect("it is short")
}
