//! Connections that take their time, beside those that do not.

use super::overload::Asker;
use super::program::{Program, mib};
use super::{Crowd, Stage};
use crate::quantiles::Quantiles;
use crate::server::plans::{OURS, row};
use crate::server::upstream::{FRESH, path};
use crate::table::{Cell, Table, columns};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// How long slow ones wait between two bytes.
const PAUSE: Duration = Duration::from_secs(1);
/// How many clients are not slow.
const CLIENTS: usize = 16;

/// How many are slow, half in what they send, half in what they read.
const SLOW: usize = 1_000;
/// How many send a head that does not end, as in a Slowloris attack.
const HEADS: usize = 10_000;
/// There must be room for the others beside them.
const HEADS_SETTINGS: &str = "http.connections_max = 12000";

/// What others notice of those who send and read slowly.
pub(in crate::server) fn slow(stage: &Stage<'_>, crowd: Crowd) -> io::Result<Table> {
    Ok(Table {
        title: format!("Slow connections: {SLOW} beside {CLIENTS} others"),
        note: format!(
            "Half of them send a request a byte a second, half ask for a run and read a byte of it a second. Those who are let go come again. \
             Goodput is what the others get, against the mean of before and after. {}",
            stage.processors()
        ),
        ..beside(stage, crowd, "slow", "", SLOW, |number| number % 2 == 1)?
    })
}

/// What others notice of those who send heads that do not end.
pub(in crate::server) fn heads(stage: &Stage<'_>, crowd: Crowd) -> io::Result<Table> {
    Ok(Table {
        title: format!("Heads without end: {HEADS} connections beside {CLIENTS} others"),
        note: format!(
            "They send a request a byte a second, and those who are let go come again. Goodput is what the others get, against the mean of before and after. {}",
            stage.processors()
        ),
        ..beside(stage, crowd, "heads", HEADS_SETTINGS, HEADS, |_| false)?
    })
}

/// What others get before and beside so many slow ones, some of which read. Without title and note.
fn beside(
    stage: &Stage<'_>,
    crowd: Crowd,
    name: &str,
    settings: &str,
    count: usize,
    does_read: fn(usize) -> bool,
) -> io::Result<Table> {
    let program = Program::start(stage, name, settings)?;
    let (asker, address) = (Asker::new(program.address, "anybody"), program.address);
    let time = crowd.time.min(Duration::from_secs(10));
    let calm = || stage.world.block_on(asker.closed_loop(CLIENTS, time));
    let calm_before = calm()?;
    let [before, _] = program.memory()?;
    let (busy, peak) = stage.world.block_on(async {
        let mut slow = JoinSet::new();
        for number in 0..count {
            slow.spawn(async move {
                // That one is let go is what it has deserved; the next comes in its place.
                loop {
                    let _ = match does_read(number) {
                        false => send_slowly(address).await,
                        true => read_slowly(address, number).await,
                    };
                    sleep(PAUSE).await;
                }
            });
        }
        sleep(PAUSE).await;
        let busy = asker.closed_loop(CLIENTS, crowd.time).await?;
        Ok::<_, io::Error>((busy, program.memory()?[1]))
    })?;
    // As with overload: the machine is not as quick at any time.
    let capacity = f64::midpoint(calm_before.per_second(time), calm()?.per_second(time));
    let goodput = busy.per_second(crowd.time) / capacity;
    let (usual, times) = (Quantiles::of(calm_before.done), Quantiles::of(busy.done));
    Ok(Table {
        title: String::new(),
        note: String::new(),
        columns: columns(&[
            "goodput",
            "p50 ms before",
            "p50 ms",
            "p99 ms before",
            "p99 ms",
            "MiB before",
            "peak MiB",
        ]),
        rows: vec![row(
            OURS,
            vec![
                Cell::Fine(goodput),
                Cell::Fine(usual.p50 / 1e3),
                Cell::Fine(times.p50 / 1e3),
                Cell::Fine(usual.p99 / 1e3),
                Cell::Fine(times.p99 / 1e3),
                Cell::Whole(mib(before)),
                Cell::Whole(mib(peak)),
            ],
        )],
    })
}

async fn send_slowly(address: SocketAddr) -> io::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    let head = format!("POST {} HTTP/1.1\r\nHost: {address}\r\n", path(FRESH));
    for byte in head.bytes() {
        stream.write_all(&[byte]).await?;
        sleep(PAUSE).await;
    }
    Ok(())
}

async fn read_slowly(address: SocketAddr, number: usize) -> io::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    let body = format!(r#"{{"threadId":"slow {number}","runId":"r","messages":[]}}"#);
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        path(FRESH),
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).await?;
    let mut byte = [0];
    while stream.read(&mut byte).await? > 0 {
        sleep(PAUSE).await;
    }
    Ok(())
}
