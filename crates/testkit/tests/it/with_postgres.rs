//! A command with a PostgreSQL of its own.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use threadline_testkit::postgres::SHARED;

/// The program, with a shell as the command.
fn with_postgres(script: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_with-postgres"));
    command.args(["sh", "-c", script]);
    command
}

/// The folder of the server at a URL, and what the system says of its process.
fn found(url: &str) -> (PathBuf, PathBuf) {
    let port = url.rsplit_once(':').and_then(|(_, rest)| rest.split('/').next()).expect("a port");
    for entry in std::fs::read_dir(std::env::temp_dir()).expect("a folder") {
        let folder = entry.expect("a folder").path();
        let kept = std::fs::read_to_string(folder.join("data/postmaster.pid")).unwrap_or_default();
        let mut lines = kept.lines();
        if let (Some(process), Some(found)) = (lines.next(), lines.nth(2))
            && found == port
        {
            return (folder, PathBuf::from(format!("/proc/{process}")));
        }
    }
    panic!("no server at {url}");
}

#[test]
fn a_command_has_a_server_and_its_end_is_passed_on() {
    let ran = with_postgres(&format!("echo ${SHARED}; exit 7")).output().expect("it starts");
    assert_eq!(ran.status.code(), Some(7));
    let url = String::from_utf8(ran.stdout).expect("text");
    assert!(url.starts_with("postgres://postgres@127.0.0.1:"), "{url}");
    let ran = with_postgres("kill -9 $$").output().expect("it starts");
    assert_eq!(ran.status.code(), Some(128 + 9));
    let ran = Command::new(env!("CARGO_BIN_EXE_with-postgres")).arg("/nowhere").output().expect("it starts");
    assert_eq!(ran.status.code(), Some(3));
}

#[test]
fn nothing_is_left_of_a_server_whose_command_is_killed_or_told_to_stop() {
    for (signal, code) in [("KILL", None), ("TERM", Some(128 + 15))] {
        let mut command = with_postgres(&format!("echo ${SHARED} $$; exec sleep 600"));
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let mut said = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        stdout.read_line(&mut said).expect("a line");
        let (url, command) = said.trim().split_once(' ').expect("two words");
        let (folder, server) = found(url);
        assert!(server.exists());
        send(signal, &child.id().to_string());
        assert_eq!(child.wait().expect("an end").code(), code);
        while folder.exists() {
            std::thread::yield_now();
        }
        assert!(!server.exists());
        if signal == "KILL" {
            // Who is killed can tell nobody.
            send("TERM", command);
        }
    }
}

fn send(signal: &str, process: &str) {
    let sent = Command::new("sh").args(["-c", &format!("kill -{signal} {process}")]).status();
    assert!(sent.expect("a shell").success());
}
