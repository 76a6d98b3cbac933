//! Bodies that are small as long as nobody decodes them.

use super::agents::{brief, section};
use super::client::Answer;
use super::process::Served;
use hyper::Request;
use tempfile::TempDir;
use tokio::net::TcpStream;

/// How much a server may grow by what it is sent here.
const GROWTH_MAX: u64 = 8 * 1024 * 1024;

/// A gigabyte of zeros as zstd may write it: each block says how often one byte is repeated, in four bytes.
fn gigabyte() -> Vec<u8> {
    const BLOCK_BYTES: u32 = 128 * 1024;
    const BLOCKS: u32 = 1024 * 1024 * 1024 / BLOCK_BYTES;
    const REPEATED: u32 = 1;
    // The magic number; nothing said about sizes; a window of 2 MiB.
    let mut bomb = vec![0x28, 0xB5, 0x2F, 0xFD, 0x00, 11 << 3];
    for block in 1..=BLOCKS {
        let head = u32::from(block == BLOCKS) | REPEATED << 1 | BLOCK_BYTES << 3;
        bomb.extend_from_slice(&head.to_le_bytes()[..3]);
        bomb.push(0);
    }
    bomb
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bomb_takes_no_more_memory_than_it_has_bytes() {
    let dir = TempDir::new().expect("a directory");
    let brief = brief().await;
    let settings = section("brief", &brief) + "[http]\nrequest_encodings = [\"gzip\", \"zstd\"]\n";
    let served = Served::start(dir.path(), &settings);
    served.client.run("brief", "t", "warm").await.all().await;
    let before = served.memory_peak();
    let bomb = gigabyte();
    assert!(bomb.len() < 42_000, "{}", bomb.len());
    for (path, kind) in [
        ("/agui", "application/json"),
        ("/history", "application/json"),
        ("/v1/threads/t/events?run=r", "application/x-ndjson"),
        ("/v1/import", "application/x-ndjson"),
    ] {
        let request = Request::post(path).header("content-type", kind).header("content-encoding", "zstd");
        let tcp = TcpStream::connect(served.client.address).await.expect("a connection");
        let answer = Answer::over(tcp, request, bomb.clone()).await.expect("an answer");
        assert_eq!(answer.refusal().await, (413, "request_too_large".to_owned()), "{path}");
    }
    println!("memory before {before:?}, after {:?}", served.memory_peak());
    served.assert_grown_less(before, GROWTH_MAX);
    served.stop().await;
}
