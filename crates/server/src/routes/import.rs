//! `POST /v1/import`: threads from lines of JSON, of any size.

use super::body;
use super::decoding::Decoding;
use super::parameters::Parameters;
use crate::access::Caller;
use crate::app::App;
use crate::error::{Code, Refusal};
use crate::openapi::{Operation, shapes};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use http_body_util::BodyExt;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;
use threadline_log::transfer::{ImportOptions, Imported, Importer, LINE_BYTES_MAX, begins_export};
use threadline_log::{Error, Scope, ThreadId, ThreadKey};
use threadline_protocol::stages::close::Cause;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// How much of a body that is refused is read and forgotten, and for how long.
const REST_BYTES_MAX: usize = 64 * 1024 * 1024;
const REST_TIME_MAX: Duration = Duration::from_secs(2);

/// What a request may say in its query.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Options {
    /// The thread's id, in place of the one that the input says.
    thread: Option<String>,
}

/// What is said about it.
pub(super) fn about() -> Operation {
    let imported = [
        ("app", shapes::id()),
        ("user", shapes::id()),
        ("threadIds", shapes::list(shapes::id())),
        ("runs", shapes::count()),
        ("records", shapes::count()),
        ("unreadable", shapes::count()),
    ];
    Operation::new("Takes in what export gave, or a recording of AG-UI events")
        .query("thread", "Another id than the one in it.", shapes::id())
        .takes(&body::LINES, &shapes::lines())
        .answers_json("What was taken in.", shapes::object(&imported, &[]))
        .keeps()
        .refuses(&[
            Code::ThreadExists,
            Code::ThreadNotFound,
            Code::RunIdReused,
            Code::RunEnded,
            Code::RunActive,
        ])
}

/// Takes threads in, whole or not at all.
pub(super) async fn import(
    State(app): State<App>,
    caller: Caller,
    Parameters(options): Parameters<Options>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Refusal> {
    let scope = app.scope(&caller, &headers)?;
    body::check_lines(&headers)?;
    let decoding = Decoding::of(&headers, &app.settings().http.request_encodings)?;
    let thread = options.thread.map(ThreadId::new).transpose();
    let thread = thread.map_err(|error| Refusal::new(Code::InvalidParameter, error.to_string()))?;
    if app.runs().is_stopping() {
        return Err(Refusal::new(Code::ShuttingDown, "the server is about to stop"));
    }
    app.load().quota.admit_thread(app.engine(), &scope).await?;
    let owner = scope.clone();
    let options =
        ImportOptions { scope: Some(scope.clone()), default_scope: scope, thread, cause: Cause::Truncated };
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    let gone = CancellationToken::new();
    let import = Import {
        importer: app.engine().import(options),
        scope: owner.clone(),
        body,
        decoding,
        length,
        gone: gone.clone(),
        app: app.clone(),
        line: Vec::new(),
        number: 1,
        unread: None,
    };
    // In a task of its own, because of a client that goes away nothing may be left but what is whole.
    let _gone = gone.drop_guard();
    let imported = tokio::spawn(import.run()).await;
    let imported = imported.unwrap_or_else(|error| Err(Error::Indeterminate(error.to_string()).into()))?;
    Ok(Json(json!({
        "app": owner.app.as_str(),
        "user": owner.user.as_str(),
        "threadIds": ids(&imported.threads),
        "runs": imported.runs,
        "records": imported.records,
        "unreadable": imported.unreadable,
    })))
}

fn ids(threads: &[ThreadKey]) -> Vec<&str> {
    threads.iter().map(|thread| thread.thread.as_str()).collect()
}

/// An import that goes on.
struct Import {
    importer: Importer,
    scope: Scope,
    body: Body,
    decoding: Decoding,
    /// How long the body is, if that was said.
    length: Option<u64>,
    /// Said when nobody waits for the answer.
    gone: CancellationToken,
    app: App,
    /// A line that has not come to its end, and its number.
    line: Vec<u8>,
    number: u64,
    /// The first line that cannot be read as an event.
    unread: Option<u64>,
}

impl Import {
    async fn run(mut self) -> Result<Imported, Refusal> {
        let taken = self.take_all().await;
        let kept = self.importer.whole().to_vec();
        let result = match taken {
            Ok(()) => self.importer.finish().await.map_err(|error| match (self.unread, &error) {
                (Some(line), Error::Invalid(_)) => Refusal::from(error).at_line(line),
                _ => error.into(),
            }),
            Err(refusal) => {
                self.let_the_rest_go().await;
                // After an error of its own it has done so.
                let abandoned = self.importer.abandon().await;
                if let Err(error) = abandoned {
                    tracing::error!(%error, "what was imported of a thread cannot be deleted");
                }
                Err(refusal)
            }
        };
        result.map_err(|refusal| with_kept(refusal, &kept))
    }

    async fn take_all(&mut self) -> Result<(), Refusal> {
        let http = self.app.settings().http.clone();
        let stopping = self.app.stopping().clone();
        let (mut bytes, mut decoded_bytes) = (0_u64, 0_u64);
        let within = |bytes: u64| match bytes > http.import_bytes_max {
            true => {
                let message = format!("the import is too large. bytes_max={}", http.import_bytes_max);
                Err(Refusal::new(Code::RequestTooLarge, message))
            }
            false => Ok(bytes),
        };
        loop {
            let frame = tokio::select! {
                frame = timeout(http.body_timeout, self.body.frame()) => frame,
                () = self.gone.cancelled() => return Err(cut_off()),
                () = stopping.cancelled() => {
                    return Err(Refusal::new(Code::ShuttingDown, "the server is about to stop"));
                }
            };
            let frame = frame.map_err(|_elapsed| {
                Refusal::new(Code::RequestTimeout, "nothing more of the body came in time")
            })?;
            let Some(frame) = frame else { break };
            let frame =
                frame.map_err(|error| Refusal::input("", format!("the body could not be read: {error}")))?;
            let Ok(data) = frame.into_data() else { continue };
            bytes = within(bytes.saturating_add(data.len() as u64))?;
            let mut came = &data[..];
            while let Some(piece) = self.decoding.step(&mut came)? {
                decoded_bytes = within(decoded_bytes.saturating_add(piece.len() as u64))?;
                self.take(&piece).await?;
            }
        }
        if self.gone.is_cancelled() || self.length.is_some_and(|length| bytes < length) {
            return Err(cut_off());
        }
        let last = self.decoding.finish()?;
        self.take(&last).await?;
        self.end_line().await
    }

    /// Reads and forgets a little more: who still sends when nobody reads any more is cut off, and never sees why.
    async fn let_the_rest_go(&mut self) {
        let rest = async {
            let mut left = REST_BYTES_MAX;
            while let Some(Ok(frame)) = self.body.frame().await
                && let Some(less) = left.checked_sub(frame.data_ref().map_or(0, bytes::Bytes::len))
            {
                left = less;
            }
        };
        let _ = timeout(REST_TIME_MAX, self.gone.run_until_cancelled(rest)).await;
    }

    async fn take(&mut self, data: &[u8]) -> Result<(), Refusal> {
        let mut rest = data;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.extend(&rest[..end])?;
            self.end_line().await?;
            rest = &rest[end + 1..];
        }
        self.extend(rest)
    }

    fn extend(&mut self, part: &[u8]) -> Result<(), Refusal> {
        if self.line.len() + part.len() > LINE_BYTES_MAX {
            let message = format!("the line is too long. bytes_max={LINE_BYTES_MAX}");
            return Err(Refusal::new(Code::RequestTooLarge, message).at_line(self.number));
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    async fn end_line(&mut self) -> Result<(), Refusal> {
        let line = std::mem::take(&mut self.line);
        let text = std::str::from_utf8(line.trim_ascii())
            .map_err(|error| Refusal::input("", format!("not UTF-8: {error}")).at_line(self.number))?;
        if !text.is_empty() {
            let pushed = self.importer.push(text).await;
            if pushed.map_err(|error| Refusal::from(error).at_line(self.number))?.is_some() {
                self.unread.get_or_insert(self.number);
            }
        }
        // The one before it has come to its end, and this one is not made before its first run.
        if begins_export(text) {
            let admitted = self.app.load().quota.admit_thread(self.app.engine(), &self.scope).await;
            admitted.map_err(|refusal| refusal.at_line(self.number))?;
        }
        self.number += 1;
        // Most lines are of a size.
        self.line = line;
        self.line.clear();
        Ok(())
    }
}

/// What stays though the rest was refused.
fn with_kept(mut refusal: Refusal, kept: &[ThreadKey]) -> Refusal {
    if !kept.is_empty() {
        refusal.details.get_or_insert_with(|| json!({}))["threadIds"] = json!(ids(kept));
    }
    refusal
}

fn cut_off() -> Refusal {
    Refusal::input("", "the body was cut off")
}
