//! Running an agent.

use crate::agent::Agent;
use crate::context::RunContext;
use crate::error::AgentError;
use crate::finish::Finish;
use crate::options::RunOptions;
use crate::outlet::{End, Outlet, RunEvent, Waiting};
use crate::writer::RunWriter;
use futures_core::Stream;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use threadline_protocol::RunAgentInput;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinHandle};

/// Runs an agent: RUN_STARTED, what the agent writes, and RUN_FINISHED or RUN_ERROR, exactly once. The stream is legal,
/// whatever the agent does.
///
/// The agent runs in a task of its own, as far ahead of the reader as [`RunOptions::with_waiting_max`] allows. Dropping the
/// [`Run`] cancels it.
///
/// ```
/// use std::sync::Arc;
/// use threadline_agent::{RunContext, RunOptions, RunWriter, agent_fn, run_agent};
/// use threadline_protocol::RunAgentInput;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let agent = agent_fn(async |_run: RunContext, writer: RunWriter| {
///     writer.say("Hello!").await?;
///     Ok(())
/// });
/// let mut run = run_agent(Arc::new(agent), RunAgentInput::new("t1", "r1", vec![]), RunOptions::new());
/// while let Some(event) = run.next().await {
///     println!("{}", String::from_utf8_lossy(event.json()));
/// }
/// # });
/// ```
///
/// # Panics
/// Outside of a tokio runtime, which must have time enabled.
#[must_use]
pub fn run_agent(agent: Arc<dyn Agent>, input: RunAgentInput<'static>, options: RunOptions) -> Run {
    let (outlet, events) = Outlet::start(&input, options);
    tokio::spawn(drive(agent, RunContext::new(input), Arc::clone(&outlet)));
    Run { events, outlet }
}

/// A run: a stream of its events. Dropping it cancels the run.
#[derive(Debug)]
pub struct Run {
    events: mpsc::UnboundedReceiver<Waiting>,
    outlet: Arc<Outlet>,
}

impl Run {
    /// The next event; none after the last one.
    ///
    /// # Cancel safety
    /// No event is lost if the future is dropped.
    pub async fn next(&mut self) -> Option<RunEvent> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Cancels the run. It ends soon, with its outcome saying so, unless it has ended otherwise by then.
    pub fn cancel(&self) {
        self.outlet.cancel();
    }

    /// Something that can cancel the run from elsewhere.
    #[must_use]
    pub fn canceller(&self) -> Canceller {
        Canceller { outlet: Arc::clone(&self.outlet) }
    }
}

/// Cancels a run from elsewhere than where it is read.
#[derive(Clone, Debug)]
pub struct Canceller {
    outlet: Arc<Outlet>,
}

impl Canceller {
    /// Cancels the run, as [`Run::cancel`] does. Nothing happens if it has ended.
    pub fn cancel(&self) {
        self.outlet.cancel();
    }
}

impl Stream for Run {
    type Item = RunEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<RunEvent>> {
        self.events.poll_recv(context).map(|waiting| waiting.map(|waiting| waiting.event))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.outlet.cancel();
    }
}

/// Runs the agent to its end, which may be its own, a panic, or that it was given up after it was cancelled.
async fn drive(agent: Arc<dyn Agent>, run: RunContext, outlet: Arc<Outlet>) {
    let writer = RunWriter::new(Arc::clone(&outlet));
    let mut task = tokio::spawn(async move { agent.run(run, writer).await });
    let end = tokio::select! {
        returned = &mut task => end(returned, &outlet),
        () = outlet.cancelled() => given_up(&mut task, &outlet).await,
    };
    outlet.finish(end);
}

/// Waits a while for an agent that was asked to stop.
async fn given_up(task: &mut JoinHandle<Result<Finish, AgentError>>, outlet: &Outlet) -> End {
    match tokio::time::timeout(outlet.cancel_grace(), &mut *task).await {
        Ok(returned) => end(returned, outlet),
        Err(_elapsed) => {
            task.abort();
            End::Cancelled
        }
    }
}

fn end(returned: Result<Result<Finish, AgentError>, JoinError>, outlet: &Outlet) -> End {
    match returned {
        Ok(Ok(finish)) => End::Finished(finish),
        Ok(Err(_stopped)) if outlet.is_cancelled() => End::Cancelled,
        Ok(Err(error)) => {
            End::Failed { message: error.message().to_owned(), code: error.code().map(str::to_owned) }
        }
        // What a panic says is for the agent's author, who finds it on standard error.
        Err(error) if error.is_panic() => {
            End::Failed { message: "the agent panicked".to_owned(), code: Some("panicked".to_owned()) }
        }
        Err(_aborted) => End::Cancelled,
    }
}
