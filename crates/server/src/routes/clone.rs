//! `POST /v1/threads/{thread}/clone`: a copy of a thread, or of a part of it.

use super::body;
use super::parameters::Name;
use super::threads::{self, shown};
use crate::access::Caller;
use crate::app::App;
use crate::error::{Code, Refusal};
use crate::input::pointer;
use crate::moment::Moment;
use crate::openapi::{Operation, shapes};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use serde_json::{Value, json};
use threadline_log::cloning::ClonePoint;
use threadline_log::{Engine, Error, RunId, ThreadId, ThreadKey};

/// What is said about it.
pub(super) fn about() -> Operation {
    let optional = [("runId", shapes::id()), ("at", shapes::moment())];
    let mut wanted = shapes::closed(shapes::object(&[("threadId", shapes::id())], &optional));
    wanted["not"] = json!({ "required": ["runId", "at"] });
    Operation::new("Copies a thread, or the branch of a run, or what was there at a point")
        .takes(&body::JSON, &wanted)
        .answers(StatusCode::CREATED, "The copy.", [(body::JSON[0], threads::schema())])
        .keeps()
        .refuses(&[Code::ThreadNotFound, Code::RunNotFound, Code::ThreadExists])
        .refuses(&[Code::Trimmed, Code::Compacted, Code::ThreadReplaced])
}

/// Copies a thread up to a point into a new one, and answers the new one.
pub(super) async fn clone(
    State(app): State<App>,
    caller: Caller,
    Name(thread): Name,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    let thread = app.thread_named(&caller, &headers, &thread)?;
    let wanted = Wanted::read(&body::read(&app, &headers, body).await?)?;
    let to = ThreadKey::new(thread.scope.clone(), wanted.thread);
    let engine = app.engine().clone();
    app.load().quota.admit_thread(&engine, &thread.scope).await?;
    // To its end, whoever waits for it: what is left in the middle would be a part of a thread.
    let cloned = tokio::spawn(async move {
        let point = point(&engine, &thread, wanted.run.as_ref(), wanted.at).await?;
        engine.clone_thread(&thread, point, &to).await?;
        engine.store().thread(&to).await
    });
    let cloned = cloned.await.unwrap_or_else(|error| Err(Error::Indeterminate(error.to_string())))?;
    Ok((StatusCode::CREATED, Json(shown(&cloned))))
}

/// What a request asks for.
struct Wanted {
    /// The id of the copy.
    thread: ThreadId,
    /// Only the branch of this run.
    run: Option<RunId>,
    /// Only what was there by then.
    at: Option<Moment>,
}

impl Wanted {
    fn read(body: &Bytes) -> Result<Self, Refusal> {
        let body: Value =
            serde_json::from_slice(body).map_err(|error| Refusal::input("", format!("not JSON: {error}")))?;
        let Value::Object(members) = body else { return Err(Refusal::input("", "expected an object")) };
        let (mut thread, mut run, mut at) = (None, None, None);
        for (name, value) in members {
            let pointer = pointer(&[&name]);
            let wrong = |message: &str| Refusal::input(&pointer, message);
            match (name.as_str(), &value) {
                ("threadId", Value::String(id)) => {
                    thread = Some(ThreadId::new(id).map_err(|error| wrong(&error.to_string()))?);
                }
                ("runId", Value::String(id)) => {
                    run = Some(RunId::new(id).map_err(|error| wrong(&error.to_string()))?);
                }
                ("at", Value::Number(offset)) => {
                    let offset = offset.as_u64().ok_or_else(|| wrong("expected an offset"))?;
                    at = Some(Moment::Offset(offset));
                }
                ("at", Value::String(text)) => {
                    let moment = text.parse::<Moment>();
                    at = Some(moment.map_err(|error| wrong(&error.to_string()))?);
                }
                ("threadId" | "runId", _) => return Err(wrong("expected a string")),
                ("at", _) => return Err(wrong("expected an offset or a time")),
                _ => return Err(wrong("unknown member")),
            }
        }
        if run.is_some() && at.is_some() {
            return Err(Refusal::input("/at", "a copy is of a run or up to a point, not both"));
        }
        let thread = thread.ok_or_else(|| Refusal::input("/threadId", "missing field threadId"))?;
        Ok(Self { thread, run, at })
    }
}

async fn point(
    engine: &Engine,
    thread: &ThreadKey,
    run: Option<&RunId>,
    at: Option<Moment>,
) -> Result<ClonePoint, Error> {
    let next = match (run, at) {
        (Some(run), _) => return Ok(ClonePoint::Run(engine.run_named(thread, run).await?.no)),
        (None, Some(Moment::Offset(offset))) => return Ok(ClonePoint::Offset(offset)),
        (None, Some(Moment::Time(time))) => engine.offset_after(thread, time).await?,
        (None, None) => engine.store().thread(thread).await?.offsets.end,
    };
    let last = next.checked_sub(1);
    last.map(ClonePoint::Offset).ok_or_else(|| Error::Invalid("nothing was there by then".to_owned()))
}
