//! Where stores of tests live: each in a schema of its own.

use async_trait::async_trait;
use bytes::Bytes;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use threadline_log::names::Owner;
use threadline_log::run::{BaseState, RunEnd, RunStatus};
use threadline_log::store::{Append, OpenRun, Opened, RunsSeen};
use threadline_log::{
    Epoch, Error, Incarnation, NewRecord, RunId, Scope, Store, ThreadId, ThreadKey, Timestamp,
};
use threadline_store_postgres::{PostgresOptions, PostgresStore};
use threadline_testkit::postgres::{schema_url, url};
use threadline_testkit::store::{Ending, Harness};
use tokio_postgres::{Client, NoTls};

/// A schema of a database.
#[derive(Debug)]
pub(crate) struct Place {
    url: String,
}

impl Place {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self::at(schema_url())
    }

    /// An empty one in this database.
    pub(crate) const fn at(url: String) -> Self {
        Self { url }
    }

    /// The same schema, by another way to the server.
    pub(crate) fn through(&self, address: SocketAddr) -> Self {
        let (_, schema) = self.url.split_once('?').expect("a schema");
        Self { url: format!("{}?{schema}", url(address)) }
    }

    /// How it is opened.
    pub(crate) fn options(&self) -> PostgresOptions {
        let mut options = PostgresOptions::new(&self.url).expect("a URL");
        // As soon as there is something to pack.
        options.seal_after = Duration::ZERO;
        options
    }

    /// Opens the store, as any number of instances may at once.
    pub(crate) async fn instance(&self) -> PostgresStore {
        PostgresStore::open(&self.options()).await.expect("a store")
    }

    /// Whoever may look into the database itself.
    pub(crate) async fn inside(&self) -> Client {
        let (server, schema) = self.url.split_once("?schema=").expect("a schema");
        let url = format!("{server}?options=-csearch_path%3D{schema}");
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.expect("a connection");
        tokio::spawn(connection);
        client
    }
}

#[async_trait]
impl Harness for Place {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.instance().await)
    }

    async fn reopen(&self, store: Arc<dyn Store>, ending: Ending) -> Arc<dyn Store> {
        if ending == Ending::Clean {
            store.close().await;
        }
        drop(store);
        self.open().await
    }

    async fn second(&self) -> Option<Arc<dyn Store>> {
        Some(Arc::new(self.instance().await))
    }

    fn model_cases(&self) -> u32 {
        12
    }

    fn engine_cases(&self) -> u64 {
        2
    }
}

/// A thread.
pub(crate) fn thread(id: &str) -> ThreadKey {
    let owner = |name| Owner::new(name).expect("a short name");
    let scope = Scope { app: owner("app"), user: owner("user") };
    ThreadKey::new(scope, ThreadId::new(id).expect("a short name"))
}

/// The first run of a thread, which is leased for a minute.
pub(crate) async fn open_run(store: &PostgresStore, thread: &ThreadKey) -> Opened {
    store.open_run(opening(thread, store.clock().now())).await.expect("a run is opened")
}

/// The same, at some time.
pub(crate) fn opening(thread: &ThreadKey, time: Timestamp) -> OpenRun {
    OpenRun {
        thread: thread.clone(),
        incarnation: Incarnation(1),
        metadata: Default::default(),
        seen: RunsSeen::default(),
        id: RunId::new("r").expect("a short name"),
        parent: None,
        spawned_by: None,
        base_state: BaseState::Branch,
        request: Bytes::from_static(b"{}"),
        request_digest: "digest".to_owned(),
        records: vec![NewRecord::event("start")],
        key: None,
        expected_tail: None,
        end: None,
        lease_until: Timestamp(time.0 + 60_000),
        time,
    }
}

/// How a run ends that has nothing to say about that.
pub(crate) const fn finished() -> RunEnd {
    let status = RunStatus::Finished;
    RunEnd { status, outcome: None, error_code: None, usage: None, interrupts: Vec::new() }
}

/// A record of the first run of a thread.
pub(crate) fn append(
    store: &PostgresStore,
    thread: &ThreadKey,
    text: &str,
) -> impl Future<Output = Result<u64, Error>> + use<> {
    let append = Append {
        thread: thread.clone(),
        incarnation: None,
        run: threadline_log::RunNo(0),
        epoch: Epoch(1),
        records: vec![NewRecord::event(text.to_owned())],
        key: None,
        expected_tail: None,
        end: None,
        time: store.clock().now(),
    };
    let appending = store.append(append);
    async move { appending.await.map(|ack| ack.first) }
}

/// All that a thread has.
pub(crate) async fn texts(store: &PostgresStore, thread: &ThreadKey) -> Result<Vec<String>, Error> {
    let page = store.read(thread, 0..u64::MAX, None, usize::MAX).await?;
    let offsets: Vec<u64> = page.records.iter().map(|record| record.offset).collect();
    assert_eq!(offsets, (0..offsets.len() as u64).collect::<Vec<_>>(), "offsets are dense");
    Ok(page.records.iter().map(|record| String::from_utf8_lossy(&record.bytes).into_owned()).collect())
}
