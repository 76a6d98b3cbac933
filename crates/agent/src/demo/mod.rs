//! An agent without a model, to try things with. It does the same each time, and shows every family of events.

mod approval;
mod client_tool;
mod scenes;

use crate::agent::Agent;
use crate::capabilities::Capabilities;
use crate::context::RunContext;
use crate::error::AgentError;
use crate::finish::Finish;
use crate::writer::RunWriter;
use async_trait::async_trait;
use scenes::Scene;
use std::time::Duration;
use threadline_protocol::capabilities::AgentCapabilities;
use threadline_protocol::run::Tool;

/// An agent without a model: what it does is chosen by the first of its words in what the user says.
///
/// | word | what it shows |
/// |---|---|
/// | `hello` | a text message, piece by piece, and a custom event |
/// | `think` | reasoning before an answer |
/// | `tool` | a tool of the agent's own, with arguments piece by piece |
/// | `ask` | a tool of the client's; its result is repeated in the next run |
/// | `state` | shared state that counts visits |
/// | `activity` | a plan that changes while it is carried out |
/// | `steps` | a run in three steps |
/// | `team` | a subagent |
/// | `approve` | an interrupt; the next run says what was answered |
/// | `fail` | a run that fails in the middle of a sentence |
/// | `slow` | sixty pieces in six seconds |
/// | `help` | the words; so does everything else |
#[derive(Clone, Copy, Debug)]
pub struct Demo {
    interval: Duration,
}

impl Demo {
    /// As it is by default.
    #[must_use]
    pub const fn new() -> Self {
        Self { interval: Duration::from_millis(100) }
    }

    /// How long `slow` waits between its pieces: 100 ms by default.
    #[must_use]
    pub const fn with_interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }
}

impl Default for Demo {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Agent for Demo {
    async fn run(&self, run: RunContext, writer: RunWriter) -> Result<Finish, AgentError> {
        if !run.answers().is_empty() {
            return approval::answered(&run, &writer).await;
        }
        if run.tool_results().next().is_some() {
            return client_tool::answered(&run, &writer).await;
        }
        match Scene::asked_for(&run.user_text()) {
            Scene::Hello => scenes::hello(&writer).await,
            Scene::Think => scenes::think(&writer).await,
            Scene::Tool => scenes::tool(&run, &writer).await,
            Scene::Ask => client_tool::ask(&run, &writer).await,
            Scene::State => scenes::state(&run, &writer).await,
            Scene::Activity => scenes::activity(&writer).await,
            Scene::Steps => scenes::steps(&writer).await,
            Scene::Team => scenes::team(&writer).await,
            Scene::Approve => Ok(approval::ask(&writer).await?),
            Scene::Fail => scenes::fail(&writer).await,
            Scene::Slow => scenes::slow(&writer, self.interval).await,
            Scene::Help => scenes::help(&writer).await,
        }
    }

    fn capabilities(&self) -> AgentCapabilities<'static> {
        let count_words = Tool::new(scenes::COUNT_WORDS, "Counts the words of a text.");
        Capabilities::new()
            .named("Threadline demo")
            .described("An agent without a model, to try things with. Say help.")
            .with_version(env!("CARGO_PKG_VERSION"))
            .with_tools(vec![count_words])
            .with_client_tools()
            .with_state()
            .with_reasoning()
            .with_subagents(&[(scenes::RESEARCHER, "Looks up how many pages there are.")])
            .with_approvals()
            .build()
    }
}
