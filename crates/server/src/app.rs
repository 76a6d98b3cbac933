//! What all routes share.

use crate::agents::Agents;
use crate::error::Refusal;
use crate::input::Input;
use crate::runs::Runs;
use crate::scope::ScopeResolver;
use crate::settings::Settings;
use crate::stream::{Dialect, View};
use axum::http::HeaderMap;
use std::sync::Arc;
use std::time::Duration;
use threadline_log::buffered::Aggregators;
use threadline_log::delivery::Delivery;
use threadline_log::{Engine, Incarnation, RunNo, ThreadKey};
use tokio_util::sync::CancellationToken;

/// A server without its connections. Clones are the same one.
#[derive(Clone, Debug)]
pub struct App {
    inner: Arc<Inner>,
}

#[derive(Clone, Debug)]
struct Inner {
    engine: Engine,
    agents: Agents,
    runs: Runs,
    scopes: Arc<dyn ScopeResolver>,
    settings: Settings,
    stopping: CancellationToken,
}

impl App {
    /// On an engine, with agents.
    #[must_use]
    pub fn new(engine: Engine, agents: Agents, settings: Settings) -> Self {
        let scopes = Arc::new(settings.scope.clone());
        Self::with_scopes(engine, agents, settings, scopes)
    }

    /// The same, with another way to find out who a request is for.
    #[must_use]
    pub fn with_scopes(
        engine: Engine,
        agents: Agents,
        settings: Settings,
        scopes: Arc<dyn ScopeResolver>,
    ) -> Self {
        // A lease is renewed twice before it is over.
        let lease = u64::try_from(engine.lease_ms()).unwrap_or_default();
        let runs =
            Runs::new(engine.clone(), settings.runs.clone(), Duration::from_millis((lease / 3).max(1)));
        let stopping = CancellationToken::new();
        Self { inner: Arc::new(Inner { engine, agents, runs, scopes, settings, stopping }) }
    }

    /// With aggregators of one's own for buffered runs, whatever `runs.aggregate` says. Said before it is cloned.
    #[must_use]
    pub fn with_aggregators(mut self, aggregators: Aggregators) -> Self {
        let inner = Arc::make_mut(&mut self.inner);
        inner.runs = inner.runs.clone().with_aggregators(aggregators);
        self
    }

    /// Where threads are.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// The agents.
    #[must_use]
    pub fn agents(&self) -> &Agents {
        &self.inner.agents
    }

    /// The runs that are executed.
    #[must_use]
    pub fn runs(&self) -> &Runs {
        &self.inner.runs
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// Said when the server stops, after the runs have ended.
    #[must_use]
    pub fn stopping(&self) -> &CancellationToken {
        &self.inner.stopping
    }

    /// The thread that a request is about, in the scope that it is for.
    ///
    /// # Errors
    /// As [`ScopeResolver::scope`].
    pub fn thread(&self, headers: &HeaderMap, input: &Input) -> Result<ThreadKey, Refusal> {
        let scope = self.inner.scopes.scope(headers, Some(input))?;
        Ok(ThreadKey::new(scope, input.thread.clone()))
    }

    /// Who a request without a body is for.
    ///
    /// # Errors
    /// As [`ScopeResolver::scope`].
    pub fn scope(&self, headers: &HeaderMap) -> Result<threadline_log::Scope, Refusal> {
        self.inner.scopes.scope(headers, None)
    }

    /// One client's view of a run, whose records so far went through `delivery`.
    pub(crate) fn view(
        &self,
        dialect: Dialect,
        incarnation: Incarnation,
        run: RunNo,
        delivery: Delivery,
    ) -> View {
        let delivery = delivery.with_unknown(self.settings().runs.unknown.clone());
        View::new(dialect, incarnation, run, delivery)
    }

    /// Ends all runs, then all streams.
    pub async fn shut_down(&self) {
        self.runs().shut_down().await;
        self.stopping().cancel();
    }
}
