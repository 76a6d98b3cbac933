//! An agent, and everything that can be asked of it.

use crate::ambient::{Ambient, System, new_id};
use crate::refused::Refused;
use crate::routes::{Paths, with_query};
use crate::wire::{Target, Wire};
use crate::{
    Answer, ClientError, Endpoint, EndpointError, EndpointOptions, Form, Payload, Proxy, RecoveryOptions,
    Routes, RunEvents, ThreadError,
};
use http::{HeaderMap, Method, StatusCode};
use std::sync::Arc;
use threadline_protocol::RunAgentInput;
use threadline_protocol::capabilities::AgentCapabilities;
use threadline_protocol::stages::consumer::Consumer;
use threadline_protocol::stages::fold::Fold;

/// The largest answer to `cancel`.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// How to talk to an agent, and what to do when it cannot be heard.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Headers, limits and timeouts. `body_bytes_max` bounds what comes of a run over all of its connections.
    pub endpoint: EndpointOptions,
    /// Whether to take the proxy that the environment names, if `endpoint` has none. True.
    pub proxy_of_environment: bool,
    /// How hard to try to get back to a run.
    pub recovery: RecoveryOptions,
    /// Where the server has what goes with the agent.
    pub routes: Routes,
    /// Time and chance.
    pub ambient: Arc<dyn Ambient>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            endpoint: EndpointOptions::default(),
            proxy_of_environment: true,
            recovery: RecoveryOptions::default(),
            routes: Routes::default(),
            ambient: Arc::new(System),
        }
    }
}

/// An AG-UI agent at a URL, behind a Threadline server or any other. Cheap to clone.
///
/// ```no_run
/// use threadline_client::{Client, ClientOptions, Quiet, Thread, Turn};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::new("http://localhost:8000/agui", ClientOptions::default())?;
/// let mut thread = Thread::new(&client, "t1");
/// let end = thread.run(Turn::say("hello"))?.finish(&mut Quiet).await?;
/// println!("{}: {} messages", end.status.as_text(), thread.held().messages().len());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Client(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) endpoint: Endpoint,
    pub(crate) paths: Paths,
    pub(crate) recovery: RecoveryOptions,
    pub(crate) ambient: Arc<dyn Ambient>,
}

/// How a run stood when it was cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelAnswer {
    /// The run.
    pub run_id: Option<String>,
    /// How it ended, in the server's words; a run that had ended before keeps its status.
    pub status: Option<String>,
}

impl Client {
    /// A client for the agent at `url`.
    ///
    /// # Errors
    /// As [`Endpoint::new`], and if the environment names a proxy that cannot be one.
    pub fn new(url: &str, options: ClientOptions) -> Result<Self, EndpointError> {
        let ClientOptions { mut endpoint, proxy_of_environment, recovery, routes, ambient } = options;
        if endpoint.proxy.is_none() && proxy_of_environment {
            endpoint.proxy = Proxy::of_environment(url, |name| std::env::var(name).ok())?;
        }
        let endpoint = Endpoint::new(url, endpoint)?;
        let paths = Paths::of(&endpoint.address, &routes)?;
        Ok(Self(Arc::new(Inner { endpoint, paths, recovery, ambient })))
    }

    /// Begins a run, and gives its events as they are: read and typed, not judged. What the request says is up to the caller; its body is
    /// made once, so that the same bytes are sent again where they are.
    #[must_use]
    pub fn run(&self, input: &RunAgentInput<'_>) -> RunEvents {
        RunEvents::new(Wire::run(self.clone(), Target::of_run(input)))
    }

    /// Attaches to a thread, or to one of its runs: how things are, and the rest of a run that goes on.
    #[must_use]
    pub fn connect(&self, thread: &str, run: Option<&str>) -> RunEvents {
        RunEvents::new(self.attach(thread, run))
    }

    pub(crate) fn attach(&self, thread: &str, run: Option<&str>) -> Wire {
        Wire::attach(self.clone(), Target::of_thread(thread, run, &new_id(self.ambient())))
    }

    /// What the agent says of itself, or `None` if it says nothing.
    ///
    /// # Errors
    /// If it cannot be reached, refuses, or says something that makes no sense.
    ///
    /// # Cancel safety
    /// Nothing has an effect.
    pub async fn capabilities(&self) -> Result<Option<AgentCapabilities<'static>>, ClientError> {
        let Inner { endpoint, paths, .. } = &*self.0;
        let Some(document) = endpoint.capabilities_at(&paths.capabilities, &HeaderMap::new()).await? else {
            return Ok(None);
        };
        let wrong = |source| ClientError::Capabilities { source };
        let text = str::from_utf8(&document).map_err(|source| wrong(source.into()))?;
        let (capabilities, _departures) =
            AgentCapabilities::read_json(text).map_err(|source| wrong(source.into()))?;
        Ok(Some(capabilities.into_owned()))
    }

    /// Stops a run, or the only one of the thread that goes on. `None` if the server has no such route: closing the connection is then all
    /// that can be done.
    ///
    /// # Errors
    /// If the server cannot be reached or refuses.
    ///
    /// # Cancel safety
    /// The server may have seen the request.
    pub async fn cancel(&self, thread: &str, run: Option<&str>) -> Result<Option<CancelAnswer>, ClientError> {
        let mut body = serde_json::json!({ "threadId": thread });
        if let Some(run) = run {
            body["runId"] = run.into();
        }
        let payload = Payload::Json(body.to_string().into());
        let answer = match self.0.endpoint.ask_at(Method::POST, &self.0.paths.cancel, payload).await {
            Ok(answer) => answer,
            Err(error) if is_no_route(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        Answer::all(answer, ANSWER_BYTES_MAX).await.map(|bytes| {
            let said: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
            let text = |name: &str| said.get(name).and_then(|value| value.as_str()).map(str::to_owned);
            Some(CancelAnswer { run_id: text("runId"), status: text("status") })
        })
    }

    /// What a thread holds, or held at the end of one of its runs: messages, state, and questions that wait for an answer. During a run, it
    /// is what was said so far.
    ///
    /// # Errors
    /// If the server cannot be reached or refuses, has no such route, or says something else than a history.
    ///
    /// # Cancel safety
    /// Nothing has an effect.
    pub async fn history(&self, thread: &str, run: Option<&str>) -> Result<Fold, ThreadError> {
        let target = Target::of_thread(thread, None, &new_id(self.ambient()));
        let mut path = with_query(&self.0.paths.history, "state", "true");
        if let Some(run) = run {
            path = with_query(&path, "run", run);
        }
        let stream = self.0.endpoint.stream(&path, target.connect_body().clone(), &HeaderMap::new()).await;
        let mut stream = stream.map_err(|source| match is_no_route(&source) {
            true => ThreadError::NotResumable { source },
            false => ThreadError::Failed { source },
        })?;
        let mut consumer = Consumer::new(Fold::new());
        while let Some(event) = stream.next().await {
            let event = event.map_err(|source| ThreadError::Failed { source })?;
            if event.form != Form::Undecodable {
                consumer.push(&String::from_utf8_lossy(&event.bytes), |_| {})?;
            }
        }
        Ok(consumer.into_fold())
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    pub(crate) fn ambient(&self) -> &dyn Ambient {
        &*self.0.ambient
    }
}

/// Whether a server does not know the path at all.
pub(crate) fn is_no_route(error: &ClientError) -> bool {
    let ClientError::Status { status, .. } = error else { return false };
    let is_unknown = matches!(
        *status,
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED
    );
    is_unknown
        && Refused::of(error)
            .is_none_or(|refused| refused.code == "not_found" || refused.code == "method_not_allowed")
}
