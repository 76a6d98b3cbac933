//! Evidence of runs of the real ADK middleware, through a server.

use super::process::Served;
use crate::store::on;
use crate::{Ran, threadline};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use tempfile::TempDir;
use threadline_interop::adk::Adk;

/// The agents, and why their runs give no artifact.
const AGENTS: [(&str, &str, &[&str]); 6] = [
    ("plain", "plain/snapshot", &[]),
    ("off", "plain", &["no_snapshot"]),
    ("tool", "tool/snapshot", &["tool_shaped"]),
    ("reasoning", "reasoning/snapshot", &["reasoning_role"]),
    ("error", "error/snapshot", &["no_snapshot"]),
    ("refused", "refused/snapshot", &["no_snapshot"]),
];

/// The reasons that a command has given, each once: a snapshot is of the whole thread, and says some things twice.
fn reasons(ran: &Ran) -> BTreeSet<String> {
    let lines = ran.stderr.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.filter_map(|line| line["reason"].as_str().map(str::to_owned)).collect()
}

/// The levels and their outcomes.
fn levels(ran: &Ran) -> Vec<(String, String)> {
    let verdict: Value = serde_json::from_str(ran.text()).expect("JSON");
    let word = |value: &Value| value.as_str().expect("a word").to_owned();
    let levels = verdict["levels"].as_array().expect("levels").iter();
    levels.map(|level| (word(&level["level"]), word(&level["outcome"]))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_adk_are_derived_signed_and_verified_from_the_log() {
    let (adk, dir) = (Adk::start(), TempDir::new().expect("a directory"));
    let section =
        |(name, path, _): &(&str, &str, _)| format!("[agents.{name}]\nurl = \"{}\"\n", adk.url(path));
    let server = Served::start(dir.path(), &AGENTS.iter().map(section).collect::<String>());
    for (agent, _, _) in AGENTS {
        for run in ["r1", "r2"] {
            server.client.run(agent, &format!("thread-{agent}"), run).await.all().await;
        }
    }
    let url = format!("http://{}", server.client.address);
    for (agent, _, expected) in AGENTS {
        let thread = format!("thread-{agent}");
        let args =
            ["evidence", "derive", "--thread", &thread, "--run", "r2", "--format", "json", "--server", &url];
        let derived = threadline(&args, "");
        let expected: BTreeSet<String> = expected.iter().map(|reason| (*reason).to_owned()).collect();
        assert_eq!(reasons(&derived), expected, "{agent}: {}", derived.stderr);
        assert_eq!(derived.code, i32::from(!expected.is_empty()));
    }

    let file = |name: &str| dir.path().join(name).to_str().expect("a path").to_owned();
    let [artifact, statement, key, public, envelope] =
        ["artifact.json", "statement.json", "key.pem", "public.pem", "envelope.json"].map(file);
    let args = ["evidence", "derive", "--thread", "thread-plain", "--run", "r2", "--server", &url];
    let derived = threadline(&[&args[..], &["--statement", &statement, "--format", "json"]].concat(), "");
    fs::write(&artifact, &derived.stdout).expect("a file");
    let told: Value = serde_json::from_str(&derived.stderr).expect("JSON");
    assert!(
        derived.stdout.len()
            < usize::try_from(told["rawBytes"].as_u64().expect("a number")).expect("it fits")
    );
    assert_eq!(
        (&told["clock"], &told["dropped"]["events"]["STATE_SNAPSHOT"]),
        (&"recorder".into(), &1.into())
    );
    let said: Value = serde_json::from_slice(&derived.stdout).expect("JSON");
    // The snapshot is of the whole thread.
    assert_eq!(said["messages"].as_array().map(Vec::len), Some(4), "{said}");
    assert_eq!(said["messages"][3]["content"], "Refunds take five days.");

    // The routes give the same.
    for (path, name) in [("artifact", &artifact), ("artifact/statement", &statement)] {
        let told = server.client.get(&format!("/v1/threads/thread-plain/runs/r2/{path}")).await.text().await;
        assert_eq!(told, fs::read_to_string(name).expect("a file"));
    }

    assert_eq!(threadline(&["evidence", "keygen", &key, "--public", &public], "").code, 0);
    let signed = threadline(&["evidence", "sign", &artifact, "--statement", &statement, "--key", &key], "");
    assert_eq!(signed.code, 0, "{}", signed.stderr);
    fs::write(&envelope, &signed.stdout).expect("a file");
    let verify =
        ["evidence", "verify", &artifact, "--envelope", &envelope, "--key", &public, "--format", "json"];
    let verify = [&verify[..], &["--thread", "thread-plain", "--run", "r2"]].concat();
    let at_server = threadline(&[&verify[..], &["--server", &url]].concat(), "");
    assert_eq!(at_server.code, 0, "{}", at_server.text());
    assert!(levels(&at_server).iter().all(|(_, outcome)| outcome == "passed"), "{}", at_server.text());
    server.stop().await;
    from_the_store(&dir.path().join("store"), &verify, &derived.stdout);
}

/// What is true of the log without its server.
fn from_the_store(store: &Path, verify: &[&str], artifact: &[u8]) {
    let verified = on(store, verify, "");
    assert_eq!(verified.code, 0, "{}{}", verified.text(), verified.stderr);
    assert!(levels(&verified).iter().all(|(_, outcome)| outcome == "passed"), "{}", verified.text());
    let derived = on(store, &["evidence", "derive", "--thread", "thread-plain", "--run", "r2"], "");
    assert_eq!(derived.stdout, artifact);
    // Another run is not the one that was signed.
    let other: Vec<&str> = verify.iter().map(|word| if *word == "r2" { "r1" } else { word }).collect();
    assert_eq!(on(store, &other, "").code, 1);
}
