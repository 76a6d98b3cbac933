//! Bodies that are compressed.

use crate::harness::{Answer, Harness, request};
use axum::body::Body;
use axum::http::Request;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use std::io::Write;

fn with(encodings: &str) -> Harness {
    let toml = format!("http.request_encodings = {encodings}\nhttp.request_bytes_max = 100000");
    Harness::with(toml::from_str(&toml).unwrap())
}

fn compress(encoding: &str, text: &[u8]) -> Vec<u8> {
    match encoding {
        "gzip" => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        }
        _ => zstd::encode_all(text, 3).unwrap(),
    }
}

async fn post(server: &Harness, path: &str, encoding: &str, body: Vec<u8>) -> Answer {
    let kind = match path.starts_with("/v1") && !path.ends_with("clone") {
        true => "application/x-ndjson",
        false => "application/json",
    };
    let request = Request::post(path).header("host", "localhost").header("content-type", kind);
    server.send(request.header("content-encoding", encoding).body(Body::from(body)).unwrap()).await
}

#[tokio::test]
async fn compressed_bodies_are_refused_unless_they_are_wanted() {
    let paths = [
        "/agui",
        "/agui/connect",
        "/history",
        "/cancel",
        "/v1/threads/t/events?run=r",
        "/v1/threads/t/clone",
        "/v1/import",
    ];
    for (server, encodings) in [
        (Harness::new(), &["gzip", "zstd", "br", "deflate", "compress", "x-gzip", "identity", ""][..]),
        (with("[\"gzip\"]"), &["zstd", "br", "gzip, gzip"]),
        (with("[\"zstd\"]"), &["gzip", "deflate"]),
    ] {
        for path in paths {
            for encoding in encodings {
                let body = compress(encoding, request("r", &json!([])).to_string().as_bytes());
                let (status, code, _) = post(&server, path, encoding, body).await.refusal().await;
                assert_eq!((status, code.as_str()), (415, "unsupported_media_type"), "{path} {encoding}");
            }
        }
        assert_eq!(server.get("/v1/threads/t", &[]).await.status, 404, "nothing was stored");
    }
}

#[tokio::test]
async fn what_is_said_in_a_compressed_body_is_what_counts() {
    for encoding in ["gzip", "zstd"] {
        let server = with("[\"gzip\", \"zstd\"]");
        let text = json!([{"id":"u","role":"user","content":"hello ".repeat(100)}]);
        let body = request("r", &text).to_string();
        let strings = server.agent.next_run();
        let run = post(&server, "/agui", encoding, compress(encoding, body.as_bytes())).await;
        strings.say(&json!({"type":"RUN_FINISHED","threadId":"t","runId":"r"}));
        run.all().await;
        assert_eq!(server.agent.requests()[0].body, body, "the agent gets it as it was meant");
        // What is stored is exported, and comes back through an import.
        let exported = server.get("/v1/threads/t/export", &[]).await.body().await;
        let other = with("[\"gzip\", \"zstd\"]");
        let import = post(&other, "/v1/import", encoding, compress(encoding, &exported)).await;
        assert_eq!(import.json().await["threadIds"], json!(["t"]));
        assert_eq!(other.get("/v1/threads/t/export", &[]).await.body().await, exported);

        // What is cut off leaves nothing.
        let cut = compress(encoding, &exported);
        let cut = cut[..cut.len() - 1].to_vec();
        let (status, code, _) =
            post(&other, "/v1/import?thread=u", encoding, cut.clone()).await.refusal().await;
        assert_eq!((status, code.as_str()), (400, "invalid_input"));
        assert_eq!(other.get("/v1/threads/u", &[]).await.status, 404);
        let cut = compress(encoding, body.as_bytes());
        let (status, _, _) =
            post(&other, "/agui", encoding, cut[..cut.len() - 1].to_vec()).await.refusal().await;
        assert_eq!(status, 400);
    }
}

#[tokio::test]
async fn the_limits_are_those_of_what_is_decoded() {
    // As large as may be, and one more.
    for encoding in ["gzip", "zstd"] {
        let server = with("[\"gzip\", \"zstd\"]");
        for (bytes, status) in [(100_000, 400), (100_001, 413)] {
            // Numbers, so that it does not get smaller by more than may be.
            let mut text: Vec<u8> =
                (0..).flat_map(|number: u32| format!("{number} ").into_bytes()).take(bytes).collect();
            text[0] = b'x';
            let body = compress(encoding, &text);
            assert!(body.len() * 20 > bytes, "{}", body.len());
            assert_eq!(
                post(&server, "/agui", encoding, body).await.refusal().await.0,
                status,
                "{encoding} {bytes}"
            );
        }
        let spaces = compress(encoding, &[b' '; 70_000]);
        let (status, code, _) = post(&server, "/agui", encoding, spaces).await.refusal().await;
        assert_eq!((status, code.as_str()), (413, "request_too_large"), "a bomb");
    }
}
