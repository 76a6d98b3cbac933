//! `GET /v1/threads/{thread}/runs/{run}/artifact` and `/artifact/statement`: evidence of a run.

use super::body;
use super::parameters::Name;
use crate::access::Caller;
use crate::app::App;
use crate::error::{Code, Refusal};
use crate::evidence;
use crate::input::run_of_query;
use crate::openapi::{Operation, shapes};
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use threadline_evidence::{Derived, Refused, Statement};

/// What is said about it.
pub(super) fn about() -> Operation {
    let message = [("id", shapes::id()), ("role", shapes::text()), ("content", shapes::text())];
    let message = shapes::closed(shapes::object(&message, &[("name", shapes::text())]));
    let required = [
        ("schema", shapes::text()),
        ("framework", shapes::text()),
        ("surface", shapes::text()),
        ("thread_id_ref", shapes::id()),
        ("run_id_ref", shapes::id()),
        ("started_at", shapes::text()),
        ("messages", shapes::list(message)),
        ("terminal_event", shapes::word(&["RUN_FINISHED", "RUN_ERROR"])),
    ];
    let optional = [
        ("parent_run_id_ref", shapes::id()),
        ("finished_at", shapes::text()),
        ("error_code", shapes::text()),
        ("error_message", shapes::text()),
    ];
    let artifact = shapes::named("Artifact", shapes::closed(shapes::object(&required, &optional)));
    Operation::new("What one integration-emitted snapshot of a run said, strictly bounded")
        .answers_json("The artifact.", artifact)
        .reads()
        .refuses(&[Code::ThreadNotFound, Code::RunNotFound, Code::ArtifactRefused])
}

/// What is said about it.
pub(super) fn about_statement() -> Operation {
    let members = [
        ("_type", shapes::text()),
        ("subject", shapes::list(json!({ "type": "object" }))),
        ("predicateType", shapes::text()),
        ("predicate", json!({ "type": "object" })),
    ];
    let statement = shapes::named("ArtifactStatement", shapes::closed(shapes::object(&members, &[])));
    Operation::new("Where the artifact of a run came from, as an in-toto Statement that nobody has signed")
        .answers_json("The statement.", statement)
        .reads()
        .refuses(&[Code::ThreadNotFound, Code::RunNotFound, Code::ArtifactRefused])
}

/// The artifact of a run.
pub(super) async fn artifact(
    State(app): State<App>,
    caller: Caller,
    Name((thread, run)): Name<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let (derived, _) = stated(&app, &caller, &headers, (&thread, &run)).await?;
    Ok(as_written(derived.artifact.to_json()))
}

/// What is known about where it came from.
pub(super) async fn statement(
    State(app): State<App>,
    caller: Caller,
    Name((thread, run)): Name<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let (_, statement) = stated(&app, &caller, &headers, (&thread, &run)).await?;
    Ok(as_written(statement.to_json()))
}

async fn stated(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    (thread, run): (&str, &str),
) -> Result<(Derived, Statement), Refusal> {
    let thread = app.thread_named(caller, headers, thread)?;
    let logged = evidence::derive(app.engine(), &thread, &run_of_query(run)?).await?;
    logged.stated().map_err(|refused| refusal(&refused))
}

fn refusal(refused: &Refused) -> Refusal {
    let refusals: Vec<Value> = refused.refusals().iter().map(|refusal| json!(refusal)).collect();
    Refusal::new(Code::ArtifactRefused, format!("there is no artifact of the run: {refused}"))
        .with_details(json!({ "refusals": refusals }))
}

/// Byte for byte what its digest is over.
fn as_written(json: String) -> Response {
    ([(header::CONTENT_TYPE, body::JSON[0])], json).into_response()
}
