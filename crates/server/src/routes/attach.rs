//! `POST /agents/{agent}/connect`: attaching to a thread.

use super::body;
use super::parameters::{AgentName, Parameters};
use crate::access::Caller;
use crate::app::App;
use crate::cursor::{Cursor, Frame};
use crate::error::{Code, Refusal};
use crate::idle::{Idle, check_size, mint_run_id};
use crate::input::{Input, run_of_query};
use crate::load::Listening;
use crate::openapi::{Operation, agui, shapes};
use crate::runs::{Joined, Phase};
use crate::settings::Mode;
use crate::stream::{Dialect, Encoding, RunReader};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use threadline_log::delivery::Delivery;
use threadline_log::run::RunInfo;
use threadline_log::{Attached, Error, Incarnation, RunNo, ThreadKey};
use tokio::sync::watch;

/// About how many bytes of records are read at once to come to a cursor.
const PAGE_BYTES: usize = 1024 * 1024;

/// What a request may say in its query.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Options {
    /// A cursor to go on from.
    after: Option<String>,
    /// The run to attach to, by its id; the last one that was started, if it is not said.
    run: Option<String>,
}

/// What is said about it.
pub(super) fn about() -> Operation {
    Operation::new("Attaches to a thread: how things are, and the rest of a run that goes on")
        .query("run", "The run; the last one that was started, if it is not said.", shapes::id())
        .query("after", "A cursor, behind which it goes on.", shapes::text())
        .header("Last-Event-ID", "The same, if the query does not say it.", shapes::text())
        .takes(&body::JSON, &agui::thread_and_run())
        .answers(StatusCode::OK, "Events, to the end of the run.", agui::events())
        .reads()
        .refuses(&[Code::AgentNotFound, Code::InvalidCursor, Code::RunNotFound, Code::ThreadNotFound])
        .refuses(&[Code::ThreadReplaced, Code::Trimmed, Code::Compacted])
        .refuses(&[Code::SnapshotTooLarge, Code::TooMany])
}

/// Attaching to a thread.
pub(super) async fn connect(
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
    let dialect = Dialect { encoding: Encoding::accepted(&headers), is_legacy: input.is_legacy() };
    let attaching = Attaching {
        app: &app,
        thread: &thread,
        dialect,
        input: &input,
        listening: app.listen(&thread.scope)?,
    };
    if let Some(cursor) = cursor(&headers, options.after.as_deref())? {
        return attaching.after(cursor).await;
    }
    let runs = runs_of(&app, &thread).await?;
    let run = find_run(&runs, options.run.as_deref())?;
    match run {
        Some(run) if run.is_running() => attaching.into_run(run.no).await,
        run => attaching.into_idle(run.map(|run| run.no)).await,
    }
}

/// The runs of a thread; none, if it is not there.
pub(super) async fn runs_of(app: &App, thread: &ThreadKey) -> Result<Vec<RunInfo>, Refusal> {
    match app.engine().store().runs(thread).await {
        Err(Error::NoThread(_)) => Ok(Vec::new()),
        runs => Ok(runs?),
    }
}

/// The run that a request names; the last one that was started, if it names none.
pub(super) fn find_run<'r>(runs: &'r [RunInfo], id: Option<&str>) -> Result<Option<&'r RunInfo>, Refusal> {
    let Some(id) = id else { return Ok(runs.last()) };
    let id = run_of_query(id)?;
    let found = runs.iter().find(|run| run.id == id);
    Ok(Some(found.ok_or_else(|| Refusal::from(Error::NoRun(id.to_string())))?))
}

/// Cuts a reader when its run breaks, and keeps its connection alive.
pub(super) fn watched(app: &App, reader: RunReader, run: RunNo, listening: Listening) -> RunReader {
    // A store that takes no writes will not see the end of a run that nobody executes.
    let broken = || app.engine().store().trouble().map(|_| watch::channel(Phase::Broken).1);
    let phase = app.runs().phase(reader.incarnation(), run).or_else(broken);
    reader.with_phase(phase).with_keep_alive(app.settings().http.keep_alive).with_place(listening)
}

/// The cursor that a client comes back with.
pub(super) fn cursor(headers: &HeaderMap, after: Option<&str>) -> Result<Option<Cursor>, Refusal> {
    let header = headers.get("last-event-id").map(|value| value.to_str().unwrap_or("?"));
    let Some(text) = after.or(header).filter(|text| !text.is_empty()) else { return Ok(None) };
    let cursor = text.parse().map_err(|error| Refusal::new(Code::InvalidCursor, format!("{error}")))?;
    Ok(Some(cursor))
}

/// A client that attaches to a thread.
pub(super) struct Attaching<'a> {
    pub(super) app: &'a App,
    pub(super) thread: &'a ThreadKey,
    pub(super) dialect: Dialect,
    pub(super) input: &'a Input,
    /// Its place among the readers.
    pub(super) listening: Listening,
}

impl Attaching<'_> {
    /// To a run: how things are, and then the rest of it, if there is more.
    pub(super) async fn into_run(self, run: RunNo) -> Result<Response, Refusal> {
        if !self.app.engine().run(self.thread, run).await?.is_running() {
            return self.into_idle(Some(run)).await;
        }
        let incarnation = self.app.engine().store().thread(self.thread).await?.incarnation;
        if let Some(live) = self.app.runs().live(incarnation, run) {
            let joined = live.join();
            check_size(&joined.events, self.dialect.encoding)?;
            return Ok(self.into_live(incarnation, run, joined));
        }
        let Attached { run, fold, follower } = self.app.engine().attach(self.thread, run).await?;
        let prelude = fold.joiner().prelude();
        check_size(&prelude, self.dialect.encoding)?;
        let is_over = fold.joiner().ongoing().current_run().is_none();
        let (incarnation, offset) = (follower.incarnation(), follower.next_offset());
        let mut view = self.app.view(self.dialect, incarnation, run.no, fold.into_delivery());
        let mut first = Vec::new();
        let is_over = view.show_events(&mut first, prelude, offset.checked_sub(1)) || is_over;
        if is_over {
            return Ok(body::all_events(self.dialect.encoding, first));
        }
        let reader = RunReader::new(follower, view, self.app.stopping().clone()).with_first(first);
        let reader = watched(self.app, reader, run.no, self.listening);
        Ok(body::events(self.dialect.encoding, reader))
    }

    /// To a run that is not stored yet. Nothing of it is a place to come back to.
    pub(super) fn into_live(self, incarnation: Incarnation, run: RunNo, joined: Joined) -> Response {
        // What is delivered went through its delivery already.
        let delivery = Delivery::new(&self.thread.thread, &mint_run_id());
        let mut view = self.app.view(self.dialect, incarnation, run, delivery);
        let mut first = Vec::new();
        let is_over = view.show_events(&mut first, joined.events, None);
        match joined.rest.filter(|_| !is_over) {
            Some(rest) => {
                let reader = RunReader::live(rest, view, self.app.stopping().clone()).with_first(first);
                body::events(self.dialect.encoding, watched(self.app, reader, run, self.listening))
            }
            None => body::all_events(self.dialect.encoding, first),
        }
    }

    /// To a thread where nothing goes on, after one of its runs: how things are, as a run of the request's own id.
    pub(super) async fn into_idle(self, run: Option<RunNo>) -> Result<Response, Refusal> {
        let idle = Idle::read(self.app.engine(), self.thread, run).await?;
        let run_id = self.input.run.clone().unwrap_or_else(mint_run_id);
        let events = idle.events(self.thread, &run_id);
        check_size(&events, self.dialect.encoding)?;
        let delivery = Delivery::new(&self.thread.thread, &run_id);
        let mut view = self.app.view(self.dialect, idle.incarnation, run.unwrap_or(RunNo(0)), delivery);
        let mut frames = Vec::new();
        // Where frames of runs have no ids, one that had would be where a client comes back to for ever.
        let offset = idle.offset.filter(|_| self.app.settings().runs.mode == Mode::Durable);
        view.show_events(&mut frames, events, offset);
        Ok(body::all_events(self.dialect.encoding, frames))
    }

    /// After something that the client has seen: exactly what follows it.
    async fn after(self, cursor: Cursor) -> Result<Response, Refusal> {
        let engine = self.app.engine();
        let wrong = || Refusal::new(Code::InvalidCursor, "the cursor is not of this route");
        let run = cursor.run.ok_or_else(wrong)?;
        // First whether it is the same thread: another one may have other runs.
        match engine.store().thread(self.thread).await {
            Ok(info) if info.incarnation == cursor.incarnation => {}
            Ok(_) | Err(Error::NoThread(_)) => {
                return Err(Error::OtherIncarnation(self.thread.clone()).into());
            }
            Err(error) => return Err(error.into()),
        }
        let run = engine.run(self.thread, run).await?;
        let (from, skip) = match cursor.frame {
            Frame::Events(count) => (cursor.offset, count),
            Frame::Whole => (cursor.offset.saturating_add(1), 0),
        };
        let follower = engine.follow(self.thread, Some(cursor.incarnation), from).await?;
        let delivery = Delivery::new(&self.thread.thread, &run.id);
        let mut view = self.app.view(self.dialect, cursor.incarnation, run.no, delivery);
        let (mut next, mut is_over) = (run.offsets.start, false);
        while next < from {
            let page = engine.read(self.thread, next..from, Some(run.no), PAGE_BYTES).await?;
            for record in &page.records {
                is_over |= view.skip(record);
            }
            next = page.next;
        }
        if is_over {
            return Ok(body::all_events(self.dialect.encoding, Vec::new()));
        }
        let reader = RunReader::new(follower, view, self.app.stopping().clone()).with_skip(skip);
        Ok(body::events(self.dialect.encoding, watched(self.app, reader, run.no, self.listening)))
    }
}
