//! What both examples do: the demo agent on a store in memory, and a page.

use axum::response::Html;
use axum::routing::get;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use threadline_agent::RunOptions;
use threadline_agent::demo::Demo;
use threadline_log::clock::{Clock, Ids};
use threadline_log::{Engine, Incarnation, MemoryStore, Options, Timestamp};
use threadline_server::agents::Hosted;
use threadline_server::{Agents, App, Settings, router, serve_with};
use tokio::net::TcpListener;

/// Serves until Ctrl-C. An address may be given as the first argument.
pub(crate) async fn serve(settings: Settings, title: &str, hint: &str) -> io::Result<()> {
    let page = include_str!("page.html").replace("{title}", title).replace("{hint}", hint);
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8000".to_owned());
    let listener = TcpListener::bind(address).await?;
    let store = Arc::new(MemoryStore::new());
    let engine = Engine::new(store, Arc::new(SystemClock), Arc::new(Counted::default()), Options::default());
    let demo = Hosted::new(Arc::new(Demo::new()), RunOptions::new());
    let app = App::new(engine, Agents::new().with("demo", Arc::new(demo)), settings);
    let routes = router(app.clone()).route("/", get(async move || Html(page.clone())));
    writeln!(io::stdout(), "http://{}", listener.local_addr()?)?;
    let stop = async {
        let _ = tokio::signal::ctrl_c().await;
    };
    serve_with(listener, app, routes, stop).await
}

#[derive(Debug)]
struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the edge, where the engine is given the time")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// Which thread of a name it is; in memory none is older than the process.
#[derive(Debug, Default)]
struct Counted(AtomicU64);

impl Ids for Counted {
    fn incarnation(&self) -> Incarnation {
        Incarnation(self.0.fetch_add(1, Ordering::Relaxed))
    }
}
