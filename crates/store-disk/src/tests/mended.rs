//! Whatever is damaged, mending ends, the store opens, and what is not said to be lost is as it was.

use super::remembered::Made;
use super::script::{Step, appending, thread};
use crate::DiskStore;
use crate::doctor::{self, Severity};
use crate::fs::Disk;
use crate::fs::sim::{Random, SimDisk};
use std::collections::BTreeSet;
use threadline_log::{Error, Record, Store};

/// More: `THREADLINE_MENDED=2000`.
const CASES: u64 = 60;

/// Two threads with something in history and something in the journal; of `d`, which was deleted, some is left in history.
const STEPS: &[Step] = &[
    Step::Open("d", "d0"),
    Step::End("d", 0),
    Step::Open("a", "a0"),
    Step::Append("a", 0, 9),
    Step::End("a", 0),
    Step::Checkpoint("a", 0),
    Step::Open("b", "b0"),
    Step::Long("b", 0, 3_000),
    Step::End("b", 0),
    Step::Tidy,
    Step::Open("b", "b1"),
    Step::Keyed("b", 1, "k"),
    Step::Open("a", "a1"),
    Step::Long("a", 1, 4_000),
    Step::Delete("d"),
    Step::End("a", 1),
    Step::Checkpoint("a", 1),
    Step::Open("a", "a2"),
    Step::Append("b", 1, 4),
];

async fn records(store: &DiskStore, name: &str) -> Result<Vec<Record>, Error> {
    Ok(store.read(&thread(name), 0..1_000, None, usize::MAX).await?.records)
}

/// Flips a bit, writes zeros over a stretch, cuts a file or removes it.
fn spoil(disk: &SimDisk, random: &mut Random) -> String {
    let names: Vec<String> = disk.list().unwrap().into_iter().filter(|name| name != "lock").collect();
    let name = &names[random.below(names.len())];
    let mut bytes = disk.bytes(name);
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1);
    let at = random.below(used);
    match random.below(8) {
        0 => disk.remove(name).unwrap(),
        1 => disk.truncate(name, at),
        2..=4 => disk.flip_bit(name, at * 8 + random.below(8)),
        _ => {
            let end = (at + 1 + random.below(1_500)).min(bytes.len());
            bytes[at..end].fill(0);
            disk.set_bytes(name, bytes);
        }
    }
    format!("{name}, at {at}")
}

#[tokio::test]
async fn p4_p5_whatever_is_damaged_is_mended_or_named() {
    let cases = std::env::var("THREADLINE_MENDED").map_or(CASES, |cases| cases.parse().unwrap());
    let made = Made::of(STEPS).await;
    let store = made.open();
    let mut before = Vec::new();
    for name in ["a", "b"] {
        let info = store.thread(&thread(name)).await.unwrap();
        before.push((name, info, records(&store, name).await.unwrap()));
    }
    store.close().await;
    drop(store);
    for seed in 0..cases {
        let made = made.fork();
        let mut random = Random::new(seed);
        let what = format!("seed {seed}: {}", spoil(&made.disk, &mut random));
        let looked = doctor::check(&made.options());
        let report = doctor::repair(&made.options()).unwrap_or_else(|error| panic!("{what}: {error}"));
        let looked = looked.unwrap_or_else(|error| panic!("{what}: {error}"));
        let (store, opened) = DiskStore::open(&made.options()).unwrap();
        // One of the two headers of a segment may stay as it is.
        assert_eq!((opened.missing, store.trouble()), (vec![], None), "{what}: {:?}", opened.damages);
        assert!(matches!(store.thread(&thread("d")).await, Err(Error::NoThread(_))), "{what}");
        for (name, info, before) in &before {
            let lost = report.lost.iter().filter(|lost| lost.thread == thread(name));
            let lost: BTreeSet<u64> = lost.flat_map(|lost| lost.offsets.clone()).collect();
            assert!(lost.is_empty() || looked.severity() == Some(Severity::Damage), "{what}: {looked:?}");
            let mut left = before.clone();
            left.retain(|record| !lost.contains(&record.offset));
            let mut found = Vec::new();
            for offset in info.offsets.clone().filter(|offset| !lost.contains(offset)) {
                let page = store.read(&thread(name), offset..offset + 1, None, usize::MAX).await.unwrap();
                found.extend(page.records);
            }
            assert_eq!(found, left, "{what}, {name}: {report:?}");
            let there = store.thread(&thread(name)).await.unwrap();
            assert_eq!(there.offsets, info.offsets, "{what}, {name}: {report:?}");
            assert_eq!((there.runs, &there.metadata), (info.runs, &info.metadata), "{what}, {name}");
            let run = info.runs - 1;
            let ack = store.append(appending(name, run, 1)).await.unwrap();
            assert_eq!(ack.first, info.offsets.end, "{what}, {name}");
        }
        store.close().await;
        drop(store);
        let again = doctor::check(&made.options()).unwrap();
        assert_eq!(again.lost, report.lost, "{what}");
        assert!(again.severity() <= Some(Severity::Note) || !again.lost.is_empty(), "{what}: {again:?}");
    }
}
