//! `GET /v1/threads/{thread}/live`: what goes on in a thread at this moment.

use super::parameters::Name;
use crate::access::Caller;
use crate::app::App;
use crate::error::{Code, Refusal};
use crate::openapi::{Operation, shapes};
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use serde_json::{Value, json};

/// What is said about it.
pub(super) fn about() -> Operation {
    let run = [
        ("runId", shapes::id()),
        ("epoch", shapes::count()),
        ("leaseUntil", shapes::time()),
        ("next", shapes::count()),
    ];
    let members = [
        ("threadId", shapes::id()),
        ("now", shapes::time()),
        ("durable", shapes::count()),
        ("followers", shapes::count()),
        ("runs", shapes::list(shapes::object(&run, &[]))),
    ];
    Operation::new("What goes on in a thread at this moment")
        .answers_json(
            "How far it is durable, who follows it here, and who executes its runs.",
            shapes::object(&members, &[]),
        )
        .reads()
        .refuses(&[Code::ThreadNotFound])
}

/// Up to where everything is durable, how many readers of this process follow, and the leases of runs that go on.
pub(super) async fn live(
    State(app): State<App>,
    caller: Caller,
    Name(thread): Name,
    headers: HeaderMap,
) -> Result<Json<Value>, Refusal> {
    let thread = app.thread_named(&caller, &headers, &thread)?;
    let engine = app.engine();
    let info = engine.store().thread(&thread).await?;
    let runs = engine.store().runs(&thread).await?;
    let running: Vec<Value> = runs
        .iter()
        .filter(|run| run.is_running())
        .map(|run| {
            json!({ "runId": run.id.as_str(), "epoch": run.epoch.0, "leaseUntil": run.lease_until.0,
                "next": run.offsets.end })
        })
        .collect();
    Ok(Json(json!({
        "threadId": thread.thread.as_str(),
        "now": engine.now().0,
        "durable": info.offsets.end,
        "followers": engine.followers(info.incarnation),
        "runs": running,
    })))
}
