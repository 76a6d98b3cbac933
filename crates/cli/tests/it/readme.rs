//! The README's story of one run: exactly its commands, and what it says that they print.

use crate::run;
use crate::serving::process::Served;
use std::path::Path;
use std::process::Command;

/// A command of the README, and the lines that follow it.
struct Shown<'a> {
    command: &'a str,
    lines: Vec<&'a str>,
}

fn story(readme: &str) -> Vec<Shown<'_>> {
    let (_, rest) = readme.split_once("### One run, from its recording to a store").expect("the story");
    let (_, rest) = rest.split_once("```console\n").expect("its commands");
    let (block, _) = rest.split_once("```").expect("their end");
    let mut shown: Vec<Shown<'_>> = Vec::new();
    for line in block.lines() {
        match line.strip_prefix("$ ") {
            Some(command) => shown.push(Shown { command, lines: Vec::new() }),
            None => shown.last_mut().expect("a command first").lines.push(line),
        }
    }
    shown
}

/// Whether these are the lines, where dots stand for any number of others.
fn is_printed(lines: &[&str], printed: &[&str]) -> bool {
    match lines.split_first() {
        None => printed.is_empty(),
        Some((&"...", rest)) => (0..=printed.len()).any(|skipped| is_printed(rest, &printed[skipped..])),
        Some((line, rest)) => {
            printed.split_first().is_some_and(|(first, others)| first == line && is_printed(rest, others))
        }
    }
}

#[test]
fn the_story_of_one_run_is_true() {
    let dir = tempfile::tempdir().expect("a directory");
    let served = Served::start(dir.path(), "");
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).expect("the README");
    let program = Path::new(env!("CARGO_BIN_EXE_threadline")).parent().expect("a folder");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let shown = story(&readme);
    assert_eq!(shown.len(), 6);
    for Shown { command, lines } in shown {
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", command]).current_dir(dir.path());
        let ran = run(
            shell.env("PATH", &path).env("THREADLINE_SERVER", format!("http://{}", served.client.address)),
            "",
        );
        assert_eq!(ran.code, 0, "{command}: {}", ran.stderr);
        let printed: Vec<&str> = ran.text().lines().chain(ran.stderr.lines()).collect();
        assert!(is_printed(&lines, &printed), "{command}\n{}\n{}", ran.text(), ran.stderr);
    }
}
