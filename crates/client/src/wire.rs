//! A run's events over as many connections as it takes: the edge of [`recovery`](crate::recovery).

use crate::client::{Client, is_no_route};
use crate::recovery::{Decision, Fault, Reason, Recovery, Request};
use crate::refused::Refused;
use crate::routes::with_query;
use crate::{ClientError, ErrorKind, EventStream, Form, SourceEvent, ThreadError};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use std::fmt;
use std::pin::Pin;
use std::time::Duration;
use threadline_protocol::{Envelope, RunAgentInput};
use tokio::time::{Instant, Sleep, sleep};

/// How long the answer may go on after its run has ended. A server that stores what it has said lets its clients know so by
/// ending the answer.
const LINGER: Duration = Duration::from_secs(10);

/// What events are asked for.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) thread: String,
    /// The run, if it is known.
    pub(crate) run: Option<String>,
    /// The request of a run that is to be begun.
    run_body: Option<Bytes>,
    connect_body: Bytes,
}

impl Target {
    /// `request_run` is what the server calls its answer if the thread has no run that goes on.
    fn new(thread: &str, run: Option<&str>, run_body: Option<Bytes>, request_run: &str) -> Self {
        let connect = serde_json::json!({
            "threadId": thread, "runId": request_run, "protocolVersion": "1.0", "messages": [],
        });
        Self {
            thread: thread.to_owned(),
            run: run.map(str::to_owned),
            run_body,
            connect_body: connect.to_string().into(),
        }
    }

    pub(crate) fn of_run(input: &RunAgentInput<'_>) -> Self {
        let run = input.run_id.to_str();
        Self::new(&input.thread_id.to_str(), Some(&run), Some(input.to_json().into()), &run)
    }

    pub(crate) fn of_thread(thread: &str, run: Option<&str>, request_run: &str) -> Self {
        Self::new(thread, run, None, request_run)
    }

    pub(crate) const fn connect_body(&self) -> &Bytes {
        &self.connect_body
    }
}

/// What comes of a run.
#[derive(Debug)]
pub(crate) enum Item {
    Event(SourceEvent),
    /// What follows begins with how things are: what was heard of the run before is in it.
    Restarted,
    /// The connection is gone; it will be tried again.
    Lost {
        error: ClientError,
        after: Duration,
    },
    /// There is no more.
    Over,
}

type Opening = Pin<Box<dyn Future<Output = Result<EventStream, ClientError>> + Send>>;
type Asking = Pin<Box<dyn Future<Output = Result<bool, ClientError>> + Send>>;

/// Where a wire is. What is begun is kept here and not in a future that may be dropped, so that nothing is sent twice.
enum Stage {
    Decided(Decision),
    Waiting(Pin<Box<Sleep>>, Decision),
    Asking(Asking),
    Opening(Opening),
    Open { stream: Box<EventStream>, since: Instant },
    Over,
}

/// Where a run was left.
#[derive(Debug)]
pub(crate) struct Left {
    target: Target,
    recovery: Recovery,
    decision: Decision,
    has_given: bool,
    bytes_left: u64,
}

/// The events of a run.
pub(crate) struct Wire {
    client: Client,
    target: Target,
    recovery: Recovery,
    stage: Stage,
    /// Whether something was given that a restart makes void.
    has_given: bool,
    /// Set once the run has ended: until when the answer may go on.
    linger: Option<Pin<Box<Sleep>>>,
    /// What may still come, over all connections.
    bytes_left: u64,
    /// What happened, until it is known what follows from it.
    error: Option<ClientError>,
}

impl Wire {
    pub(crate) fn run(client: Client, target: Target) -> Self {
        let recovery = Recovery::run(client.inner().recovery.clone());
        Self::new(client, target, recovery)
    }

    pub(crate) fn attach(client: Client, target: Target) -> Self {
        let recovery = Recovery::attach(client.inner().recovery.clone());
        Self::new(client, target, recovery)
    }

    fn new(client: Client, target: Target, recovery: Recovery) -> Self {
        let first = Decision::Try { request: recovery.request().clone(), after: Duration::ZERO };
        let bytes_left = client.inner().endpoint.options.body_bytes_max;
        Self {
            client,
            target,
            recovery,
            stage: Stage::Decided(first),
            has_given: false,
            linger: None,
            bytes_left,
            error: None,
        }
    }

    pub(crate) const fn target(&self) -> &Target {
        &self.target
    }

    pub(crate) const fn client(&self) -> &Client {
        &self.client
    }

    /// The run has ended, or another one has begun behind it.
    pub(crate) fn settle(&mut self, has_ended: bool) {
        self.linger = has_ended.then(|| Box::pin(sleep(LINGER)));
    }

    /// Whether the run has ended.
    pub(crate) const fn is_settled(&self) -> bool {
        self.linger.is_some()
    }

    /// Closes the connection for good.
    pub(crate) fn close(&mut self) {
        self.stage = Stage::Over;
    }

    /// Closes the connection. Gives what it takes to come back to a run that has not ended.
    pub(crate) fn leave(&mut self) -> Option<Left> {
        let decision = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Over => return None,
            _ if self.is_settled() => return None,
            // Nothing was sent.
            Stage::Decided(decision) | Stage::Waiting(_, decision) => decision,
            _ => self.recovery.left(),
        };
        let Self { target, recovery, has_given, bytes_left, .. } = self;
        let (target, recovery) = (target.clone(), recovery.clone());
        Some(Left { target, recovery, decision, has_given: *has_given, bytes_left: *bytes_left })
    }

    /// Comes back to a run that was left.
    pub(crate) fn back(client: Client, left: Left) -> Self {
        let Left { target, recovery, decision, has_given, bytes_left } = left;
        let stage = Stage::Decided(decision);
        Self { client, target, recovery, stage, has_given, linger: None, bytes_left, error: None }
    }

    /// What comes next.
    ///
    /// # Cancel safety
    /// Nothing is lost and nothing is sent twice if the future is dropped.
    pub(crate) async fn next(&mut self) -> Result<Item, ThreadError> {
        loop {
            match &mut self.stage {
                Stage::Over => return Ok(Item::Over),
                Stage::Decided(_) => self.begin()?,
                Stage::Waiting(wait, _) => {
                    wait.await;
                    let Stage::Waiting(_, decision) = std::mem::replace(&mut self.stage, Stage::Over) else {
                        continue;
                    };
                    self.stage = Stage::Decided(decision.at_once());
                }
                Stage::Asking(asking) => {
                    let answer = asking.await;
                    if let Some(item) = self.told(answer) {
                        return Ok(item);
                    }
                }
                Stage::Opening(opening) => match opening.await {
                    Ok(stream) => {
                        self.stage = Stage::Open { stream: Box::new(stream), since: Instant::now() };
                        let is_anew = *self.recovery.request() == Request::Attach;
                        if is_anew && std::mem::take(&mut self.has_given) {
                            return Ok(Item::Restarted);
                        }
                    }
                    Err(error) => {
                        if let Some(item) = self.fail(error, Duration::ZERO) {
                            return Ok(item);
                        }
                    }
                },
                Stage::Open { stream, .. } => {
                    let next = match &mut self.linger {
                        None => stream.next().await,
                        Some(linger) => tokio::select! {
                            next = stream.next() => next,
                            () = linger => None,
                        },
                    };
                    if let Some(item) = self.took(next)? {
                        return Ok(item);
                    }
                }
            }
        }
    }

    /// What to make of something that an answer gave.
    fn took(&mut self, next: Option<Result<SourceEvent, ClientError>>) -> Result<Option<Item>, ThreadError> {
        let Stage::Open { stream, since } = &self.stage else { return Ok(None) };
        let held = since.elapsed();
        match next {
            Some(Ok(event)) => {
                if stream.body_bytes() > self.bytes_left {
                    self.close();
                    let limit = self.client.inner().endpoint.options.body_bytes_max;
                    return Err(ThreadError::Failed { source: ClientError::TooLarge { limit } });
                }
                // The end of a body that has no length may be the end of a connection, in the middle of an event.
                let may_be_cut = stream.is_over() && event.form == Form::Json;
                if may_be_cut && Envelope::read_bytes(&event.bytes).is_err() {
                    return Ok(self.fail(ClientError::Unfinished, held));
                }
                let is_new = self.recovery.heard(stream.cursor());
                self.has_given |= is_new;
                Ok(is_new.then_some(Item::Event(event)))
            }
            Some(Err(error)) => Ok(self.fail(error, held)),
            None => Ok(self.fail(ClientError::Unfinished, held)),
        }
    }

    /// Begins what was decided.
    fn begin(&mut self) -> Result<(), ThreadError> {
        let Stage::Decided(decision) = std::mem::replace(&mut self.stage, Stage::Over) else { return Ok(()) };
        let after = match &decision {
            Decision::Try { after, .. } | Decision::Ask { after } => *after,
            Decision::GiveUp(reason) => {
                return Err(given_up(*reason, self.error.take().unwrap_or(ClientError::Unfinished)));
            }
        };
        if !after.is_zero() {
            self.stage = Stage::Waiting(Box::pin(sleep(after)), decision);
            return Ok(());
        }
        self.stage = match decision {
            Decision::Try { request, .. } => Stage::Opening(self.open(&request)),
            _ => Stage::Asking(self.ask()),
        };
        Ok(())
    }

    fn open(&self, request: &Request) -> Opening {
        let (client, target) = (self.client.clone(), self.target.clone());
        let cursor = match request {
            Request::Run => {
                let body = target.run_body.unwrap_or_default();
                return Box::pin(async move { client.inner().endpoint.run(body, &HeaderMap::new()).await });
            }
            Request::Attach => None,
            Request::Resume(cursor) => HeaderValue::from_str(cursor).ok(),
        };
        let mut headers = HeaderMap::new();
        let path = &client.inner().paths.connect;
        let path = target.run.as_deref().map_or_else(|| path.clone(), |run| with_query(path, "run", run));
        if let Some(cursor) = cursor {
            headers.insert(HeaderName::from_static("last-event-id"), cursor);
        }
        Box::pin(async move { client.inner().endpoint.stream(&path, target.connect_body, &headers).await })
    }

    fn ask(&self) -> Asking {
        let client = self.client.clone();
        Box::pin(async move {
            let capabilities = client.capabilities().await?;
            Ok(capabilities.and_then(|it| it.transport).and_then(|it| it.resumable).unwrap_or(false))
        })
    }

    fn told(&mut self, answer: Result<bool, ClientError>) -> Option<Item> {
        let decision = match answer {
            Ok(is_resumable) => self.recovery.told(is_resumable),
            Err(error) => match error.kind() {
                ErrorKind::Unreachable | ErrorKind::Timeout(_) | ErrorKind::Broken => {
                    self.recovery.not_told(self.client.ambient().random())
                }
                // Whatever answers so is no server that knows what it was asked.
                _ => self.recovery.told(false),
            },
        };
        self.decide(decision)
    }

    /// Goes on after a fault. There is something to tell once it is known that it will be tried again.
    fn fail(&mut self, error: ClientError, held: Duration) -> Option<Item> {
        if let Stage::Open { stream, .. } = &self.stage {
            self.bytes_left = self.bytes_left.saturating_sub(stream.body_bytes());
        }
        if self.is_settled() {
            self.close();
            return Some(Item::Over);
        }
        let refused = Refused::of(&error);
        let code = refused.as_ref().map(|refused| refused.code.as_str());
        // That a path is not known is no word about what was asked for.
        let code = code.filter(|_| !is_no_route(&error));
        let decision = self.recovery.failed(Fault::of(&error, code), held, self.client.ambient().random());
        self.error = Some(error);
        self.decide(decision)
    }

    fn decide(&mut self, decision: Decision) -> Option<Item> {
        let lost = match &decision {
            Decision::Try { after, .. } => self.error.take().map(|error| Item::Lost { error, after: *after }),
            Decision::Ask { .. } | Decision::GiveUp(_) => None,
        };
        self.stage = Stage::Decided(decision);
        lost
    }
}

fn given_up(reason: Reason, source: ClientError) -> ThreadError {
    match reason {
        Reason::NotResumable => ThreadError::NotResumable { source },
        Reason::Exhausted => ThreadError::Exhausted { source },
        Reason::Final => ThreadError::Failed { source },
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").field("target", &self.target.thread).finish_non_exhaustive()
    }
}
