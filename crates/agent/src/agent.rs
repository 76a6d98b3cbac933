//! What an agent is.

use crate::capabilities::Capabilities;
use crate::context::RunContext;
use crate::error::AgentError;
use crate::finish::Finish;
use crate::writer::RunWriter;
use async_trait::async_trait;
use std::fmt;
use threadline_protocol::capabilities::AgentCapabilities;

/// An AG-UI agent.
///
/// ```
/// use threadline_agent::{Agent, AgentError, Finish, RunContext, RunWriter, async_trait};
///
/// struct Echo;
///
/// #[async_trait]
/// impl Agent for Echo {
///     async fn run(&self, run: RunContext, writer: RunWriter) -> Result<Finish, AgentError> {
///         let mut answer = writer.text().await?;
///         answer.push("You said: ").await?;
///         answer.push(&run.user_text()).await?;
///         Ok(Finish::done())
///     }
/// }
/// ```
#[async_trait]
pub trait Agent: Send + Sync + 'static {
    /// Runs once: reads what it is asked, writes what it has to say, returns how it ended.
    ///
    /// RUN_STARTED is sent before, RUN_FINISHED or RUN_ERROR after; what was left open is closed. A panic is a failed run.
    ///
    /// When the run is cancelled, writing gives an error, and [`RunWriter::cancelled`] wakes. An agent that does not return
    /// then is aborted a little later.
    async fn run(&self, run: RunContext, writer: RunWriter) -> Result<Finish, AgentError>;

    /// What the agent says of itself. [`Capabilities`] answers everything, with no unless told otherwise.
    fn capabilities(&self) -> AgentCapabilities<'static> {
        Capabilities::new().build()
    }
}

/// An agent that is a closure: see [`agent_fn`].
pub struct FnAgent<F> {
    run: F,
    capabilities: AgentCapabilities<'static>,
}

/// Makes an agent of a closure. It may return `()` for [`Finish::done`].
///
/// ```
/// use threadline_agent::{RunContext, RunWriter, agent_fn};
///
/// let agent = agent_fn(async |_run: RunContext, writer: RunWriter| writer.say("Hello!").await.map_err(Into::into));
/// ```
pub fn agent_fn<F, Fut, T>(run: F) -> FnAgent<F>
where
    F: Fn(RunContext, RunWriter) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, AgentError>> + Send,
    T: Into<Finish>,
{
    FnAgent { run, capabilities: Capabilities::new().build() }
}

impl<F> FnAgent<F> {
    /// The same agent, saying this of itself.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: AgentCapabilities<'static>) -> Self {
        self.capabilities = capabilities;
        self
    }
}

impl<F> fmt::Debug for FnAgent<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnAgent").field("capabilities", &self.capabilities).finish_non_exhaustive()
    }
}

#[async_trait]
impl<F, Fut, T> Agent for FnAgent<F>
where
    F: Fn(RunContext, RunWriter) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, AgentError>> + Send,
    T: Into<Finish>,
{
    async fn run(&self, run: RunContext, writer: RunWriter) -> Result<Finish, AgentError> {
        (self.run)(run, writer).await.map(Into::into)
    }

    fn capabilities(&self) -> AgentCapabilities<'static> {
        self.capabilities.clone()
    }
}
