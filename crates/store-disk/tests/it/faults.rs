//! P3: what fails is never acknowledged and never tried again, on real system calls.

use crate::child::Child;
use crate::ledger::Ledger;
use crate::load::{Load, Said};
use std::collections::BTreeSet;
use std::path::Path;
use tempfile::TempDir;
use threadline_testkit::random::Random;
use threadline_testkit::strace::{self, Call, Fault};

const TIMES: [u32; 5] = [1, 2, 5, 20, 100];

#[test]
fn p3_a_failed_sync_is_final() {
    let hits = fail("fdatasync", "EIO");
    assert!(hits.is_none_or(|hits| hits == TIMES.len()), "{hits:?}");
}

#[test]
fn p3_a_failed_write_is_final() {
    let hits = fail("pwrite64", "ENOSPC");
    assert!(hits.is_none_or(|hits| hits == TIMES.len()), "{hits:?}");
}

#[test]
fn p3_directories_that_cannot_be_synced_lose_nothing() {
    let hits = fail("fsync", "EIO");
    assert!(hits.is_none_or(|hits| hits > 0), "{hits:?}");
}

#[test]
fn p3_files_that_cannot_be_renamed_lose_nothing() {
    let hits = fail("rename", "ENOSPC");
    assert!(hits.is_none_or(|hits| hits > 0), "{hits:?}");
}

#[test]
fn p3_files_that_cannot_be_removed_lose_nothing() {
    let hits = fail("unlink", "EIO");
    assert!(hits.is_none_or(|hits| hits > 0), "{hits:?}");
}

/// Lets a system call fail at several times, each in a process of its own, all on one store. Returns how many of them could not
/// write any more; none if nothing can be tried here.
#[expect(clippy::print_stdout, reason = "for who reads the output of tests")]
fn fail(call: &'static str, error: &'static str) -> Option<usize> {
    if !strace::is_usable() {
        return None;
    }
    let dir = TempDir::new().expect("a directory");
    let store = dir.path().join("store");
    let (mut ledger, mut random) = (Ledger::default(), Random::new(3));
    // Few writers at once, so that there are many groups.
    let mut load = Load { acks_max: 400, writers: 4, threads: 6, ..Load::new(&store) };
    let mut hits = 0;
    // The first opens a store with something in it, the others what the failure before them left.
    play(&load, &mut ledger, None, dir.path());
    for nth in TIMES {
        load.round += 1;
        let fault = Fault { call, error, nth };
        let said = play(&load, &mut ledger, Some(fault), dir.path());
        hits += usize::from(said.iter().any(|said| matches!(said, Said::Trouble { .. } | Said::Closed(_))));
        ledger.verify(&load, &mut random);
    }
    // After all that, it works.
    load.round += 1;
    play(&load, &mut ledger, None, dir.path());
    ledger.verify(&load, &mut random);
    println!(
        "{call}: {hits} of {} processes could not go on, {} acknowledged batches",
        TIMES.len(),
        ledger.acks
    );
    Some(hits)
}

/// Runs a process to its end.
fn play(load: &Load, ledger: &mut Ledger, fault: Option<Fault>, dir: &Path) -> Vec<Said> {
    let trace = dir.join("trace");
    let wrapper = fault.map_or_else(Vec::new, |fault| fault.wrapper(&trace));
    let (said, status) = Child::start_under(load, &wrapper).finish();
    said.iter().for_each(|said| ledger.note(said));
    assert!(status.success(), "{fault:?}: {status}");
    check_order(&said);
    match fault {
        Some(fault) => check_trace(&strace::read(&trace), &said, fault),
        None => assert_eq!(said.last(), Some(&Said::Done), "{:?}", said.last()),
    }
    said
}

/// Whoever was told that nothing can be written is right, and all can still be read.
fn check_order(said: &[Said]) {
    let mut in_trouble = BTreeSet::new();
    for one in said {
        match one {
            Said::Trouble { writer, .. } => _ = in_trouble.insert(*writer),
            Said::Started { writer, .. } | Said::Acked { writer, .. } => {
                assert!(!in_trouble.contains(writer), "acknowledged after a failure: {one:?}");
            }
            Said::Refused { is_certain, .. } => {
                assert!(is_certain, "a store that goes on must know: {one:?}")
            }
            _ => {}
        }
    }
    let is_readable = said.iter().any(|said| matches!(said, Said::Readable { .. }));
    assert!(is_readable || in_trouble.is_empty(), "all that is there can be read");
}

/// What failed was not tried again, and nothing was written behind it.
fn check_trace(calls: &[Call], said: &[Said], fault: Fault) {
    for failed in calls.iter().filter(|call| call.is_injected && is_data(call)) {
        let code = if fault.error == "EIO" { "os error 5" } else { "os error 28" };
        let is_said = said.iter().any(|said| match said {
            Said::Trouble { what, .. } | Said::Closed(what) => what.contains(code),
            _ => false,
        });
        assert!(is_said, "{fault:?} is not said: {failed:?}");
        let later = calls.iter().find(|call| call.begin > failed.end && is_data(call));
        assert_eq!(later, None, "{fault:?}: behind {failed:?}");
    }
}

/// Whether a call makes something durable: writes or syncs a segment that is in service.
fn is_data(call: &Call) -> bool {
    let is_segment = call.path.parent().is_some_and(|parent| parent.ends_with("log"))
        && call.path.extension().is_some_and(|extension| extension == "log");
    is_segment && ["pwrite64", "fdatasync"].contains(&call.name.as_str())
}
