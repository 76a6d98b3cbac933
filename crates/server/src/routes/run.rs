//! `POST /agents/{agent}`: a run.

use super::attach::{Attaching, watched};
use super::body;
use super::parameters::AgentName;
use crate::access::Caller;
use crate::app::App;
use crate::error::{Code, Refusal};
use crate::input::Input;
use crate::openapi::{Operation, agui};
use crate::runs::{Begun, Start};
use crate::stream::{Dialect, Encoding, RunReader};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use threadline_log::delivery::Delivery;
use threadline_log::{RunWriter, Started};

/// What is said about it.
pub(super) fn about() -> Operation {
    Operation::new("A run: its events, as they come")
        .takes(&body::JSON, &agui::input())
        .answers(StatusCode::OK, "The events of the run, to its end.", agui::events())
        .keeps()
        .refuses(&[Code::AgentNotFound, Code::InvalidParameter, Code::TooMany])
        .refuses(&[Code::RunActive, Code::RunIdReused, Code::InterruptsOpen, Code::InterruptAnswered])
        // Of a run that is there already, as connect.
        .refuses(&[Code::SnapshotTooLarge, Code::ThreadNotFound, Code::ThreadReplaced])
}

/// A run.
pub(super) async fn run(
    State(app): State<App>,
    caller: Caller,
    AgentName(agent): AgentName,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let (agent, backend) = app.agents().get(agent.as_deref())?;
    // Who asks for too much must cost little: its body is not read, let alone understood.
    app.load().runs.check()?;
    let input = Input::read_run(&body::read(&app, &headers, body).await?)?;
    let thread = app.thread(&caller, &headers, &input)?;
    let dialect = Dialect { encoding: Encoding::accepted(&headers), is_legacy: input.is_legacy() };
    let run = input.run.clone().ok_or_else(|| Refusal::input("/runId", "missing field runId"))?;
    let start = Start {
        thread: thread.clone(),
        run,
        request: input.bytes.clone(),
        headers,
        agent: agent.to_owned(),
        backend: backend.clone(),
    };
    let attaching = Attaching {
        app: &app,
        thread: &thread,
        dialect,
        input: &input,
        listening: app.listen(&thread.scope)?,
    };
    match app.runs().start(start).await? {
        Begun { started: Started::New(writer), joined: Some(joined) } => {
            Ok(attaching.into_live(writer.incarnation, writer.run, joined))
        }
        Begun { started: Started::New(writer), joined: None } => from_the_start(attaching, &writer).await,
        Begun { started: Started::Known(run), .. } => attaching.into_run(run).await,
    }
}

async fn from_the_start(attaching: Attaching<'_>, writer: &RunWriter) -> Result<Response, Refusal> {
    let Attaching { app, thread, dialect, listening, .. } = attaching;
    let info = app.engine().run(thread, writer.run).await?;
    let follower = app.engine().follow(thread, Some(writer.incarnation), info.offsets.start).await?;
    let delivery = Delivery::new(&thread.thread, &info.id);
    let view = app.view(dialect, writer.incarnation, writer.run, delivery);
    let reader = RunReader::new(follower, view, app.stopping().clone());
    Ok(body::events(dialect.encoding, watched(app, reader, writer.run, listening)))
}
