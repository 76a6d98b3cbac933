//! Artifacts of runs.

mod lane;

use crate::store::{filled, on};
use crate::{Ran, captures, threadline};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const RUN: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","timestamp":1776193200000}
{"type":"STATE_SNAPSHOT","snapshot":{"a":1}}
{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m1","role":"user","content":"Hello"},{"id":"m2","role":"assistant","content":"Hi there"}]}
{"type":"RUN_FINISHED","threadId":"t","runId":"r","timestamp":1776193202000}
"#;

fn evidence(args: &[&str], stdin: &str) -> Ran {
    let args: Vec<&str> = ["evidence"].iter().chain(args).copied().collect();
    threadline(&args, stdin)
}

/// The reasons that a command has given as JSON.
fn reasons(ran: &Ran) -> Vec<String> {
    let lines = ran.stderr.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.map(|line| line["reason"].as_str().expect("a reason").to_owned()).collect()
}

/// A directory with files in it, by their names.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(TempDir::new().expect("a directory"))
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("a path").to_owned()
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), bytes).expect("a file");
        self.path(name)
    }
}

/// An artifact with its statement, its envelope and the keys, as the commands made them.
struct Signed {
    files: Files,
    artifact: String,
    envelope: String,
    public: String,
}

fn signed() -> Signed {
    let files = Files::new();
    let (raw, statement) = (files.write("run.jsonl", RUN), files.path("statement.json"));
    let derived = evidence(&["derive", &raw, "--statement", &statement], "");
    assert_eq!(derived.code, 0, "{}", derived.stderr);
    let artifact = files.write("artifact.json", &derived.stdout);
    let (key, public) = (files.path("key.pem"), files.path("public.pem"));
    assert_eq!(evidence(&["keygen", &key, "--public", &public], "").code, 0);
    let envelope = evidence(&["sign", &artifact, "--statement", &statement, "--key", &key], "");
    assert_eq!(envelope.code, 0, "{}", envelope.stderr);
    let envelope = files.write("envelope.json", &envelope.stdout);
    Signed { files, artifact, envelope, public }
}

fn outcomes(ran: &Ran) -> Vec<(String, String)> {
    let verdict: Value = serde_json::from_str(ran.text()).expect("JSON");
    assert!(verdict["doesNotClaim"].as_array().is_some_and(|claims| claims.len() > 3));
    let text = |value: &Value| value.as_str().expect("a word").to_owned();
    let levels = verdict["levels"].as_array().expect("levels").iter();
    levels.map(|level| (text(&level["level"]), text(&level["outcome"]))).collect()
}

fn levels(outcomes: [&str; 5]) -> Vec<(String, String)> {
    let names = ["contract", "signature", "subject", "rederived", "chain"];
    names.iter().zip(outcomes).map(|(name, outcome)| ((*name).to_owned(), outcome.to_owned())).collect()
}

#[test]
fn a_recording_gives_an_artifact() {
    let derived = evidence(&["derive"], RUN);
    assert_eq!(derived.code, 0, "{}", derived.stderr);
    let artifact: Value = serde_json::from_str(derived.text()).expect("JSON");
    assert_eq!(artifact["started_at"], "2026-04-14T19:00:00Z");
    assert_eq!(artifact["finished_at"], "2026-04-14T19:00:02Z");
    assert_eq!(artifact["messages"].as_array().map(Vec::len), Some(2));
    assert!(derived.stderr.contains("dropped events: STATE_SNAPSHOT 1;"), "{}", derived.stderr);
    assert!(derived.stderr.contains("does not claim that the run can be replayed"), "{}", derived.stderr);
    let told = evidence(&["derive", "--format", "json"], RUN);
    let told: Value = serde_json::from_str(&told.stderr).expect("JSON");
    assert_eq!((&told["dropped"]["events"]["STATE_SNAPSHOT"], &told["clock"]), (&1.into(), &"events".into()));
    let checked = evidence(&["check"], derived.text());
    assert_eq!(checked.code, 0, "{}", checked.text());
}

#[test]
fn a_clock_is_asked_for_where_events_have_none() {
    let silent =
        RUN.replace(r#","timestamp":1776193200000"#, "").replace(r#","timestamp":1776193202000"#, "");
    let refused = evidence(&["derive", "--format", "json"], &silent);
    assert_eq!((refused.code, refused.text(), reasons(&refused)), (1, "", vec!["no_clock".to_owned()]));
    let given = evidence(&["derive", "--started-at", "2026-04-14T21:00:00+02:00"], &silent);
    assert_eq!(given.code, 0, "{}", given.stderr);
    let artifact: Value = serde_json::from_str(given.text()).expect("JSON");
    assert_eq!(artifact["started_at"], "2026-04-14T21:00:00+02:00");
    assert!(artifact.get("finished_at").is_none());
    let args = ["derive", "--started-at", "2026-04-14T19:00:00Z", "--finished-at", "2026-04-14T18:00:00Z"];
    let refused = evidence(&args, &silent);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("refused: finished_before_started"), "{}", refused.stderr);
    assert_eq!(evidence(&["derive", "--finished-at", "2026-04-14T18:00:00Z"], RUN).code, 2);
}

#[test]
fn all_reasons_are_told() {
    let bad =
        RUN.replace("\"Hello\"", "\" Hello\"").replace("\"role\":\"assistant\"", "\"role\":\"reasoning\"");
    let refused = evidence(&["derive", "--format", "json"], &bad);
    assert_eq!(
        (refused.code, reasons(&refused)),
        (1, vec!["reasoning_role".to_owned(), "padded".to_owned()])
    );
    let nonsense = evidence(&["derive", "--format", "json"], "nonsense");
    assert_eq!((nonsense.code, reasons(&nonsense)[0].as_str()), (1, "malformed_event"));
    assert_eq!(evidence(&["derive", "no-such-file"], "").code, 3);
    assert_eq!(evidence(&["derive", "--thread", "t"], "").code, 2);
}

#[test]
fn what_came_as_protobuf_has_no_raw_json() {
    let binary = threadline(&["convert", "--to", "proto", "--from", "jsonl"], RUN);
    assert_eq!(binary.code, 0, "{}", binary.stderr);
    let files = Files::new();
    let refused = evidence(&["derive", &files.write("run.bin", &binary.stdout), "--format", "json"], "");
    assert!(reasons(&refused).contains(&"raw_not_kept".to_owned()), "{}", refused.stderr);
}

#[test]
fn what_we_make_ourselves_is_refused() {
    let compacted = threadline(&["compact", "--form", "snapshot"], RUN);
    let refused = evidence(&["derive", "--format", "json"], compacted.text());
    assert_eq!((refused.code, reasons(&refused)), (1, vec!["synthesised_snapshot".to_owned()]));
    let store = TempDir::new().expect("a directory");
    assert_eq!(on(store.path(), &["import"], RUN).code, 0);
    let exported = on(store.path(), &["export", "t", "--form", "snapshot"], "");
    let given = ["derive", "--format", "json", "--started-at", "2026-04-14T19:00:00Z"];
    let refused = evidence(&given, exported.text());
    assert_eq!((refused.code, reasons(&refused)), (1, vec!["synthesised_snapshot".to_owned()]));
    // In the stream form the integration's own snapshot stays where it was.
    let compacted = threadline(&["compact", "--form", "stream"], RUN);
    assert_eq!(evidence(&["derive"], compacted.text()).code, 0);
}

/// What the contract's study expects of every recorded run, by its file.
fn expected(capture: &Path) -> &'static [&'static str] {
    let (version, name) = (capture.parent().and_then(Path::file_name), capture.file_name());
    let (version, name) = (version.and_then(|name| name.to_str()), name.and_then(|name| name.to_str()));
    match (version.expect("a version"), name.expect("a name").split('.').next().expect("a scenario")) {
        _ if name.is_some_and(|name| name.contains("snapshot-off")) => &["no_snapshot"],
        (_, "plain_chat" | "plain_chat_turn2_parent") => &[],
        ("0.6.0", _) => &["double_terminal", "no_snapshot"],
        (_, "long_unicode") => &["too_long", "padded"],
        (_, "reasoning") => &["reasoning_role"],
        (_, "tool_call") => &["tool_shaped", "tool_shaped"],
        _ => &["no_snapshot"],
    }
}

#[test]
fn every_capture_has_its_verdict_and_is_derived_again_byte_for_byte() {
    let times =
        ["--started-at", "2026-11-15T01:25:57.239000Z", "--finished-at", "2026-11-15T01:25:57.845000Z"];
    let mut derivable = 0;
    for (sse, jsonl) in captures() {
        let [from_sse, from_jsonl] = [&sse, &jsonl].map(|path| {
            let args = ["derive", path.to_str().expect("a path"), "--format", "json"];
            evidence(&[&args[..], &times[..]].concat(), "")
        });
        assert_eq!((&from_sse.stdout, &from_sse.stderr), (&from_jsonl.stdout, &from_jsonl.stderr));
        let expected = expected(&sse);
        if expected.is_empty() {
            derivable += 1;
            assert_eq!(from_sse.code, 0, "{}", from_sse.stderr);
            assert!(from_sse.stdout.len() < fs::read(&jsonl).expect("a file").len());
        } else {
            assert_eq!((from_sse.code, from_sse.text()), (1, ""));
            assert_eq!(reasons(&from_sse), expected, "{}", sse.display());
        }
    }
    assert_eq!(derivable, 3);
}

#[test]
fn a_stored_run_gives_an_artifact_by_the_recorders_clock() {
    let store = filled();
    let (_, jsonl) = captures().into_iter().find(|(sse, _)| expected(sse).is_empty()).expect("a good one");
    let first = fs::read_to_string(&jsonl).expect("a recording");
    let first: Value = serde_json::from_str(first.lines().next().expect("an event")).expect("JSON");
    let (thread, run) = (first["threadId"].as_str().expect("an id"), first["runId"].as_str().expect("an id"));
    let files = Files::new();
    let statement = files.path("statement.json");
    let args = ["evidence", "derive", "--thread", thread, "--run", run, "--statement", &statement];
    let derived = on(store.path(), &args, "");
    assert_eq!(derived.code, 0, "{}", derived.stderr);
    let told: Value = serde_json::from_slice(&fs::read(&statement).expect("written")).expect("JSON");
    let predicate = &told["predicate"];
    assert_eq!(predicate["clock"], "recorder");
    assert_eq!(predicate["source"]["scope"], json!({"app": "default", "user": "default"}));
    assert_eq!((&predicate["source"]["thread"], &predicate["source"]["run"]), (&thread.into(), &run.into()));
    assert_eq!(predicate["raw"]["count"], fs::read_to_string(&jsonl).expect("it").lines().count());
    let artifact = files.write("artifact.json", &derived.stdout);
    let args = [
        "evidence",
        "verify",
        &artifact,
        "--statement",
        &statement,
        "--thread",
        thread,
        "--run",
        run,
        "--format",
        "json",
    ];
    let verified = on(store.path(), &args, "");
    assert_eq!(
        outcomes(&verified),
        levels(["passed", "not_checked", "passed", "passed", "passed"]),
        "{}",
        verified.text()
    );
    // An export is enough, for who has nothing but that.
    let (exported, copy) = (on(store.path(), &["export", thread], ""), TempDir::new().expect("a directory"));
    assert_eq!(on(copy.path(), &["import"], exported.text()).code, 0);
    assert_eq!(on(copy.path(), &args, "").stdout, verified.stdout);
    // A value that the log's records do not give.
    let mut other = told;
    other["predicate"]["chain"]["value"] = "0".repeat(64).into();
    fs::write(&statement, other.to_string()).expect("a file");
    let verified = on(store.path(), &args, "");
    assert_eq!(verified.code, 1);
    assert_eq!(
        outcomes(&verified),
        levels(["passed", "not_checked", "passed", "passed", "failed"]),
        "{}",
        verified.text()
    );
    let unknown = on(store.path(), &["evidence", "derive", "--thread", thread, "--run", "nobody"], "");
    assert_eq!(unknown.code, 2, "{}", unknown.stderr);
}

#[test]
fn verifying_answers_level_by_level() {
    let Signed { files, artifact, envelope, public } = signed();
    let raw = files.path("run.jsonl");
    let verify = |args: &[&str]| {
        let args: Vec<&str> = ["verify", "--format", "json"].iter().chain(args).copied().collect();
        evidence(&args, "")
    };
    let all = verify(&[&artifact, "--envelope", &envelope, "--key", &public, "--raw", &raw]);
    assert_eq!(
        (all.code, outcomes(&all)),
        (0, levels(["passed", "passed", "passed", "passed", "not_checked"])),
        "{}",
        all.text()
    );
    let bare = verify(&[&artifact]);
    assert_eq!(
        (bare.code, outcomes(&bare)),
        (0, levels(["passed", "not_checked", "not_checked", "not_checked", "not_checked"]))
    );
    assert_eq!(verify(&[&artifact, "--require", "contract"]).code, 0);
    assert_eq!(verify(&[&artifact, "--require", "contract,signature"]).code, 1);
    // Other bytes, another raw run, somebody else's key.
    let text = fs::read_to_string(&artifact).expect("text");
    let other = files.write("other.json", text.replace("Hi there", "Hi There"));
    let changed = verify(&[&other, "--envelope", &envelope, "--key", &public, "--raw", &raw]);
    assert_eq!(
        (changed.code, outcomes(&changed)),
        (1, levels(["passed", "passed", "failed", "failed", "not_checked"]))
    );
    let reordered = files.write("reordered.jsonl", RUN.replace(r#"{"a":1}"#, r#"{"a":2}"#));
    let changed = verify(&[&artifact, "--envelope", &envelope, "--key", &public, "--raw", &reordered]);
    assert_eq!(
        (changed.code, outcomes(&changed)),
        (1, levels(["passed", "passed", "passed", "failed", "not_checked"]))
    );
    assert_eq!(evidence(&["keygen", &files.path("k2"), "--public", &files.path("p2")], "").code, 0);
    let stranger = verify(&[&artifact, "--envelope", &envelope, "--key", &files.path("p2")]);
    assert_eq!(
        (stranger.code, outcomes(&stranger)),
        (1, levels(["passed", "failed", "not_checked", "not_checked", "not_checked"]))
    );
    let both = verify(&[&artifact, "--envelope", &envelope, "--key", &files.path("p2"), "--key", &public]);
    assert_eq!(both.code, 0);
    // For people.
    let text = evidence(&["verify", &artifact, "--envelope", &envelope, "--key", &public], "");
    assert!(text.text().contains("signature  passed       signed by a trusted key"), "{}", text.text());
    assert!(!text.text().contains("verified"), "{}", text.text());
    assert_eq!(verify(&["no-such-file"]).code, 3);
    assert_eq!(verify(&[&artifact, "--envelope", &envelope, "--key", &artifact]).code, 2);
}

#[test]
fn only_what_a_statement_is_about_is_signed() {
    let Signed { files, artifact, .. } = signed();
    let (statement, key) = (files.path("statement.json"), files.path("key.pem"));
    let sign = |artifact: &str, statement: &str| {
        let ran = evidence(&["sign", artifact, "--statement", statement, "--key", &key], "");
        assert_eq!(ran.text().is_empty(), ran.code != 0);
        (ran.code, ran.stderr)
    };
    let text = fs::read_to_string(&artifact).expect("text");
    let other = files.write("other.json", text.replace("Hi there", "Hi There"));
    let (code, said) = sign(&other, &statement);
    assert_eq!(code, 1);
    assert!(said.contains("not signed: the statement is about other bytes"), "{said}");
    let bad = files.write("bad.json", text.replace("ag_ui", "ag-ui"));
    assert!(sign(&bad, &statement).1.contains("refused: wrong_value"));
    assert_eq!(sign(&artifact, &artifact).0, 2);
    assert_eq!(sign(&artifact, &statement).0, 0);
}

#[test]
fn a_key_is_never_written_over() {
    let files = Files::new();
    let key = files.path("key.pem");
    let made = evidence(&["keygen", &key], "");
    assert_eq!(made.code, 0, "{}", made.stderr);
    assert!(made.text().starts_with("-----BEGIN PUBLIC KEY-----\n"));
    let written = fs::read(&key).expect("a key");
    let again = evidence(&["keygen", &key], "");
    assert_eq!((again.code, again.text()), (2, ""));
    assert_eq!(fs::read(&key).expect("a key"), written);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&key).expect("a file").permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn artifacts_are_compared() {
    let Signed { files, artifact, .. } = signed();
    assert_eq!(evidence(&["diff", &artifact, &artifact], "").code, 0);
    let text = fs::read_to_string(&artifact).expect("text");
    let other = files.write(
        "other.json",
        text.replace("Hi there", "Hi\\nThere")
            .replace("RUN_FINISHED", "RUN_ERROR")
            .replace("\"finished_at\"", "\"error_message\": \"it broke\",\n  \"finished_at\""),
    );
    let ran = evidence(&["diff", &artifact, &other], "");
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert_eq!(
        ran.text(),
        "terminal_event: \"RUN_FINISHED\" -> \"RUN_ERROR\"\nerror_message: (absent) -> \"it broke\"\n~ message 1 -> 1 m2\n    content: \"Hi there\" -> \"Hi\\nThere\"\n"
    );
    let told = evidence(&["diff", &artifact, &other, "--format", "json"], "");
    let told: Value = serde_json::from_str(told.text()).expect("JSON");
    assert_eq!((&told["same"], &told["messages"][0]["change"]), (&false.into(), &"changed".into()));
    assert_eq!(evidence(&["diff", &artifact, &files.write("bad.json", "{}")], "").code, 2);
}

/// A file of the sample lane.
fn sample(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("examples/ag-ui-compacted-message-snapshot-evidence").join(name)
}

/// What was printed once holds as long as the records do, also when the thread has gone on.
#[test]
fn the_head_of_a_chain_can_be_kept_elsewhere() {
    let files = Files::new();
    let store = TempDir::new().expect("a directory");
    assert_eq!(on(store.path(), &["import"], RUN).code, 0);
    let head = on(store.path(), &["evidence", "head", "t"], "");
    assert_eq!(head.code, 0, "{}", head.stderr);
    let mut value: Value = serde_json::from_str(head.text()).expect("JSON");
    assert_eq!((&value["from"], &value["at"]), (&0.into(), &4.into()));
    let pinned = files.write("pinned.json", head.text());
    let checked = on(store.path(), &["evidence", "head", "t", "--pinned", &pinned], "");
    assert_eq!(checked.code, 0, "{}", checked.text());
    assert!(checked.text().starts_with("passed"), "{}", checked.text());
    value["value"] = "0".repeat(64).into();
    let other = files.write("other.json", value.to_string());
    let checked = on(store.path(), &["evidence", "head", "t", "--pinned", &other], "");
    assert_eq!(checked.code, 1, "{}", checked.text());
    assert!(checked.text().starts_with("failed"), "{}", checked.text());
    let odd = files.write("odd.json", "{}");
    assert_eq!(on(store.path(), &["evidence", "head", "t", "--pinned", &odd], "").code, 2);
}
