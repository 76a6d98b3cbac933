//! `POST /agents/{agent}/history`: the messages of a thread, and what follows if that is wanted.

use super::attach::{find_run, runs_of};
use super::body;
use super::parameters::{AgentName, Parameters};
use crate::access::Caller;
use crate::app::App;
use crate::error::{Code, Refusal};
use crate::idle::{Idle, check_size, mint_run_id, started, text};
use crate::input::Input;
use crate::lifecycle::with_lifecycle;
use crate::openapi::{Operation, agui, shapes};
use crate::stream::alias::Alias;
use crate::stream::reader::Deadline;
use crate::stream::{Dialect, Encoding, RunReader};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use threadline_log::delivery::Delivery;
use threadline_log::lineage::chain;
use threadline_log::run::RunInfo;
use threadline_log::{Attached, Incarnation, RunId, RunNo, ThreadKey};
use threadline_protocol::Event;
use threadline_protocol::event::{RunError, RunFinished};
use tokio::time::Instant;

/// What a request may say otherwise than the settings.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Options {
    follow: Option<bool>,
    lifecycle: Option<bool>,
    state: Option<bool>,
    run: Option<String>,
}

/// What is said about it.
pub(super) fn about() -> Operation {
    Operation::new("The messages of a thread, and what follows if that is wanted")
        .query("follow", "Whether it goes on to the end of a run that goes on.", shapes::flag())
        .query("lifecycle", "Whether starts and ends of runs are among the messages.", shapes::flag())
        .query("state", "Whether the state comes before the messages.", shapes::flag())
        .query("run", "Another run than the last.", shapes::id())
        .takes(&body::JSON, &agui::thread_and_run())
        .answers(StatusCode::OK, "RUN_STARTED, MESSAGES_SNAPSHOT, RUN_FINISHED.", agui::events())
        .refuses(&[Code::AgentNotFound, Code::RunNotFound, Code::ThreadNotFound, Code::ThreadReplaced])
        .refuses(&[Code::SnapshotTooLarge, Code::TooMany, Code::StoreUnavailable])
}

/// The history of a thread.
pub(super) async fn history(
    State(app): State<App>,
    caller: Caller,
    AgentName(agent): AgentName,
    Parameters(options): Parameters<Options>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    app.agents().get(agent.as_deref())?;
    let input = Input::read(&body::read(&app, &headers, body).await?)?;
    let thread = app.thread(&caller, &headers, &input)?;
    let settings = &app.settings().history;
    let telling = Telling {
        app: &app,
        dialect: Dialect { encoding: Encoding::accepted(&headers), is_legacy: input.is_legacy() },
        run_id: input.run.clone().unwrap_or_else(mint_run_id),
        lifecycle: options.lifecycle.unwrap_or(settings.lifecycle),
        state: options.state.unwrap_or(settings.state),
        thread: &thread,
    };
    let told = async {
        let runs = runs_of(&app, &thread).await?;
        let run = find_run(&runs, options.run.as_deref())?;
        match run.filter(|run| run.is_running() && options.follow.unwrap_or(settings.follow)) {
            Some(run) => telling.and_follow(&runs, run).await,
            None => telling.at_once(&runs, run).await,
        }
    };
    match told.await {
        // The request was good and the history is not. A store that is away may be back when the client asks again.
        Err(refusal) if refusal.code.status().is_server_error() && refusal.code != Code::StoreUnavailable => {
            Ok(telling.unavailable())
        }
        told => told,
    }
}

/// One request for a history.
struct Telling<'a> {
    app: &'a App,
    thread: &'a ThreadKey,
    dialect: Dialect,
    run_id: RunId,
    lifecycle: bool,
    state: bool,
}

impl Telling<'_> {
    /// What is durable, open messages included.
    async fn at_once(&self, runs: &[RunInfo], run: Option<&RunInfo>) -> Result<Response, Refusal> {
        let idle = Idle::read(self.app.engine(), self.thread, run.map(|run| run.no)).await?;
        let mut events = idle.events(self.thread, &self.run_id);
        // The end of a request for history says nothing about the thread.
        events.pop();
        events.push(RunFinished::new(text(self.thread.thread.as_str()), text(self.run_id.as_str())).into());
        let shown = self.shown(runs, run, events).await?;
        Ok(self.answer(shown))
    }

    /// What is durable, and then the rest of the run.
    async fn and_follow(&self, runs: &[RunInfo], run: &RunInfo) -> Result<Response, Refusal> {
        let listening = self.app.listen(&self.thread.scope)?;
        let Attached { run, fold, follower } = self.app.engine().attach(self.thread, run.no).await?;
        if fold.joiner().ongoing().current_run().is_none() {
            return self.at_once(runs, Some(&run)).await;
        }
        let prelude = self.shown(runs, Some(&run), fold.joiner().prelude()).await?;
        let alias = Alias { run_id: self.run_id.clone(), shown: Some(run.id.clone()) };
        let mut view = self
            .app
            .view(self.dialect, follower.incarnation(), run.no, fold.into_delivery())
            .with_alias(alias);
        let mut first = Vec::new();
        if view.show_events(&mut first, prelude, None) {
            return Ok(body::all_events(self.dialect.encoding, first));
        }
        let deadline = self.app.settings().history.follow_max_duration.map(|duration| {
            let error =
                RunError::new("the run was followed for as long as it may be").with_code("follow_timeout");
            Deadline { at: Instant::now() + duration, frames: self.frames(vec![error.into()]).into() }
        });
        let reader = RunReader::new(follower, view, self.app.stopping().clone())
            .with_first(first)
            .with_deadline(deadline);
        let reader = super::attach::watched(self.app, reader, run.no, listening);
        Ok(body::events(self.dialect.encoding, reader))
    }

    /// The events of a snapshot as this request wants them.
    async fn shown(
        &self,
        runs: &[RunInfo],
        run: Option<&RunInfo>,
        mut events: Vec<Event<'static>>,
    ) -> Result<Vec<Event<'static>>, Refusal> {
        if !self.state {
            events.retain(|event| !matches!(event, Event::StateSnapshot(_)));
        }
        if let Some(run) = run.filter(|_| self.lifecycle) {
            let branch: Vec<&RunInfo> =
                chain(runs, run.no).into_iter().filter_map(|run| runs.get(run.index())).collect();
            for event in &mut events {
                if let Event::MessagesSnapshot(snapshot) = event {
                    let messages = std::mem::take(&mut snapshot.messages);
                    snapshot.messages =
                        with_lifecycle(self.app.engine(), self.thread, &branch, messages).await?;
                }
            }
        }
        check_size(&events, self.dialect.encoding)?;
        Ok(events)
    }

    /// A history that cannot be told.
    fn unavailable(&self) -> Response {
        let error = RunError::new("the history cannot be read").with_code("history_unavailable");
        let (thread, run) = (text(self.thread.thread.as_str()), text(self.run_id.as_str()));
        self.answer(vec![started(thread, run), error.into()])
    }

    fn answer(&self, events: Vec<Event<'static>>) -> Response {
        body::all_events(self.dialect.encoding, self.frames(events))
    }

    fn frames(&self, events: Vec<Event<'static>>) -> Vec<u8> {
        let delivery = Delivery::new(&self.thread.thread, &self.run_id);
        let mut frames = Vec::new();
        let mut view = self.app.view(self.dialect, Incarnation(0), RunNo(0), delivery);
        view.show_events(&mut frames, events, None);
        frames
    }
}
