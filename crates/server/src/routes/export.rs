//! `GET /v1/threads/{thread}/export`: a thread as lines of JSON, of any size.

use super::body;
use super::parameters::{Name, Parameters};
use crate::access::Caller;
use crate::app::App;
use crate::error::{Code, Refusal};
use crate::input::run_of_query;
use crate::openapi::{Operation, shapes};
use crate::stream::reader::Cut;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use serde::Deserialize;
use threadline_log::transfer::{ExportForm, Exporter};
use tokio_util::sync::CancellationToken;

/// What a request may say in its query.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Options {
    #[serde(default)]
    form: Form,
    /// Only this run.
    run: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Form {
    #[default]
    Raw,
    Compact,
    Snapshot,
}

/// What is said about it.
pub(super) fn about() -> Operation {
    let forms = shapes::word(&["raw", "compact", "snapshot"]);
    Operation::new("All of a thread, as lines of JSON")
        .query(
            "form",
            "Every record as it came, which is what import takes; or AG-UI events, compacted.",
            forms,
        )
        .query("run", "Only this run, in the compact form.", shapes::id())
        .answers(
            StatusCode::OK,
            "Lines; the first one of the raw form says how many.",
            [(body::LINES[0], shapes::lines())],
        )
        .reads()
        .refuses(&[Code::ThreadNotFound, Code::RunNotFound])
}

/// A thread, a part at a time.
pub(super) async fn export(
    State(app): State<App>,
    caller: Caller,
    Name(thread): Name,
    Parameters(options): Parameters<Options>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let thread = app.thread_named(&caller, &headers, &thread)?;
    let form = match options.form {
        Form::Raw => ExportForm::Raw,
        Form::Compact => ExportForm::Compact,
        Form::Snapshot => ExportForm::Snapshot,
    };
    let mut exporter = app.engine().export(&thread, form).await?;
    if let Some(run) = &options.run {
        if form != ExportForm::Compact {
            return Err(Refusal::new(Code::InvalidParameter, "run is for the compact form"));
        }
        exporter = exporter.with_run(app.engine().run_named(&thread, &run_of_query(run)?).await?.no);
    }
    // What cannot be begun is refused; what cannot be gone on with is cut off.
    let first = exporter.next().await?;
    let parts = Parts { exporter, first, stopping: app.stopping().clone(), is_cut: false };
    let body = Body::from_stream(unfold(parts, async |mut parts| {
        let lines = parts.next().await?;
        parts.is_cut = lines.is_err();
        Some((lines, parts))
    }));
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson"), (header::CACHE_CONTROL, "no-store")], body)
        .into_response())
}

/// What is left of an export.
struct Parts {
    exporter: Exporter,
    first: Option<Vec<u8>>,
    stopping: CancellationToken,
    is_cut: bool,
}

impl Parts {
    async fn next(&mut self) -> Option<Result<Bytes, Cut>> {
        if self.is_cut {
            return None;
        }
        if self.stopping.is_cancelled() {
            return Some(Err(Cut::Stopping));
        }
        if let Some(first) = self.first.take() {
            return Some(Ok(first.into()));
        }
        match self.exporter.next().await {
            Ok(lines) => lines.map(|lines| Ok(lines.into())),
            Err(error) => {
                tracing::warn!(%error, "an export was cut off");
                Some(Err(error.into()))
            }
        }
    }
}
