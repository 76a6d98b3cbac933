//! Our engine on PostgreSQL: several instances, each with connections of its own, as several servers have them.

use super::database::{connect, schema, url_of};
use super::ours::{OurFollower, Ours, engine_on};
use super::subject::{Batch, Durability, Live, Parts, Reads, Subject, Tally};
use std::io;
use std::path::Path;
use std::time::Duration;
use threadline_store_postgres::{PostgresOptions, PostgresStore};
use tokio::task::JoinHandle;

/// So many instances. A thread is written by one of them, and followed at the next.
pub(super) struct Instances<const N: usize> {
    instances: Vec<Ours>,
    listening: Vec<JoinHandle<()>>,
}

impl<const N: usize> Instances<N> {
    fn writer(&self, thread: u32) -> &Ours {
        &self.instances[thread as usize % N]
    }

    fn reader(&self, thread: u32) -> &Ours {
        &self.instances[(thread as usize + 1) % N]
    }
}

impl<const N: usize> Subject for Instances<N> {
    async fn open(dir: &Path, durability: Durability) -> io::Result<Self> {
        let mut options = PostgresOptions::new(&url_of(dir)?).map_err(io::Error::other)?;
        // What has ended is packed as soon as somebody asks for it.
        options.seal_after = Duration::ZERO;
        let (mut instances, mut listening) = (Vec::new(), Vec::new());
        for _ in 0..N {
            let store = PostgresStore::open(&options).await.map_err(io::Error::other)?;
            let clock = store.clock();
            let engine = engine_on(std::sync::Arc::new(store), clock);
            let heard = engine.clone();
            listening.push(tokio::spawn(async move { heard.listen().await }));
            instances.push(Ours::beside_others(engine, durability));
        }
        Ok(Self { instances, listening })
    }

    async fn append(&self, batch: Batch<'_>) -> io::Result<()> {
        self.writer(batch.thread).append(batch).await
    }

    async fn close(self) -> io::Result<()> {
        self.listening.iter().for_each(JoinHandle::abort);
        for instance in self.instances {
            instance.close().await?;
        }
        Ok(())
    }
}

impl<const N: usize> Reads for Instances<N> {
    fn bytes_at_rest(dir: &Path) -> io::Result<Parts> {
        let url = url_of(dir)?;
        // Whoever calls is in a runtime of its own.
        let asked = std::thread::spawn(move || relations(&url)).join();
        asked.map_err(|_panic| io::Error::other("the connection panicked"))?
    }

    async fn settle(&self) -> io::Result<()> {
        self.instances[0].settle().await
    }

    async fn read(&self, thread: u32, offset: u64, count: usize, tally: &mut Tally) -> io::Result<()> {
        self.reader(thread).read(thread, offset, count, tally).await
    }
}

/// What the tables and indexes of a schema take, after a vacuum: what was given back can be taken again.
fn relations(url: &str) -> io::Result<Parts> {
    let (runtime, client) = connect(url)?;
    let asked = runtime.block_on(client.query_one(
        "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class AS c \
         JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'",
        &[&schema(url)?],
    ));
    let bytes: i64 = asked.map_err(io::Error::other)?.get(0);
    let bytes = u64::try_from(bytes).map_err(io::Error::other)?;
    Ok(Parts::from([("tables and indexes", bytes)]))
}

impl<const N: usize> Live for Instances<N> {
    type Follower = OurFollower;

    async fn follow(&self, thread: u32) -> io::Result<OurFollower> {
        self.reader(thread).follow(thread).await
    }

    async fn messages(&self, thread: u32) -> io::Result<usize> {
        self.reader(thread).messages(thread).await
    }
}
