//! A server within the test, where the test can reach behind it.

use super::fixture::runtime;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;
use threadline_agent::RunOptions;
use threadline_agent::demo::Demo;
use threadline_log::clock::{Clock, Ids};
use threadline_log::{Engine, Incarnation, Options, ThreadId, ThreadKey, Timestamp};
use threadline_server::access::Caller;
use threadline_server::agents::Hosted;
use threadline_server::{Agents, App, Settings, serve};
use threadline_testkit::store::GatedStore;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

#[derive(Debug, Default)]
struct Ticks(AtomicI64);

impl Clock for Ticks {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(1, Ordering::SeqCst))
    }
}

#[derive(Debug, Default)]
struct Counted(AtomicU64);

impl Ids for Counted {
    fn incarnation(&self) -> Incarnation {
        Incarnation(self.0.fetch_add(1, Ordering::SeqCst) + 7)
    }
}

/// A server with the demo agent that goes when it is dropped.
pub(crate) struct Inside {
    pub(crate) app: App,
    /// What goes wrong there if a test wants it.
    pub(crate) store: Arc<GatedStore>,
    address: SocketAddr,
    runtime: Runtime,
}

impl Inside {
    pub(crate) fn start() -> Self {
        let runtime = runtime();
        let (clock, ids) = (Arc::new(Ticks::default()), Arc::new(Counted::default()));
        let store = Arc::<GatedStore>::default();
        let engine = Engine::new(store.clone(), clock, ids, Options::default());
        let demo = Hosted::new(Arc::new(Demo::new().with_interval(Duration::ZERO)), RunOptions::new());
        let app = App::new(engine, Agents::new().with("demo", Arc::new(demo)), Settings::default());
        let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0))).expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        runtime.spawn(serve(listener, app.clone(), std::future::pending()));
        Self { app, store, address, runtime }
    }

    /// A URL. `path` begins with a slash.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A thread of the default scope.
    pub(crate) fn thread(&self, thread: &str) -> ThreadKey {
        let scope = self.app.scope(&Caller::anybody(), &http::HeaderMap::new()).expect("the default scope");
        ThreadKey::new(scope, ThreadId::new(thread).expect("a thread id"))
    }

    /// Waits for something.
    pub(crate) fn wait_for<T>(&self, what: impl Future<Output = T>) -> T {
        self.runtime.block_on(what)
    }
}
