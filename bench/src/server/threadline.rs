//! Our server, as the binary starts it.

use super::hosted::{listener, runtime};
use super::upstream::{FLOOD, HOLD, TICK, path};
use crate::store::ours::{APP, USER, open_engine};
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use threadline_log::Engine;
use threadline_server::agents::Upstream;
use threadline_server::settings::AgentSettings;
use threadline_server::{Agents, App, Settings, keep_up, serve};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How often abandoned runs are looked for, as in the binary.
const UPKEEP: Duration = Duration::from_secs(1);

/// A server on a store on disk.
pub(super) struct Threadline {
    pub(super) address: SocketAddr,
    pub(super) engine: Engine,
    runtime: Runtime,
    stop: oneshot::Sender<()>,
    served: JoinHandle<io::Result<()>>,
}

impl Threadline {
    /// In front of an agent.
    pub(super) fn start(dir: &Path, agent: SocketAddr) -> io::Result<Self> {
        let runtime = runtime("threadline")?;
        let mut settings = Settings::default();
        (settings.scope.app, settings.scope.user) = (APP.to_owned(), USER.to_owned());
        let mut agents = Agents::new();
        for name in [FLOOD, TICK, HOLD] {
            let agent = AgentSettings::at(format!("http://{agent}{}", path(name)));
            let upstream = Upstream::new(&agent, settings.runs.run_bytes_max).map_err(io::Error::other)?;
            agents = agents.with(name, Arc::new(upstream));
        }
        let (stop, stopped) = oneshot::channel();
        let (address, engine, served) = runtime.block_on(async {
            let engine = open_engine(dir)?;
            let listener = listener().await?;
            let address = listener.local_addr()?;
            let app = App::new(engine.clone(), agents, settings);
            tokio::spawn(keep_up(app.clone(), UPKEEP));
            let stopped = async move {
                // That nobody can stop it any more is a reason to stop as well.
                let _ = stopped.await;
            };
            let served = tokio::spawn(serve(listener, app, stopped));
            Ok::<_, io::Error>((address, engine, served))
        })?;
        Ok(Self { address, engine, runtime, stop, served })
    }

    /// Ends what goes on, and lets go of the files.
    pub(super) fn stop(self) -> io::Result<()> {
        let Self { engine, runtime, stop, served, .. } = self;
        // If it has stopped by itself, its result says why.
        let _ = stop.send(());
        runtime.block_on(async {
            served.await.map_err(io::Error::other)??;
            engine.store().close().await;
            Ok(())
        })
    }
}
