//! How the program is spoken to, and how it ends.

use crate::threadline;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

#[test]
fn it_says_what_it_can_do() {
    let ran = threadline(&["--help"], "");
    assert_eq!(ran.code, 0);
    for command in ["serve", "convert", "translate", "enforce", "check"] {
        assert!(ran.text().contains(command), "{}", ran.text());
    }
}

#[test]
fn without_a_command_it_serves() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_threadline"))
        .args(["--listen", "127.0.0.1:0", "--store", "memory:"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("threadline starts");
    let mut greeting = String::new();
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    stdout.read_line(&mut greeting).expect("it says where it is");
    child.kill().expect("it can be ended");
    child.wait().expect("it ends");
    assert!(greeting.starts_with("Threadline is listening on http://127.0.0.1:"), "{greeting}");
}

#[test]
fn flags_come_before_the_environment_and_that_before_the_file() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("threadline.toml"), "listen = '127.0.0.1:0'\nstore = 'of-the-file'\n")
        .expect("a file");
    std::fs::write(dir.path().join("other.toml"), "store = 'of-another'\n").expect("a file");
    let store = |args: &[&str], environment: &[(&str, &str)]| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_threadline"))
            .arg("serve")
            .args(args)
            .env_clear()
            .envs(environment.iter().copied())
            .current_dir(dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("threadline starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let said =
            lines.map_while(Result::ok).find_map(|line| Some(line.strip_prefix("  store  ")?.to_owned()));
        child.kill().expect("it can be ended");
        child.wait().expect("it ends");
        said.expect("it says where its store is")
    };
    let environment = ("THREADLINE_STORE", "of-the-environment");
    assert_eq!(store(&[], &[]), "of-the-file");
    assert_eq!(store(&[], &[environment]), "of-the-environment");
    assert_eq!(store(&["--store", "of-the-flag"], &[environment]), "of-the-flag");
    let listen = ("THREADLINE_LISTEN", "127.0.0.1:0");
    assert_eq!(store(&["--config", "other.toml"], &[listen]), "of-another");
    let named = ("THREADLINE_CONFIG", "other.toml");
    assert_eq!(store(&[], &[listen, named]), "of-another");
    assert_eq!(store(&["--config", "threadline.toml"], &[named]), "of-the-file");
    std::fs::remove_file(dir.path().join("threadline.toml")).expect("a file");
    assert_eq!(store(&[], &[listen]), "threadline-data", "what nobody says is the default");
}

#[test]
fn a_server_that_cannot_be_is_told_why() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.to_str().expect("text").to_owned()
    };
    let (typo, broken) =
        (file("typo.toml", "# mine\nlog = \"info\"\nhistroy = 1"), file("broken.toml", "listen = "));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("an address").to_string();
    for (args, code, said) in [
        (["--listen", "0.0.0.0:0"], 2, "say --tokens FILE, or listen on a loopback address. given=0.0.0.0:0"),
        (["--listen", "8000"], 2, "--listen takes an address and a port"),
        (["--listen", &taken], 3, "cannot listen on"),
        (["--agent", "chat"], 2, "--agent takes a name and a URL"),
        (["--agent", "chat=ftp://x/"], 2, "agent chat: "),
        (["--config", &typo], 2, "typo.toml: line 3: unknown field `histroy`"),
        (["--config", &broken], 2, "broken.toml"),
        (["--config", "no/such/file"], 3, "cannot read no/such/file"),
        (["--log", "a=b=c"], 2, "--log: "),
        (["--tokens", "no/such/file"], 3, "cannot read no/such/file"),
    ] {
        let ran = threadline(&[&["serve", "--store", "memory:"], &args[..]].concat(), "");
        assert_eq!(ran.code, code, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn the_inspector_is_off_where_others_can_reach_it_unless_somebody_wants_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).to_str().expect("text").to_owned();
    let (tokens, always, never) = (path("tokens.jsonl"), path("always.toml"), path("never.toml"));
    assert_eq!(threadline(&["token", "create", "--user", "ann", "--tokens", &tokens], "").code, 0);
    std::fs::write(&always, "[http]\ninspector = \"always\"").expect("a file");
    std::fs::write(&never, "[http]\ninspector = \"never\"").expect("a file");
    let said = |more: &[&str]| {
        let ran = threadline(&[&["serve", "--check", "--tokens", &tokens], more].concat(), "");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        String::from_utf8(ran.stdout).expect("text").contains("page    the inspector")
    };
    assert!(said(&["--listen", "127.0.0.1:0"]));
    assert!(!said(&["--listen", "0.0.0.0:0"]));
    assert!(said(&["--listen", "0.0.0.0:0", "--config", &always]));
    assert!(!said(&["--listen", "127.0.0.1:0", "--config", &never]));
}

#[test]
fn exit_codes_are_as_documented() {
    assert_eq!(threadline(&["convert"], "").code, 2);
    assert_eq!(threadline(&["convert", "--to", "xml"], "").code, 2);
    assert_eq!(threadline(&["enforce"], "{}\n").code, 2);
    assert_eq!(threadline(&["enforce"], "<html>").code, 2);
    assert_eq!(threadline(&["enforce"], b"{\"type\":\"\xff\"}").code, 2);
    let missing = threadline(&["enforce", "no/such/file"], "");
    assert_eq!(missing.code, 3);
    assert!(missing.stderr.starts_with("threadline: cannot read no/such/file: "), "{}", missing.stderr);
    assert_eq!(threadline(&["enforce"], "").code, 0);
}

#[test]
fn the_format_can_be_told() {
    let told = threadline(&["convert", "--from", "sse", "--to", "jsonl"], "\n\ndata: {\"type\":\"X\"}");
    assert_eq!((told.code, told.text()), (0, "{\"type\":\"X\"}\n"));
    let told = threadline(&["convert", "--from", "json", "--to", "jsonl"], "[{\"type\":\"X\"}]");
    assert_eq!((told.code, told.text()), (0, "{\"type\":\"X\"}\n"));
    for not_json in ["data: {\"type\":\"X\"}\n\n", "\0\0\0\u{9}r\u{7}\n\u{2}\u{8}\r\u{1a}\u{1}x"] {
        assert_eq!(threadline(&["convert", "--from", "json", "--to", "jsonl"], not_json).code, 2);
    }
    let wrong = threadline(&["convert", "--from", "jsonl", "--to", "jsonl"], "data: {\"type\":\"X\"}\n\n");
    assert_eq!(wrong.code, 2);
}

#[test]
fn nothing_is_written_for_a_file_that_is_not_there() {
    let ran = threadline(&["convert", "--to", "json", "no/such/file"], "");
    assert_eq!((ran.code, ran.text()), (3, ""));
}

#[test]
fn an_event_can_neither_forge_findings_nor_command_the_terminal() {
    let ran = threadline(&["enforce"], "{\"type\":\"A\\nstdin: line 9: FORGED\\u001b[31m\"}\n");
    assert_eq!(ran.stderr, "stdin: line 1: A\\nstdin: line 9: FORGED\\u{1b}[31m: unknown, dropped\n");
}

#[test]
fn a_place_is_said_once() {
    let ran = threadline(&["convert", "--to", "jsonl"], b"\0\xff\xff\xff");
    assert_eq!(ran.stderr, "stdin: event 1 (byte 0): frame too large. size=16777219, limit=10485760\n");
}

#[test]
fn results_of_a_live_stream_appear_at_once() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_threadline"))
        .args(["convert", "--from", "sse", "--to", "jsonl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for _ in 0..3 {
        stdin.write_all(b"data: {\"type\":\"X\"}\n\n").unwrap();
        // The input stays open: a result that waited for its end would never come.
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "{\"type\":\"X\"}\n");
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_reader_that_leaves_hides_nothing() {
    // Standard output is closed before anything is written, so that every write to it fails.
    let run = |input: &[u8]| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_threadline"))
            .args(["enforce", "--keep-going"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input).unwrap();
        drop(stdin);
        child.wait_with_output().unwrap()
    };
    let good = b"{\"type\":\"RUN_ERROR\",\"message\":\"m\"}\n";
    assert_eq!(run(good).status.code(), Some(0));
    let bad = run(&[b"no event\n", &good[..]].concat());
    assert_eq!(bad.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&bad.stderr).starts_with("stdin: line 1: "));
}

#[test]
fn a_file_beside_the_events_must_hold_what_it_should() {
    let path = std::env::temp_dir().join(format!("threadline-bad-{}.json", std::process::id()));
    std::fs::write(&path, "{").unwrap();
    let file = path.to_str().unwrap();
    for args in [["fold", "--input", file], ["compact", "--base-state", file]] {
        let ran = threadline(&args, "");
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.starts_with("threadline: cannot use "), "{}", ran.stderr);
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn what_is_no_event_is_unreadable_to_fold_as_to_others() {
    let ran = threadline(&["fold"], "no event\n");
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.text().contains("\"rule\": \"unreadable\""), "{}", ran.text());
    assert_eq!(threadline(&["fold", "--lenient"], "no event\n").code, 1);
}

#[test]
fn tokens_are_made_listed_and_revoked() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("tokens.jsonl").to_str().expect("text").to_owned();
    let token = |args: &[&str]| threadline(&[&["token", "--tokens", &file], args].concat(), "");
    let made =
        token(&["create", "--user", "ann", "--permission", "read", "--expires", "24h", "--note", "reports"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let text = made.text().trim_end().to_owned();
    let (id, secret) = text.strip_prefix("tl_").and_then(|rest| rest.split_once('_')).expect("a token");
    assert_eq!((id.len(), secret.len()), (12, 64));
    let kept = std::fs::read_to_string(&file).expect("the file");
    assert!(kept.contains(id) && !kept.contains(secret), "{kept}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&file).expect("the file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    assert_eq!(token(&["create"]).code, 0);
    let listed = token(&["list"]).text().to_owned();
    assert_eq!(listed.lines().count(), 3, "{listed}");
    assert!(
        listed.lines().nth(1).is_some_and(|line| line.contains(id) && line.ends_with("reports")),
        "{listed}"
    );
    let refused = token(&["revoke", id, "nobody"]);
    assert_eq!((refused.code, token(&["list"]).text().lines().count()), (2, 3), "{}", refused.stderr);
    assert_eq!(token(&["revoke", id]).code, 0);
    assert!(!std::fs::read_to_string(&file).expect("the file").contains(id));
    assert_eq!(token(&["create", "--permission", "root"]).code, 2);
}
