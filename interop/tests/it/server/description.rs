//! The server's description of itself, and whether it keeps to it: schemathesis makes requests from it, right ones and wrong ones, and holds
//! every answer against it. How it asks, and what it leaves out, is in `peers/python/schemathesis.toml`.

use super::fixture::Server;
use std::path::Path;
use std::process::Command;

/// How many cases a route is asked at random, beside those that are drawn from the description in order.
const CASES: &str = "20";

/// The same requests each time. Others, for so many seconds: `THREADLINE_DESCRIPTION_SECONDS`.
#[test]
fn the_server_keeps_to_its_description() {
    let (server, token) = Server::with_demo_and_token();
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/python");
    let mut schemathesis = Command::new(python.join(".venv/bin/st"));
    schemathesis.current_dir(&python).args(["run", &server.url("/openapi.json"), "--no-color"]);
    match std::env::var("THREADLINE_DESCRIPTION_SECONDS") {
        Ok(seconds) => schemathesis.args(["--max-time", &seconds, "--seed", &std::process::id().to_string()]),
        Err(_) => schemathesis.args(["--max-examples", CASES]),
    };
    schemathesis.env("THREADLINE_URL", server.url("")).env("THREADLINE_TOKEN", &token);
    schemathesis.env("PYTHONHASHSEED", "0");
    let said = schemathesis.output().expect("schemathesis starts; run interop/peers/setup first");
    let report = String::from_utf8_lossy(&said.stdout);
    assert!(said.status.success(), "{report}{}", String::from_utf8_lossy(&said.stderr));
    assert!(report.contains("No issues found"), "{report}");
}
