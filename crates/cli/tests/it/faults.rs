//! P3: `threadline` on a disk that fails, by real system calls.

use super::{Ran, run, threadline};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;
use threadline_testkit::strace::{self, Call, Fault};

/// A recording with many runs, so that it takes many syncs.
fn recording(thread: &str) -> String {
    let mut lines = String::new();
    for run in 0..150 {
        let pad = "some words ".repeat(run % 7);
        writeln!(
            lines,
            r#"{{"type":"RUN_STARTED","threadId":"{thread}","runId":"{run}"}}
{{"type":"TEXT_MESSAGE_CHUNK","messageId":"m{run}","delta":"{pad}"}}
{{"type":"RUN_FINISHED","threadId":"{thread}","runId":"{run}"}}"#
        )
        .expect("memory");
    }
    lines
}

fn import(store: &Path, thread: &str, wrapper: &[String]) -> Ran {
    let store = store.to_str().expect("a path");
    let words = wrapper.iter().map(String::as_str);
    let mut words = words.chain([env!("CARGO_BIN_EXE_threadline"), "import", "--store", store]);
    let mut command = Command::new(words.next().expect("a program"));
    run(command.args(words), recording(thread))
}

/// What an export has of a thread.
fn export(store: &Path, thread: &str) -> Ran {
    threadline(&["export", thread, "--store", store.to_str().expect("a path")], "")
}

/// Whether a call makes something durable: writes or syncs a segment that is in service.
fn is_data(call: &Call) -> bool {
    let is_segment = call.path.extension().is_some_and(|extension| extension == "log");
    is_segment && ["pwrite64", "fdatasync"].contains(&call.name.as_str())
}

#[test]
fn p3_an_import_to_a_disk_that_fails_says_so() {
    if !strace::is_usable() {
        return;
    }
    let dir = TempDir::new().expect("a directory");
    let (store, trace) = (dir.path().join("store"), dir.path().join("trace"));
    assert_eq!(import(&store, "before", &[]).code, 0);
    let before = export(&store, "before").stdout;
    for (call, error, code) in [("fdatasync", "EIO", "os error 5"), ("pwrite64", "ENOSPC", "os error 28")] {
        for nth in [1, 2, 5, 20, 100] {
            let fault = Fault { call, error, nth };
            let thread = format!("{call}-{nth}");
            let imported = import(&store, &thread, &fault.wrapper(&trace));
            let calls = strace::read(&trace);
            let failed = calls.iter().find(|call| call.is_injected && is_data(call));
            let failed = failed.unwrap_or_else(|| panic!("{fault:?} did not happen"));
            assert_eq!((imported.code, imported.text()), (3, ""), "{fault:?}: {}", imported.stderr);
            assert!(imported.stderr.contains(code), "{fault:?}: {}", imported.stderr);
            let later = calls.iter().find(|call| call.begin > failed.end && is_data(call));
            assert_eq!(later, None, "{fault:?}: behind {failed:?}");
            check_rest(&store, &thread, fault);
            assert_eq!(export(&store, "before").stdout, before, "{fault:?}");
        }
    }
    let checked = threadline(&["doctor", "--store", store.to_str().expect("a path")], "");
    assert_eq!(checked.code, 0, "{}{}", checked.text(), checked.stderr);
    assert_eq!(import(&store, "after", &[]).code, 0);
}

/// What has come of a thread is the beginning of it, run by run, and its runs are closed when something is written.
fn check_rest(store: &Path, thread: &str, fault: Fault) {
    let rest = export(store, thread);
    let whole = recording(thread);
    let mut expected = whole.lines();
    for line in rest.text().lines().filter(|line| line.contains(r#""kind":"event""#)) {
        let wanted = expected.next().unwrap_or_else(|| panic!("{fault:?}: {line}"));
        assert!(line.contains(wanted), "{fault:?}: {line}");
    }
    assert!(fault.nth < 100 || expected.count() < whole.lines().count(), "{fault:?}: there is nothing");
    assert!(rest.code == 0 || rest.stderr.contains("no such thread"), "{fault:?}: {}", rest.stderr);
}
