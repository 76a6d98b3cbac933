//! A large thread, out of one server and into another.

use super::program::{Program, mib};
use super::{Crowd, Stage};
use crate::server::exchange::post;
use crate::server::plans::{OURS, row};
use crate::server::upstream::{BULK, path};
use crate::table::{Cell, Table, columns};
use axum::body::Body;
use axum::http::{Request, header};
use bytes::Bytes;
use futures_util::stream;
use http_body_util::BodyExt;
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

/// How many pieces wait between the two servers.
const WAITING: usize = 16;

/// How fast, and in how much memory.
pub(in crate::server) fn transfer(stage: &Stage<'_>, crowd: Crowd) -> io::Result<Table> {
    let source = Program::start(stage, "source", "")?;
    stage.world.block_on(fill(source.address, crowd.transfer_runs))?;
    let (from, to) = (source.address, Program::start(stage, "target", "")?);
    let [exporting, importing] = [source.memory()?[1], to.memory()?[1]];
    let (bytes, time) = stage.world.block_on(pipe(from, to.address))?;
    let grown = [source.memory()?[1].saturating_sub(exporting), to.memory()?[1]];
    #[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
    let speed = bytes as f64 / time.as_secs_f64() / 1e6;
    Ok(Table {
        title: format!("Transfer of a thread of {:.0} MiB", mib(bytes)),
        note: format!(
            "GET export of one server into POST import of another, at once. Peak is the memory of the one that imports; the one that \
             exports had run the thread before, and what it has beyond that is apart. Before it imported, it had {:.0} MiB.",
            mib(importing)
        ),
        columns: columns(&["MiB", "MB/s", "peak MiB", "more to export, MiB"]),
        rows: vec![row(
            OURS,
            vec![
                Cell::Whole(mib(bytes)),
                Cell::Whole(speed),
                Cell::Whole(mib(grown[1])),
                Cell::Whole(mib(grown[0])),
            ],
        )],
    })
}

async fn fill(address: SocketAddr, runs: usize) -> io::Result<()> {
    for run in 0..runs {
        let body = format!(r#"{{"threadId":"bulk","runId":"{run}","messages":[]}}"#);
        let mut answer = post(address, &path(BULK), body).await?;
        let mut last = Bytes::new();
        while let Some(piece) = answer.next().await? {
            last = piece;
        }
        if !last.windows(12).any(|window| window == b"RUN_FINISHED") {
            return Err(io::Error::other(format!(
                "the run was cut short: {}",
                String::from_utf8_lossy(&last)
            )));
        }
    }
    Ok(())
}

/// How many bytes went from one to the other, and how long that took.
async fn pipe(from: SocketAddr, to: SocketAddr) -> io::Result<(u64, Duration)> {
    let start = Instant::now();
    let (pieces, waiting) = mpsc::channel::<Bytes>(WAITING);
    let body = Body::from_stream(stream::unfold(waiting, async |mut waiting| {
        waiting.recv().await.map(|piece| (Ok::<_, io::Error>(piece), waiting))
    }));
    let import = Request::post("/v1/import").header(header::CONTENT_TYPE, "application/x-ndjson");
    let imported = tokio::spawn(exchange(to, import, body));
    let export = Request::get("/v1/threads/bulk/export");
    let mut exported = exchange(from, export, Body::empty()).await?;
    let mut bytes = 0;
    while let Some(frame) = exported.frame().await {
        if let Ok(piece) = frame.map_err(io::Error::other)?.into_data() {
            bytes += piece.len() as u64;
            pieces.send(piece).await.map_err(io::Error::other)?;
        }
    }
    drop(pieces);
    let answer = imported.await.map_err(io::Error::other)??;
    answer.collect().await.map_err(io::Error::other)?;
    Ok((bytes, start.elapsed()))
}

async fn exchange(
    address: SocketAddr,
    request: axum::http::request::Builder,
    body: Body,
) -> io::Result<hyper::body::Incoming> {
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    tokio::spawn(connection);
    let request = request.header(header::HOST, address.to_string()).body(body).map_err(io::Error::other)?;
    let response = sender.send_request(request).await.map_err(io::Error::other)?;
    if response.status().is_success() {
        return Ok(response.into_body());
    }
    let status = response.status();
    let body = response.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
    Err(io::Error::other(format!("refused. status={status}, body={}", String::from_utf8_lossy(&body))))
}
