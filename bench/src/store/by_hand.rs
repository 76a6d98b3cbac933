//! The rows of appends, inserted by hand: what the database can do at most with groups of them.

use super::committer::{Engine, Entry, Grouped};
use super::database::{connect, schema, url_of};
use super::subject::{Batch, Durability, Subject};
use std::io;
use std::path::Path;
use threadline_log::Kind;
use threadline_log::sealed::shared;
use tokio::runtime::Runtime;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement};

const INSERT: &str = "INSERT INTO batch (thread, first, count, run, time, token, body) \
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bytea[])";
/// What a body of ours has before its records: a form, a checksum and a length.
const HEAD: [u8; 9] = [0; 9];

/// A connection that inserts groups, each with one statement, which is one transaction and one round trip.
pub(super) struct ByHand {
    runtime: Runtime,
    client: Client,
    insert: Statement,
}

impl Engine for ByHand {
    type Reader = ();

    fn open(dir: &Path, _: Durability) -> io::Result<(Self, ())> {
        let url = url_of(dir)?;
        // Whoever calls is in a runtime of its own.
        let opened = std::thread::spawn(move || begin(&url)).join();
        Ok((opened.map_err(|_panic| io::Error::other("the connection panicked"))??, ()))
    }

    fn commit(&mut self, group: &[Entry]) -> io::Result<()> {
        let threads: Vec<i64> = group.iter().map(|entry| entry.thread.into()).collect();
        let counts = group.iter().map(|entry| i32::try_from(entry.events().count()));
        let counts: Vec<i32> = counts.collect::<Result<_, _>>().map_err(io::Error::other)?;
        let firsts: Vec<i64> = group
            .iter()
            .zip(&counts)
            .map(|(entry, count)| entry.last.cast_signed() + 1 - i64::from(*count))
            .collect();
        // What runs, times and tokens are does not matter to the database, but that it gets them.
        let others = vec![i64::MAX; group.len()];
        let bodies: Option<Vec<Vec<u8>>> = group.iter().map(body).collect();
        let bodies = bodies.ok_or_else(|| io::Error::other("an event is too long"))?;
        let row: &[&(dyn ToSql + Sync)] = &[&threads, &firsts, &counts, &others, &others, &others, &bodies];
        let inserted = self.runtime.block_on(self.client.execute(&self.insert, row));
        inserted.map(|_| ()).map_err(io::Error::other)
    }
}

/// As long as a body of ours.
fn body(entry: &Entry) -> Option<Vec<u8>> {
    let records = shared::encode(entry.events().map(|event| (Kind::Event, event)))?;
    Some([&HEAD[..], &records].concat())
}

fn begin(url: &str) -> io::Result<ByHand> {
    let schema = schema(url)?;
    let (runtime, client) = connect(url)?;
    // As our store has it.
    let table = format!(
        "CREATE SCHEMA IF NOT EXISTS {schema}; SET search_path = {schema}; \
         CREATE TABLE IF NOT EXISTS batch (thread bigint NOT NULL, first bigint NOT NULL, count integer NOT NULL, \
             run bigint NOT NULL, time bigint NOT NULL, token bigint NOT NULL, body bytea NOT NULL, PRIMARY KEY (thread, first)); \
         ALTER TABLE batch ALTER COLUMN body SET STORAGE EXTERNAL;"
    );
    let preparing = async {
        client.batch_execute(&table).await?;
        client.prepare(INSERT).await
    };
    let insert = runtime.block_on(preparing).map_err(io::Error::other)?;
    Ok(ByHand { runtime, client, insert })
}

/// So many connections, each with threads of its own.
pub(super) struct Connections<const N: usize>(Vec<Grouped<ByHand>>);

impl<const N: usize> Subject for Connections<N> {
    async fn open(dir: &Path, durability: Durability) -> io::Result<Self> {
        let mut connections = Vec::new();
        for _ in 0..N {
            connections.push(Grouped::open(dir, durability).await?);
        }
        Ok(Self(connections))
    }

    async fn append(&self, batch: Batch<'_>) -> io::Result<()> {
        self.0[batch.thread as usize % N].append(batch).await
    }

    async fn close(self) -> io::Result<()> {
        for connection in self.0 {
            connection.close().await?;
        }
        Ok(())
    }
}
