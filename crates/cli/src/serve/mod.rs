//! `threadline serve`, which is also what `threadline` alone does.

mod agents;
mod args;
mod config;
mod descriptors;
mod reopening;
mod traces;

pub(crate) use args::ServeArgs;

use crate::args::{ReportFormat, Reporting};
use crate::report::{Failure, Report};
use crate::store::opened::{RandomIds, SystemClock, close_orphans};
use crate::store::place::{Missing, Place};
use config::Config;
use reopening::{Reopening, keep_open};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use threadline_log::clock::Clock;
use threadline_log::{Engine, MemoryStore, Options, Store};
use threadline_server::access::{Authority, watch};
use threadline_server::settings::{Inspector, Mode, RunSettings};
use threadline_server::{App, Settings, keep_up, listen, router, serve_with};
use tokio::task::JoinSet;
use traces::Traces;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// How often abandoned runs are looked for.
const UPKEEP: Duration = Duration::from_secs(1);
/// How often it is looked whether a disk that was full has room again.
const REOPENING: Duration = Duration::from_secs(10);
/// After how many steps of tasks it is seen what has come from outside. A step of a run may take half a millisecond, and whoever is to be
/// refused must not wait for many of them.
const TASKS_BETWEEN_EVENTS: u32 = 8;

/// Serves until the process is told to stop.
pub(crate) fn run(args: &ServeArgs) -> ExitCode {
    let start = if args.check { check } else { start };
    let result = Config::read(args).and_then(|config| start(&config));
    let reporting = Reporting { format: ReportFormat::Text, keep_going: false };
    Report::new(String::new(), reporting, io::stderr().lock()).finish(result)
}

/// Everything that a start would look at before it opens the store.
fn check(config: &Config) -> Result<(), Failure> {
    log_filter(config)?;
    let agents = agents::of(&config.settings)?;
    authority(config)?;
    if let Some(url) = &config.traces {
        traces::check(url)?;
    }
    let mut out = io::stdout().lock();
    let said = [
        format!("listen  {}", config.listen),
        format!("store   {}", shown(&config.store)),
        format!("agents  {}", agents.names().collect::<Vec<_>>().join(", ")),
        format!("auth    {}", if config.settings.auth.is_on() { "callers need tokens" } else { "none" }),
        format!("page    {}", if has_page(config) { "the inspector, at /" } else { "none" }),
    ];
    said.iter().try_for_each(|line| writeln!(out, "{line}")).map_err(Failure::write)
}

fn log_filter(config: &Config) -> Result<EnvFilter, Failure> {
    EnvFilter::try_new(&config.log).map_err(|error| Failure::Usage(format!("--log: {error}")))
}

/// Who says who callers are, if they must prove it.
fn authority(config: &Config) -> Result<Option<Arc<Authority>>, Failure> {
    let auth = &config.settings.auth;
    let opened = auth.is_on().then(|| Authority::open(auth)).transpose();
    Ok(opened.map_err(|error| Failure::Environment(error.to_string()))?.map(Arc::new))
}

fn has_page(config: &Config) -> bool {
    config.settings.http.inspector == Inspector::Always
}

fn shown(store: &Place) -> String {
    match store {
        Place::Memory => "memory: everything is gone when this process ends".to_owned(),
        place => place.to_string(),
    }
}

fn start(config: &Config) -> Result<(), Failure> {
    let filter = log_filter(config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .event_interval(TASKS_BETWEEN_EVENTS)
        .enable_all()
        .build()
        .map_err(Failure::write)?;
    let traces = config.traces.as_deref().map(|url| Traces::to(url, runtime.handle().clone())).transpose()?;
    let logs = tracing_subscriber::fmt::layer()
        .with_ansi(io::stderr().is_terminal())
        .with_writer(io::stderr)
        .with_filter(filter);
    // Only one can be set, and nobody else does.
    let _ = tracing_subscriber::registry().with(traces.as_ref().map(Traces::layer)).with(logs).try_init();
    let served = runtime.block_on(until_stopped(config));
    if let Some(traces) = traces {
        traces.flush();
    }
    served
}

/// Where everything is kept.
struct Kept {
    store: Arc<dyn Store>,
    /// By whose clock leases are over.
    clock: Arc<dyn Clock>,
    on_disk: Option<Arc<Reopening>>,
}

impl Kept {
    async fn open(config: &Config) -> Result<Self, Failure> {
        let clock = Arc::new(SystemClock);
        Ok(match &config.store {
            Place::Dir(dir) => {
                let store = Arc::new(Reopening::open(dir)?);
                Self { store: store.clone(), clock, on_disk: Some(store) }
            }
            Place::Memory => Self { store: Arc::new(MemoryStore::new()), clock, on_disk: None },
            Place::Database(url) => {
                let store = url.open(config.allow_unsafe_durability, Missing::Made).await?;
                let clock = store.clock();
                Self { store: Arc::new(store), clock, on_disk: None }
            }
        })
    }
}

async fn until_stopped(config: &Config) -> Result<(), Failure> {
    let agents = agents::of(&config.settings)?;
    let authority = authority(config)?;
    let listener = listen(config.listen)
        .map_err(|error| Failure::Environment(format!("cannot listen on {}: {error}", config.listen)))?;
    let address = listener.local_addr().map_err(Failure::write)?;
    let Kept { store, clock, on_disk } = Kept::open(config).await?;
    let lease_ms = i64::try_from(config.settings.runs.lease.as_millis()).unwrap_or(i64::MAX);
    let options = Options { lease_ms, ..Options::default() };
    let engine = Engine::new(store, clock, Arc::new(RandomIds), options);
    let orphans = close_orphans(&engine).await?.len();
    if orphans > 0 {
        tracing::warn!(runs = orphans, "runs of an earlier process were closed as abandoned");
    }
    let mut app = App::new(engine.clone(), agents, settings(config));
    if let Some(authority) = &authority {
        app = app.with_authority(Arc::clone(authority));
    }
    let mut background = JoinSet::new();
    if let Some(authority) = authority {
        background.spawn(watch(authority));
    }
    // Whoever has been greeted can stop it in good order.
    let stopped = stopped();
    // A server does not end because nobody listens to its greeting.
    let _ = greet(config, &app, &address.to_string());
    background.spawn(keep_up(app.clone(), UPKEEP));
    if let Some(store) = on_disk {
        background.spawn(keep_open(store, REOPENING));
    }
    let mut routes = router(app.clone());
    if config.traces.is_some() {
        routes = traces::continued(routes);
    }
    let served = serve_with(listener, app, routes, stopped).await;
    background.shutdown().await;
    engine.store().close().await;
    served.map_err(Failure::write)
}

/// The settings, with no more connections than there are descriptors for.
fn settings(config: &Config) -> Settings {
    let mut settings = config.settings.clone();
    let wanted = settings.http.connections_max;
    if let Some(max) = descriptors::take_all(settings.limits.runs_max).filter(|max| *max < wanted) {
        tracing::debug!(wanted, max, "fewer connections are let in, for want of file descriptors");
        settings.http.connections_max = max;
    }
    settings
}

fn greet(config: &Config, app: &App, address: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "Threadline is listening on http://{address}")?;
    let base = &config.settings.paths.base;
    for name in app.agents().names() {
        let default = if app.agents().default_name() == Some(name) { " (default)" } else { "" };
        writeln!(out, "  agent  {name}{default}: http://{address}{base}/agents/{name}")?;
    }
    writeln!(out, "  store  {}", shown(&config.store))?;
    if has_page(config) {
        writeln!(out, "  page   http://{address}{base}/")?;
    }
    if let Some(promise) = weaker_promise(&config.settings.runs) {
        writeln!(out, "  mode   {promise}")?;
    }
    out.flush()
}

/// What cannot be relied on in this mode, if there is something.
fn weaker_promise(runs: &RunSettings) -> Option<String> {
    match (runs.mode, runs.flush_interval) {
        (Mode::Durable, _) => None,
        (Mode::Buffered, Some(interval)) => {
            Some(format!("buffered: what clients have seen in the last {interval:?} may be lost in a crash"))
        }
        (Mode::Buffered, None) => {
            Some("buffered: what clients have seen of a run that goes on may be lost in a crash".to_owned())
        }
    }
}

/// Waits until the process is told to stop, from the call on.
#[cfg(unix)]
fn stopped() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::terminate(), SignalKind::interrupt()];
    let [mut terminate, mut interrupt] = kinds.map(|kind| signal(kind).ok());
    async move {
        // Where signals cannot be had, the process is killed, and what it leaves is closed the next time.
        tokio::select! {
            Some(()) = async { terminate.as_mut()?.recv().await } => {}
            Some(()) = async { interrupt.as_mut()?.recv().await } => {}
            else => std::future::pending().await,
        }
    }
}

/// Waits until the process is told to stop.
#[cfg(not(unix))]
async fn stopped() {
    let _ = tokio::signal::ctrl_c().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weaker_promise_is_said() {
        let said = |toml: &str| weaker_promise(&toml::from_str(toml).unwrap());
        assert_eq!(said(""), None);
        assert_eq!(said(r#"flush_interval = "2s""#), None);
        let lost = "may be lost in a crash";
        let last = |time| Some(format!("buffered: what clients have seen in the last {time} {lost}"));
        assert_eq!(said(r#"mode = "buffered""#), last("1s"));
        assert_eq!(said("mode = 'buffered'\nflush_interval = '250ms'"), last("250ms"));
        let all = Some(format!("buffered: what clients have seen of a run that goes on {lost}"));
        assert_eq!(said("mode = 'buffered'\nflush_interval = '0'"), all);
    }
}
