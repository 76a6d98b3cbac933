//! P3: a disk that is full.

use crate::child::Child;
use crate::ledger::Ledger;
use crate::load::{Load, Said};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;
use threadline_testkit::faults::leave_out;
use threadline_testkit::random::Random;

/// Tells this program, executed again in a place of its own, where it may mount disks.
const PLACE: &str = "THREADLINE_TEST_DISKS";

#[test]
fn p3_a_full_disk_loses_nothing() {
    let dir = TempDir::new().expect("a directory");
    // Whoever may not mount may be allowed to as somebody else.
    let ways: [&[&str]; 2] = [&["--mount"], &["--mount", "--map-root-user"]];
    let mounts = |way: &&&[&str]| {
        let mut command = Command::new("unshare");
        let place = dir.path().to_str().expect("a path");
        command.args(**way).args(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place]);
        command.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    let Some(way) = ways.iter().find(mounts) else {
        return leave_out("disks of a limited size cannot be mounted");
    };
    let status = Command::new("unshare")
        .args(*way)
        .arg(std::env::current_exe().expect("a program"))
        .args(["--exact", "full::with_disks", "--ignored", "--nocapture"])
        .env(PLACE, dir.path())
        .status()
        .expect("a process");
    assert!(status.success(), "{status}");
}

#[test]
#[ignore = "executed by another test where disks can be mounted"]
fn with_disks() {
    let Ok(place) = std::env::var(PLACE) else { return };
    for (size, segment_bytes) in [
        (256 << 10, 16 << 10),
        (512 << 10, 64 << 10),
        (1 << 20, 16 << 10),
        (2 << 20, 64 << 10),
        (8 << 20, 64 << 10),
    ] {
        fill(Path::new(&place), size, segment_bytes);
    }
}

fn mount(arguments: &[&str], place: &Path) {
    let status = Command::new("mount").args(arguments).arg(place).status();
    assert!(status.is_ok_and(|status| status.success()), "{arguments:?}");
}

/// Removes the catalogue of the store on a disk, and takes all the room that there is then.
fn leave_no_room(place: &Path) {
    for name in ["catalogue.sqlite", "catalogue.sqlite-wal", "catalogue.sqlite-shm"] {
        // Not each of them is there.
        _ = std::fs::remove_file(place.join("store").join(name));
    }
    let mut ballast = File::create(place.join("ballast")).expect("a file");
    while ballast.write_all(&[0; 512]).is_ok() {}
}

/// Fills a disk, and looks for what was acknowledged before and after there is room again.
#[expect(clippy::print_stdout, reason = "for who reads the output of tests")]
fn fill(place: &Path, size: u64, segment_bytes: u32) {
    mount(&["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"], place);
    let mut ledger = Ledger::default();
    let mut load = Load { segment_bytes, ..Load::new(place.join("store")) };
    let (said, status) = Child::start(&load).finish();
    assert!(status.success(), "{status}");
    said.iter().for_each(|said| ledger.note(said));
    let full = said.iter().find_map(|said| match said {
        Said::Trouble { what, .. } | Said::Closed(what) => Some(what.clone()),
        _ => None,
    });
    let full = full.expect("a full disk is said");
    // While it is full, it can be opened and read, and without room for a catalogue as well.
    load.round += 1;
    let rebuilt = ledger.verify_readable(&load);
    let acks = ledger.acks;
    println!("size={size}, segments={segment_bytes}: {acks} acknowledged; {full}; made anew: {rebuilt:?}");
    leave_no_room(place);
    let rebuilt = ledger.verify_readable(&load).expect("the catalogue is missing");
    assert!(rebuilt.contains("full") && rebuilt.contains("it is in memory"), "{rebuilt}");
    mount(&["-o", "remount,size=64m"], place);
    let mut random = Random::new(size);
    ledger.verify(&load, &mut random);
    load = Load { acks_max: 100, round: load.round + 1, ..load };
    let (said, _) = Child::start(&load).finish();
    said.iter().for_each(|said| ledger.note(said));
    assert_eq!(said.last(), Some(&Said::Done), "it works again");
    ledger.verify(&load, &mut random);
    let status = Command::new("umount").arg(place).status();
    assert!(status.is_ok_and(|status| status.success()));
}
