//! The arrows between the crates, as ARCHITECTURE.md draws them.

use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

/// Which of our crates each of our crates may use. A crate that is not listed may not exist.
const ALLOWED: &[(&str, &[&str])] = &[
    ("threadline-protocol", &[]),
    ("threadline-log", &["threadline-protocol"]),
    ("threadline-agent", &["threadline-protocol"]),
    ("threadline-client", &["threadline-protocol"]),
    ("threadline-evidence", &["threadline-protocol"]),
    ("threadline-inspector", &[]),
    (
        "threadline-server",
        &[
            "threadline-agent",
            "threadline-client",
            "threadline-evidence",
            "threadline-inspector",
            "threadline-log",
            "threadline-protocol",
        ],
    ),
    (
        "threadline-cli",
        &[
            "threadline-agent",
            "threadline-client",
            "threadline-evidence",
            "threadline-log",
            "threadline-protocol",
            "threadline-server",
            "threadline-store-disk",
            "threadline-store-postgres",
        ],
    ),
    ("threadline-testkit", &["threadline-log", "threadline-protocol"]),
    ("threadline-store-disk", &["threadline-log", "threadline-protocol"]),
    ("threadline-store-postgres", &["threadline-log"]),
    ("threadline-interop", &[]),
];

/// What the protocol crate must never need: I/O, clocks, HTTP.
const FORBIDDEN_IN_PROTOCOL: &[&str] = &["tokio", "hyper", "axum", "reqwest", "chrono", "time", "rand"];

#[test]
fn crates_use_each_other_only_as_drawn() {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo metadata");
    let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("metadata");
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.iter().copied().collect();
    for package in metadata["packages"].as_array().expect("packages") {
        let name = package["name"].as_str().expect("a name");
        let may_use = allowed.get(name).unwrap_or_else(|| panic!("{name} is not in the drawing"));
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let used = dependency["name"].as_str().expect("a name");
            let for_tests = dependency["kind"] == "dev";
            if used.starts_with("threadline-") && !for_tests {
                assert!(may_use.contains(&used), "{name} must not use {used}");
            }
            assert!(used != "threadline-testkit" || for_tests, "{name} uses the testkit outside of tests");
            assert!(
                name != "threadline-protocol" || !FORBIDDEN_IN_PROTOCOL.contains(&used),
                "{name} must not use {used}"
            );
        }
    }
}
