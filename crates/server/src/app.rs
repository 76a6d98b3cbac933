//! What all routes share.

use crate::access::{Authority, Caller};
use crate::agents::Agents;
use crate::error::{Code, Refusal};
use crate::input::{Input, thread_of_path};
use crate::load::{Listening, Load};
use crate::metrics::Metrics;
use crate::runs::Runs;
use crate::scope::{Asked, ScopeResolver};
use crate::settings::Settings;
use crate::stream::{Dialect, View};
use axum::http::HeaderMap;
use std::sync::Arc;
use std::time::Duration;
use threadline_log::buffered::Aggregators;
use threadline_log::delivery::Delivery;
use threadline_log::{Engine, Error, Incarnation, RunNo, Scope, ThreadKey};
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
    /// None where nobody need prove anything.
    authority: Option<Arc<Authority>>,
    load: Arc<Load>,
    metrics: Arc<Metrics>,
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
        let (load, metrics) = (Arc::new(Load::new(&settings.limits)), Arc::<Metrics>::default());
        let renewal = Duration::from_millis((lease / 3).max(1));
        let runs = Runs::new(
            engine.clone(),
            settings.runs.clone(),
            renewal,
            Arc::clone(&load),
            Arc::clone(&metrics),
        );
        let stopping = CancellationToken::new();
        // If it is not said who can prove what, nobody can.
        let authority = settings.auth.is_on().then(Arc::default);
        Self {
            inner: Arc::new(Inner {
                engine,
                agents,
                runs,
                scopes,
                authority,
                load,
                metrics,
                settings,
                stopping,
            }),
        }
    }

    /// With aggregators of one's own for buffered runs, whatever `runs.aggregate` says. Said before it is cloned.
    #[must_use]
    pub fn with_aggregators(mut self, aggregators: Aggregators) -> Self {
        let inner = Arc::make_mut(&mut self.inner);
        inner.runs = inner.runs.clone().with_aggregators(aggregators);
        self
    }

    /// With somebody who says who callers are. Said before it is cloned.
    #[must_use]
    pub fn with_authority(mut self, authority: Arc<Authority>) -> Self {
        Arc::make_mut(&mut self.inner).authority = Some(authority);
        self
    }

    /// Who says who callers are; nobody, if they need not prove anything.
    #[must_use]
    pub fn authority(&self) -> Option<&Arc<Authority>> {
        self.inner.authority.as_ref()
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

    /// What is taken of what there is.
    pub(crate) fn load(&self) -> &Load {
        &self.inner.load
    }

    /// What is counted and measured.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.inner.metrics
    }

    /// A place for a stream to one reader.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn listen(&self, scope: &Scope) -> Result<Listening, Refusal> {
        Ok(Listening { _place: self.load().streams.take(scope)?, lag: self.metrics().lag() })
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

    /// The thread that a request names in its body, in the scope that it is for.
    ///
    /// # Errors
    /// As [`ScopeResolver::scope`], or if the caller may not see it.
    pub fn thread(&self, caller: &Caller, headers: &HeaderMap, input: &Input) -> Result<ThreadKey, Refusal> {
        self.seen(caller, ThreadKey::new(self.scope_of(caller, headers, Some(input))?, input.thread.clone()))
    }

    /// The thread that a request names in its path, in the scope that it is for.
    ///
    /// # Errors
    /// As [`ScopeResolver::scope`], or if the caller may not see it.
    pub fn thread_named(
        &self,
        caller: &Caller,
        headers: &HeaderMap,
        name: &str,
    ) -> Result<ThreadKey, Refusal> {
        self.seen(caller, ThreadKey::new(self.scope_of(caller, headers, None)?, thread_of_path(name)?))
    }

    /// Who a request is for that is about all threads.
    ///
    /// # Errors
    /// As [`ScopeResolver::scope`], or if the caller may see one thread only.
    pub fn scope(&self, caller: &Caller, headers: &HeaderMap) -> Result<Scope, Refusal> {
        if caller.only_thread().is_some() {
            return Err(Refusal::new(Code::Forbidden, "the ticket is for one thread"));
        }
        self.scope_of(caller, headers, None)
    }

    pub(crate) fn scope_of(
        &self,
        caller: &Caller,
        headers: &HeaderMap,
        input: Option<&Input>,
    ) -> Result<Scope, Refusal> {
        self.inner.scopes.scope(&Asked { identity: caller.identity(), headers, input })
    }

    /// A thread that a caller may not see is not there.
    fn seen(&self, caller: &Caller, thread: ThreadKey) -> Result<ThreadKey, Refusal> {
        if caller.may_see(&thread.thread) { Ok(thread) } else { Err(Error::NoThread(thread).into()) }
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
