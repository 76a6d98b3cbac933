//! What a request can be refused for: one table of codes and statuses.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value, json};
use threadline_log::Error;

/// After how many seconds a client may ask again, where that makes sense.
const RETRY_AFTER_S: u32 = 1;

/// Why a request was refused. Stable: programs look at these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// There is no agent of this name.
    AgentNotFound,
    /// There is no artifact of the run, and reasons why.
    ArtifactRefused,
    /// The records were replaced by their compaction.
    Compacted,
    /// Stored data is damaged.
    Damaged,
    /// Somebody else writes the run now.
    Fenced,
    /// The caller may not do this.
    Forbidden,
    /// The `Host` header names another server.
    HostNotAllowed,
    /// Something else went wrong here.
    Internal,
    /// The interrupt was answered already.
    InterruptAnswered,
    /// Interrupts are open that the run does not answer.
    InterruptsOpen,
    /// The cursor is not one of ours.
    InvalidCursor,
    /// The body is not what it should be.
    InvalidInput,
    /// A parameter of the query is not what it should be.
    InvalidParameter,
    /// The route does not take this method.
    MethodNotAllowed,
    /// No run of the thread goes on.
    NoActiveRun,
    /// There is no such route.
    NotFound,
    /// The page that calls is of an origin that may not.
    OriginNotAllowed,
    /// It may or may not have been done.
    OutcomeUnknown,
    /// The server has as much to do as it can.
    Overloaded,
    /// The caller keeps as much as it may.
    QuotaExceeded,
    /// Requests come faster than they may.
    RateLimited,
    /// The body did not come in time.
    RequestTimeout,
    /// The body is larger than it may be.
    RequestTooLarge,
    /// The run that the new one would continue goes on.
    RunActive,
    /// The run is over.
    RunEnded,
    /// The run id is taken by another request.
    RunIdReused,
    /// There is no such run.
    RunNotFound,
    /// Several runs of the thread go on.
    SeveralActiveRuns,
    /// The server is about to stop.
    ShuttingDown,
    /// The snapshot is larger than an event may be.
    SnapshotTooLarge,
    /// The store takes no writes, or cannot be reached.
    StoreUnavailable,
    /// The tail of the thread is not where the request says.
    TailMoved,
    /// There is a thread of this id already.
    ThreadExists,
    /// There is no such thread.
    ThreadNotFound,
    /// The thread was deleted, or deleted and made anew.
    ThreadReplaced,
    /// The caller has as many as it may have.
    TooMany,
    /// The records were removed by retention.
    Trimmed,
    /// It is not known who is calling.
    Unauthorized,
    /// The body is not JSON by its content type.
    UnsupportedMediaType,
    /// The route is a WebSocket.
    UpgradeRequired,
}

impl Code {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// The status that goes with it.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        self.row().1
    }

    const fn row(self) -> (&'static str, StatusCode) {
        match self {
            Self::AgentNotFound => ("agent_not_found", StatusCode::NOT_FOUND),
            Self::ArtifactRefused => ("artifact_refused", StatusCode::UNPROCESSABLE_ENTITY),
            Self::Compacted => ("compacted", StatusCode::GONE),
            Self::Damaged => ("damaged", StatusCode::INTERNAL_SERVER_ERROR),
            Self::Fenced => ("fenced", StatusCode::CONFLICT),
            Self::Forbidden => ("forbidden", StatusCode::FORBIDDEN),
            Self::HostNotAllowed => ("host_not_allowed", StatusCode::FORBIDDEN),
            Self::Internal => ("internal", StatusCode::INTERNAL_SERVER_ERROR),
            Self::InterruptAnswered => ("interrupt_answered", StatusCode::CONFLICT),
            Self::InterruptsOpen => ("interrupts_open", StatusCode::CONFLICT),
            Self::InvalidCursor => ("invalid_cursor", StatusCode::BAD_REQUEST),
            Self::InvalidInput => ("invalid_input", StatusCode::BAD_REQUEST),
            Self::InvalidParameter => ("invalid_parameter", StatusCode::BAD_REQUEST),
            Self::MethodNotAllowed => ("method_not_allowed", StatusCode::METHOD_NOT_ALLOWED),
            Self::NoActiveRun => ("no_active_run", StatusCode::CONFLICT),
            Self::NotFound => ("not_found", StatusCode::NOT_FOUND),
            Self::OriginNotAllowed => ("origin_not_allowed", StatusCode::FORBIDDEN),
            Self::OutcomeUnknown => ("outcome_unknown", StatusCode::SERVICE_UNAVAILABLE),
            Self::Overloaded => ("overloaded", StatusCode::SERVICE_UNAVAILABLE),
            Self::QuotaExceeded => ("quota_exceeded", StatusCode::FORBIDDEN),
            Self::RateLimited => ("rate_limited", StatusCode::TOO_MANY_REQUESTS),
            Self::RequestTimeout => ("request_timeout", StatusCode::REQUEST_TIMEOUT),
            Self::RequestTooLarge => ("request_too_large", StatusCode::PAYLOAD_TOO_LARGE),
            Self::RunActive => ("run_active", StatusCode::CONFLICT),
            Self::RunEnded => ("run_ended", StatusCode::CONFLICT),
            Self::RunIdReused => ("run_id_reused", StatusCode::CONFLICT),
            Self::RunNotFound => ("run_not_found", StatusCode::NOT_FOUND),
            Self::SeveralActiveRuns => ("several_active_runs", StatusCode::CONFLICT),
            Self::ShuttingDown => ("shutting_down", StatusCode::SERVICE_UNAVAILABLE),
            Self::SnapshotTooLarge => ("snapshot_too_large", StatusCode::UNPROCESSABLE_ENTITY),
            Self::StoreUnavailable => ("store_unavailable", StatusCode::SERVICE_UNAVAILABLE),
            Self::TailMoved => ("tail_moved", StatusCode::CONFLICT),
            Self::ThreadExists => ("thread_exists", StatusCode::CONFLICT),
            Self::ThreadNotFound => ("thread_not_found", StatusCode::NOT_FOUND),
            Self::ThreadReplaced => ("thread_replaced", StatusCode::GONE),
            Self::TooMany => ("too_many", StatusCode::TOO_MANY_REQUESTS),
            Self::Trimmed => ("trimmed", StatusCode::GONE),
            Self::Unauthorized => ("unauthorized", StatusCode::UNAUTHORIZED),
            Self::UnsupportedMediaType => ("unsupported_media_type", StatusCode::UNSUPPORTED_MEDIA_TYPE),
            Self::UpgradeRequired => ("upgrade_required", StatusCode::UPGRADE_REQUIRED),
        }
    }
}

/// A refusal.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// Why.
    pub code: Code,
    /// The same for people.
    pub message: String,
    /// What a program may want to know beside the code.
    pub details: Option<Value>,
}

impl Refusal {
    /// For this reason.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: None }
    }

    /// Bad input, with the place that is wrong.
    pub fn input(pointer: &str, message: impl Into<String>) -> Self {
        Self::new(Code::InvalidInput, message).with_details(json!({ "pointer": pointer }))
    }

    /// About a line of the body.
    #[must_use]
    pub fn at_line(mut self, number: u64) -> Self {
        self.message = format!("line {number}: {}", self.message);
        self.details.get_or_insert_with(|| json!({}))["line"] = number.into();
        self
    }

    /// With something for programs.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let (code, details) = match &error {
            Error::NoThread(_) => (Code::ThreadNotFound, None),
            Error::NoRun(_) => (Code::RunNotFound, None),
            Error::ThreadExists(key) => {
                (Code::ThreadExists, Some(json!({ "threadId": key.thread.as_str() })))
            }
            Error::RunIdReused(run) => (Code::RunIdReused, Some(json!({ "runId": run.as_str() }))),
            Error::RunActive(run) => (Code::RunActive, Some(json!({ "runId": run.as_str() }))),
            Error::RunEnded(run) => (Code::RunEnded, Some(json!({ "runId": run.as_str() }))),
            Error::Fenced { .. } => (Code::Fenced, None),
            Error::TailMoved { actual, .. } => (Code::TailMoved, Some(json!({ "tail": actual }))),
            Error::InterruptAnswered { interrupt, run } => {
                let details = json!({ "interruptId": interrupt, "runId": run.as_str() });
                (Code::InterruptAnswered, Some(details))
            }
            Error::InterruptsOpen(open) => (Code::InterruptsOpen, Some(json!({ "interruptIds": open }))),
            Error::Trimmed { first, .. } => (Code::Trimmed, Some(json!({ "first": first }))),
            Error::Compacted { run, .. } => (Code::Compacted, Some(json!({ "runId": run.as_str() }))),
            Error::OtherIncarnation(_) => (Code::ThreadReplaced, None),
            Error::BeyondTail { .. } => (Code::InvalidParameter, None),
            Error::NameTooLong { .. } | Error::Invalid(_) => (Code::InvalidInput, None),
            Error::TooLarge { .. } => (Code::RequestTooLarge, None),
            Error::Unavailable(_) | Error::RunsChanged | Error::ThreadChanged(_) => {
                (Code::StoreUnavailable, None)
            }
            Error::Indeterminate(_) => (Code::OutcomeUnknown, None),
            Error::Corrupt { .. } => (Code::Damaged, None),
            _ => (Code::Internal, None),
        };
        // Files and the like are for the log of the server, not for its clients.
        let message = match code {
            Code::Damaged => "stored data is damaged".to_owned(),
            Code::StoreUnavailable => {
                "the store cannot be reached or takes no writes at the moment".to_owned()
            }
            Code::OutcomeUnknown => "it is not known whether this was done".to_owned(),
            Code::Internal => "something went wrong in the server".to_owned(),
            _ => error.to_string(),
        };
        if code.status().is_server_error() {
            tracing::error!(code = code.name(), %error, "a request failed");
        }
        Self { code, message, details }
    }
}

/// The body of an answer that refuses. Written as it is: whoever is refused is often one of many.
#[derive(Serialize)]
struct Told<'a> {
    error: Reason<'a>,
}

#[derive(Serialize)]
struct Reason<'a> {
    code: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a Value>,
}

impl Refusal {
    fn told(&self) -> Told<'_> {
        let Self { code, message, details } = self;
        Told { error: Reason { code: code.name(), message, details: details.as_ref() } }
    }

    /// The body of the answer.
    pub(crate) fn body(&self) -> Value {
        json!(self.told())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.code.status(), Json(self.told())).into_response();
        if matches!(self.code.status(), StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_S));
        }
        response.extensions_mut().insert(self.code);
        if self.code == Code::Unauthorized {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if self.code == Code::UpgradeRequired {
            response.headers_mut().insert(header::UPGRADE, HeaderValue::from_static("websocket"));
            response.headers_mut().insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        }
        response
    }
}
