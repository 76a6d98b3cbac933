//! `GET /v1/changes`: the threads of a scope, then what changes among them.

use super::body;
use super::threads::{schema, shown};
use crate::access::Caller;
use crate::app::App;
use crate::error::{Code, Refusal};
use crate::load::Listening;
use crate::openapi::{Operation, shapes};
use crate::stream::reader::Cut;
use crate::stream::{Encoding, SSE};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::unfold;
use serde_json::{Value, json};
use threadline_log::engine::ThreadChange;
use threadline_log::thread::{ThreadCursor, ThreadOrder, ThreadQuery};
use threadline_log::{Error, Scope};
use threadline_protocol::codec::{encode_comment, encode_frame};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;

/// How many threads are listed at once.
const PAGE: usize = 256;

/// What is said about it.
pub(super) fn about() -> Operation {
    let kinds = shapes::word(&["list", "thread", "listed", "deleted"]);
    let change = shapes::object(&[("type", kinds)], &[("thread", schema()), ("threadId", shapes::id())]);
    Operation::new("The threads, and then what changes among them, live")
        .answers(StatusCode::OK, "Changes, until the server stops.", [(SSE, shapes::frame(change))])
        .reads()
        .refuses(&[Code::InvalidParameter, Code::TooMany])
}

/// The list, and then its changes, for as long as the client stays.
pub(super) async fn changes(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let scope = app.scope(&caller, &headers)?;
    let listening = app.listen(&scope)?;
    // First listen, then look: nothing can fall between.
    let changes = app.engine().changes();
    let mut list = List { app, scope, changes, stage: Stage::Listing(None), _listening: listening };
    // What cannot be begun is refused; what cannot be gone on with is cut off.
    let first = [begin(), list.page(None).await?].concat();
    let frames = unfold((list, Some(first)), async |(mut list, first)| {
        if let Some(first) = first {
            return Some((Ok(first.into()), (list, None)));
        }
        let frames = list.next().await?;
        if frames.is_err() {
            list.stage = Stage::Over;
        }
        Some((frames, (list, None)))
    });
    Ok(body::with_events(Encoding::Sse, Body::from_stream(frames)))
}

/// A client's list.
struct List {
    app: App,
    scope: Scope,
    changes: Receiver<ThreadChange>,
    stage: Stage,
    _listening: Listening,
}

enum Stage {
    /// It is told of the threads behind this one.
    Listing(Option<ThreadCursor>),
    Listed,
    Over,
}

impl List {
    async fn next(&mut self) -> Option<Result<Bytes, Cut>> {
        if self.app.stopping().is_cancelled() {
            return None;
        }
        match &mut self.stage {
            Stage::Listing(after) => {
                let after = after.take();
                Some(self.page(after).await.map_err(Cut::from))
            }
            Stage::Listed => self.changed().await,
            Stage::Over => None,
        }
    }

    /// The next threads of the list.
    async fn page(&mut self, after: Option<ThreadCursor>) -> Result<Bytes, Error> {
        let query = ThreadQuery {
            // Appends are no changes, but what is appended to moves in the other order, and would be missed.
            order: ThreadOrder::Name,
            scope: Some(self.scope.clone()),
            after,
            limit: PAGE,
            ..ThreadQuery::default()
        };
        let threads = self.app.engine().threads(&query).await?;
        let mut frames = Vec::new();
        for thread in &threads {
            frames.extend_from_slice(&frame(&json!({ "type": "thread", "thread": shown(thread) })));
        }
        match threads.last().filter(|_| threads.len() == PAGE) {
            Some(last) => self.stage = Stage::Listing(Some(ThreadCursor::of(last))),
            None => {
                self.stage = Stage::Listed;
                frames.extend_from_slice(&frame(&json!({ "type": "listed" })));
            }
        }
        Ok(frames.into())
    }

    /// The next change, or that there is none.
    async fn changed(&mut self) -> Option<Result<Bytes, Cut>> {
        let stopping = self.app.stopping().clone();
        let silence = self.app.settings().http.keep_alive;
        loop {
            let next = async {
                tokio::select! {
                    change = self.changes.recv() => Some(change),
                    () = stopping.cancelled() => None,
                }
            };
            let change = match silence {
                Some(silence) => match timeout(silence, next).await {
                    Ok(change) => change?,
                    Err(_) => {
                        let mut comment = Vec::new();
                        encode_comment(&mut comment, "keep-alive");
                        return Some(Ok(comment.into()));
                    }
                },
                None => next.await?,
            };
            let thread = match change {
                Ok(ThreadChange::Changed(thread) | ThreadChange::Deleted(thread)) => thread,
                // It has missed some, and is told all of it again.
                Ok(ThreadChange::Missed) | Err(RecvError::Lagged(_)) => {
                    self.stage = Stage::Listing(None);
                    return Some(Ok(begin()));
                }
                Err(RecvError::Closed) => return None,
            };
            if thread.scope != self.scope {
                continue;
            }
            // As it is now, which may be newer than what was told.
            return Some(match self.app.engine().store().thread(&thread).await {
                Ok(info) => Ok(frame(&json!({ "type": "thread", "thread": shown(&info) }))),
                Err(Error::NoThread(_)) => {
                    Ok(frame(&json!({ "type": "deleted", "threadId": thread.thread.as_str() })))
                }
                Err(error) => Err(error.into()),
            });
        }
    }
}

/// Says that a list follows.
fn begin() -> Bytes {
    frame(&json!({ "type": "list" }))
}

fn frame(value: &Value) -> Bytes {
    let mut frame = Vec::new();
    encode_frame(&mut frame, value.to_string().as_bytes(), None);
    frame.into()
}
