//! P13: a store is ready soon after a kill.

use crate::child::Child;
use crate::ledger::Ledger;
use crate::load::{Load, Said, runtime};
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use threadline_store_disk::DiskStore;

/// The promise, which is for 1 GiB.
const READY_MAX: Duration = Duration::from_secs(2);

/// How many segments there are, for little data as for much.
const SEGMENTS: u64 = 32;

/// How much is written before the kill, as the events came.
fn open_bytes() -> u64 {
    std::env::var("THREADLINE_OPEN_BYTES").ok().and_then(|bytes| bytes.parse().ok()).unwrap_or(64 << 20)
}

#[test]
#[expect(clippy::disallowed_methods, reason = "time is what this is about")]
fn p13_a_store_is_ready_soon_after_a_kill() {
    let dir = TempDir::new().expect("a directory");
    let bytes = open_bytes();
    let segment_bytes = u32::try_from((bytes / SEGMENTS).clamp(1 << 20, 64 << 20)).expect("at most 64 MiB");
    let load = Load {
        segment_bytes,
        writers: 64,
        threads: 16,
        events_max: 64,
        has_one_run: true,
        ..Load::new(dir.path())
    };
    let mut ledger = Ledger::default();
    let child = Child::start(&load);
    let mut written = 0;
    while written < bytes {
        let said = child.next().expect("a process that goes on");
        if let Said::Acked { batch, count, .. } = &said {
            let count = u32::try_from(*count).expect("a few");
            written += (0..count).map(|index| batch.event(index, count).len() as u64).sum::<u64>();
        }
        ledger.note(&said);
    }
    child.kill().iter().for_each(|said| ledger.note(said));

    let (log, read_before) = (bytes_in(&dir.path().join("log")), bytes_read());
    let begin = Instant::now();
    let (store, report) = DiskStore::open(&load.options()).expect("a store");
    let opened = begin.elapsed();
    runtime().block_on(async {
        let engine = load.engine(store);
        let closed = engine.close_orphans().await.expect("a store that works").len();
        let ready = begin.elapsed();
        let read = bytes_read().zip(read_before).map(|(after, before)| after - before);
        println!(
            "{} MiB: opened after {opened:?} ({} entries replayed), ready after {ready:?} ({closed} runs closed), \
             {read:?} bytes read of {log} in the log and others",
            written >> 20,
            report.replayed,
        );
        // The last segment is read twice, and some before it may have no sidecar yet.
        assert!(read.is_none_or(|read| read < log / 2), "read={read:?}, log={log}");
        assert!(ready < READY_MAX, "{ready:?}");
        ledger.check(engine.store(), &load).await;
    });
}

/// How many bytes this process, where nothing else goes on, has read from files. None where the system does not tell.
fn bytes_read() -> Option<u64> {
    let io = std::fs::read_to_string("/proc/self/io").ok()?;
    io.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok())
}

/// How many bytes the files of a directory have.
fn bytes_in(dir: &Path) -> u64 {
    let files = std::fs::read_dir(dir).expect("a directory");
    files.map(|file| file.and_then(|file| file.metadata()).expect("a file").len()).sum()
}
