//! P1: what was acknowledged survives the death of the process.

use crate::child::Child;
use crate::ledger::Ledger;
use crate::load::{BatchId, Load, Said, runtime, thread};
use tempfile::TempDir;
use threadline_log::thread::ThreadQuery;
use threadline_log::{HistoryMode, StartRun, Store};
use threadline_store_disk::DiskStore;
use threadline_store_disk::doctor::{self, Severity};
use threadline_testkit::random::Random;

/// How many processes are killed.
fn kills() -> u32 {
    std::env::var("THREADLINE_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(50)
}

#[test]
fn p1_what_was_acknowledged_survives_kills() {
    let dir = TempDir::new().expect("a directory");
    let (mut ledger, mut random) = (Ledger::default(), Random::new(1));
    let kills = kills();
    for round in 1..=kills {
        let load = Load {
            round,
            segment_bytes: *random.pick(&[32 << 10, 64 << 10, 256 << 10]),
            overlay_bytes_max: *random.pick(&[64 << 10, 256 << 20]),
            ..Load::new(dir.path())
        };
        strike(&load, &mut ledger, &mut random);
        // Now and then one is killed after the other.
        if random.chance(80) || round == kills {
            if random.chance(10) {
                _ = std::fs::remove_file(dir.path().join("catalogue.sqlite"));
            }
            let is_examined = ledger.acks > 0 && (random.chance(20) || round == kills);
            if is_examined {
                // The catalogue may have been in the making.
                examine(&load, Severity::Derived);
            }
            ledger.verify(&load, &mut random);
            if is_examined {
                examine(&load, Severity::Note);
            }
        }
    }
    println!("{kills} kills, {} acknowledged batches", ledger.acks);
    assert!(ledger.acks > 100 * u64::from(kills) / 2, "there was a load");
}

/// Asks the doctor, who may find this and nothing worse.
fn examine(load: &Load, worst: Severity) {
    let report = doctor::check(&load.options()).expect("a store");
    assert!(report.severity() <= Some(worst), "{:?}", report.findings);
}

/// Lets a process work until so many batches were acknowledged, or it has begun to open the store, and kills it.
fn strike(load: &Load, ledger: &mut Ledger, random: &mut Random) {
    let child = Child::start(load);
    let acks = if random.chance(15) { 0 } else { ledger.acks + 1 + random.below(500) as u64 };
    loop {
        let said = child.next().expect("a process that goes on");
        assert!(!matches!(said, Said::Refused { .. } | Said::Trouble { .. } | Said::Closed(_)), "{said:?}");
        ledger.note(&said);
        if ledger.acks >= acks {
            break;
        }
    }
    child.kill().iter().for_each(|said| ledger.note(said));
}

#[test]
fn a_doctor_does_not_mind_leases_that_have_ended() {
    let dir = TempDir::new().expect("a directory");
    let load = Load::new(dir.path());
    let open = || DiskStore::open(&load.options()).expect("a store").0;
    runtime().block_on(async {
        let start = StartRun {
            thread: thread(0),
            request: BatchId(1).request(0).into(),
            history: HistoryMode::Client,
            agent: None,
        };
        load.engine(open()).start_run(start).await.expect("a run");
        // Whoever wrote the run is gone; the catalogue learns of the run from who only looks.
        open().threads(&ThreadQuery { limit: 1, ..ThreadQuery::default() }).await.expect("a list");
    });
    examine(&load, Severity::Note);
}
