//! A thread as a client holds it, and its runs.

use crate::client::Client;
use crate::interrupts::cover;
use crate::run_events::{is_of_another_time, note_ends};
use crate::subscriber::Touched;
use crate::wire::{Item, Left, Target, Wire};
use crate::{CancelAnswer, ClientError, InterruptError, Subscriber, ThreadError, Turn};
use threadline_protocol::Event;
use threadline_protocol::stages::consumer::{Consumer, Stop};
use threadline_protocol::stages::fold::{Fold, RunStatus};

/// A thread: messages, state and what is pending, kept up to date by its runs.
///
/// Events go through the stages of the protocol on their way: those of 0.x are translated, what 1.0 does not know is left out, chunks are expanded, and
/// streams that break the rules are refused.
///
/// ```no_run
/// use threadline_client::{Client, ClientOptions, Progress, Subscriber, Thread, Turn};
/// use threadline_protocol::Event;
///
/// struct Printer;
///
/// impl Subscriber for Printer {
///     fn event(&mut self, event: &Event<'_>) {
///         if let Event::TextMessageContent(content) = event {
///             print!("{}", content.delta.to_str());
///         }
///     }
/// }
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::new("http://localhost:8000/agui", ClientOptions::default())?;
/// let mut thread = Thread::new(&client, "t1");
/// // What was said before, by whomever; if a run goes on, to its end.
/// thread.connect(None).finish(&mut Printer).await?;
/// // A run that can be stopped while it is read.
/// let (mut printer, mut run) = (Printer, thread.run(Turn::say("slow"))?);
/// loop {
///     tokio::select! {
///         progress = run.advance(&mut printer) => {
///             if let Progress::Over(end) = progress? {
///                 println!("{}", end.status.as_text());
///                 break;
///             }
///         }
///         _ = tokio::time::sleep(std::time::Duration::from_secs(1)) => {
///             run.cancel().await?;
///         }
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Thread {
    client: Client,
    id: String,
    consumer: Consumer,
    /// The run that was left, if one was.
    left: Option<Left>,
    /// What its last end says about another run.
    told_status: Option<RunStatus<'static>>,
}

/// A run that is read.
///
/// Dropping it closes the connection. On a server that keeps runs the run goes on, and [`Thread::resume`] comes back to it; others take it for
/// cancelled.
#[derive(Debug)]
pub struct Run<'t> {
    thread: &'t mut Thread,
    wire: Wire,
    touched: Touched,
}

/// How far a run has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There may be more.
    Going,
    /// There is no more.
    Over(RunEnd),
}

/// How a run ended. What waits for an answer is in what the thread holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEnd {
    /// The run. `None` if the server never said.
    pub run_id: Option<String>,
    /// How it ended: `Running` if it was left.
    pub status: RunStatus<'static>,
    /// What went wrong, if it failed.
    pub message: Option<String>,
    /// The same for programs.
    pub code: Option<String>,
}

/// What became of the wish to stop a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// The server knows; the run's last events follow.
    Told(CancelAnswer),
    /// The server has no way to be told. The connection is closed, which most agents take for the end.
    Closed,
}

impl Thread {
    /// A thread that holds nothing yet.
    #[must_use]
    pub fn new(client: &Client, id: impl Into<String>) -> Self {
        Self::holding(client, id, Fold::new())
    }

    /// A thread that holds something already, such as a [history](Client::history).
    #[must_use]
    pub fn holding(client: &Client, id: impl Into<String>, held: Fold) -> Self {
        Self {
            client: client.clone(),
            id: id.into(),
            consumer: Consumer::new(held),
            left: None,
            told_status: None,
        }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What it holds.
    #[must_use]
    pub const fn held(&self) -> &Fold {
        self.consumer.fold()
    }

    /// Begins a run. Nothing is sent before it is read.
    ///
    /// # Errors
    /// If questions of the last run are not all answered, or in a way that is too late. Nothing has happened then.
    pub fn run(&mut self, turn: Turn) -> Result<Run<'_>, InterruptError> {
        cover(self.held().interrupts(), turn.resume(), self.client.ambient().now_ms())?;
        self.begin_stream();
        let input = turn.into_input(&self.id, self.consumer.fold_mut(), self.client.ambient());
        let wire = Wire::run(self.client.clone(), Target::of_run(&input));
        Ok(self.reading(wire))
    }

    /// Attaches: what the thread holds at the server, and the rest of the run that goes on, or of the one that is named.
    pub fn connect(&mut self, run: Option<&str>) -> Run<'_> {
        self.begin_stream();
        let wire = self.client.attach(&self.id, run);
        self.reading(wire)
    }

    /// Goes on with a run that was left. `None` if there is none.
    pub fn resume(&mut self) -> Option<Run<'_>> {
        let wire = Wire::back(self.client.clone(), self.left.take()?);
        Some(self.reading(wire))
    }

    fn reading(&mut self, wire: Wire) -> Run<'_> {
        Run { thread: self, wire, touched: Touched::default() }
    }

    /// What was seen of one stream says nothing about the next.
    fn begin_stream(&mut self) {
        (self.left, self.told_status) = (None, None);
        let held = std::mem::replace(&mut self.consumer, Consumer::new(Fold::new()));
        self.consumer = Consumer::new(held.into_fold());
    }

    fn end(&self, wire: &Wire) -> RunEnd {
        let last = self.held().runs().last().filter(|_| wire.is_settled());
        let Some(last) = last else {
            return RunEnd {
                run_id: wire.target().run.clone(),
                status: RunStatus::Running,
                message: None,
                code: None,
            };
        };
        let text = |text: &Option<threadline_protocol::Text<'static>>| text.as_ref().map(ToString::to_string);
        RunEnd {
            run_id: wire.target().run.clone().or_else(|| text(&last.run_id)),
            status: self.told_status.clone().unwrap_or_else(|| last.status.clone()),
            message: text(&last.message),
            code: text(&last.code),
        }
    }
}

impl Run<'_> {
    /// What the thread holds so far.
    #[must_use]
    pub const fn held(&self) -> &Fold {
        self.thread.held()
    }

    /// The id of the run, if it is known yet.
    #[must_use]
    pub fn id(&self) -> Option<String> {
        let started =
            || self.held().runs().last().and_then(|run| run.run_id.as_ref()).map(ToString::to_string);
        self.wire.target().run.clone().or_else(started)
    }

    /// Takes what comes next, and tells the subscriber. Where a connection is lost, coming back to the run is a part of it.
    ///
    /// # Errors
    /// If the server refuses or cannot be heard any more, or breaks the protocol. What is held is what was heard before.
    ///
    /// # Cancel safety
    /// Nothing is lost and nothing is sent twice if the future is dropped: the next call goes on.
    pub async fn advance<S: Subscriber + ?Sized>(
        &mut self,
        subscriber: &mut S,
    ) -> Result<Progress, ThreadError> {
        match self.wire.next().await? {
            Item::Over => return Ok(Progress::Over(self.thread.end(&self.wire))),
            Item::Lost { error, after } => subscriber.lost(&error, after),
            Item::Restarted => {
                self.thread.begin_stream();
                subscriber.restarted();
            }
            Item::Event(event) if is_of_another_time(event.form, &event.bytes) => {}
            Item::Event(event) => {
                if let Err(stop) = self.apply(&event.bytes, subscriber) {
                    self.wire.close();
                    return Err(stop.into());
                }
            }
        }
        Ok(Progress::Going)
    }

    fn apply<S: Subscriber + ?Sized>(&mut self, json: &[u8], subscriber: &mut S) -> Result<(), Stop> {
        let unreadable =
            |error: std::str::Utf8Error| Stop { rule: "unreadable", message: error.to_string(), position: 0 };
        let json = str::from_utf8(json).map_err(unreadable)?;
        subscriber.received(json);
        let Self { thread, wire, touched } = self;
        let revision = thread.held().revision();
        let told_status = &mut thread.told_status;
        let result = thread.consumer.push(json, |event| {
            note_ends(wire, event);
            if let Event::RunFinished(finished) = event {
                *told_status = status_of_another(finished.metadata.as_ref());
            }
            touched.note(event);
            subscriber.event(event);
        });
        for notice in thread.consumer.take_notices() {
            subscriber.notice(&notice);
        }
        if let Some(changes) = touched.take(thread.held(), revision) {
            subscriber.changed(&changes, thread.held());
        }
        result
    }

    /// Reads to the end.
    ///
    /// # Errors
    /// As [`advance`](Self::advance).
    ///
    /// # Cancel safety
    /// Dropping the future leaves the run, and [`Thread::resume`] comes back to it.
    pub async fn finish<S: Subscriber + ?Sized>(mut self, subscriber: &mut S) -> Result<RunEnd, ThreadError> {
        loop {
            if let Progress::Over(end) = self.advance(subscriber).await? {
                return Ok(end);
            }
        }
    }

    /// Stops the run. Its last events follow, if the server can be told; read on.
    ///
    /// # Errors
    /// If the server cannot be reached or refuses. The run goes on.
    ///
    /// # Cancel safety
    /// The server may have been told.
    pub async fn cancel(&mut self) -> Result<Cancelled, ClientError> {
        let run = self.id();
        match self.wire.client().cancel(&self.thread.id, run.as_deref()).await? {
            Some(answer) => Ok(Cancelled::Told(answer)),
            None => {
                self.wire.close();
                Ok(Cancelled::Closed)
            }
        }
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.thread.left = self.wire.leave();
    }
}

/// Where nothing goes on, a Threadline server answers under the request's own run id, and says beside it how the run ended that was asked for.
fn status_of_another(
    metadata: Option<&threadline_protocol::metadata::Metadata<'_>>,
) -> Option<RunStatus<'static>> {
    let metadata: serde_json::Value = metadata?.as_object().as_json().deserialize().ok()?;
    match metadata.get("threadline")?.get("status")?.as_str()? {
        "finished" => Some(RunStatus::Success),
        "interrupted" => Some(RunStatus::Interrupted),
        "cancelled" => Some(RunStatus::Cancelled),
        "failed" | "abandoned" => Some(RunStatus::Failed),
        _ => None,
    }
}
