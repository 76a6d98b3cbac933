//! What processes said was durable, and whether it is there.

use crate::inspect::{Place, Seen, inspect, repeat};
use crate::load::{BatchId, Load, Said, runtime, thread};
use std::collections::BTreeMap;
use threadline_log::thread::ThreadQuery;
use threadline_log::{Store, Timestamp};
use threadline_store_disk::DiskStore;
use threadline_testkit::random::Random;

/// A thread with so many records is deleted, so that many rounds take no longer than few.
const THREAD_RECORDS_MAX: u64 = 600;

/// What was acknowledged.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    threads: BTreeMap<u16, Acknowledged>,
    pub(crate) acks: u64,
}

#[derive(Debug, Default)]
struct Acknowledged {
    batches: BTreeMap<BatchId, Place>,
    runs: BTreeMap<u32, BatchId>,
    /// Nothing of this round or an earlier one is there: the thread was deleted.
    deleted: Option<u64>,
    /// Batches of this round and later ones were not looked for yet.
    unchecked: u64,
}

impl Ledger {
    /// Writes down what a process has said.
    pub(crate) fn note(&mut self, said: &Said) {
        match said {
            Said::Started { run, name, .. } => {
                let known = self.thread(*name).runs.insert(*run, *name);
                assert_eq!(known, None, "a run has its number for itself. {said:?}");
            }
            Said::Acked { batch, run, first, count, .. } => {
                self.acks += 1;
                let place = Place { run: *run, first: *first, count: *count };
                self.thread(*batch).batches.insert(*batch, place);
            }
            Said::Broken(what) => panic!("{what}"),
            _ => {}
        }
    }

    fn thread(&mut self, id: BatchId) -> &mut Acknowledged {
        self.threads.entry(u16::try_from(id.slot()).expect("a slot")).or_default()
    }

    /// Whether all of it is in a store.
    pub(crate) async fn check(&mut self, store: &dyn Store, load: &Load) {
        let query = ThreadQuery { limit: usize::MAX, ..ThreadQuery::default() };
        let listed = store.threads(&query).await.expect("a list");
        let mut listed: BTreeMap<String, u64> =
            listed.into_iter().map(|info| (info.key.to_string(), info.offsets.end)).collect();
        for slot in load.slots() {
            let acknowledged = self.threads.entry(slot).or_default();
            let seen = inspect(store, slot).await.expect("a thread that can be read");
            let Some(seen) = seen else {
                let Acknowledged { batches, runs, .. } = acknowledged;
                assert!(batches.is_empty() && runs.is_empty(), "slot={slot} is lost");
                continue;
            };
            assert_eq!(listed.remove(&thread(slot).to_string()), Some(seen.tail), "slot={slot}");
            acknowledged.compare(slot, &seen);
            let unchecked = acknowledged.unchecked;
            let batches = seen.batches.iter().filter(|(id, _)| id.round() >= unchecked);
            repeat(store, slot, batches.map(|(id, place)| (*id, *place))).await;
            acknowledged.unchecked = u64::from(load.round);
        }
        assert!(listed.is_empty(), "{listed:?}");
    }

    /// Deletes long threads.
    pub(crate) async fn delete_long(&mut self, store: &dyn Store, load: &Load) {
        for slot in load.slots() {
            let Ok(info) = store.thread(&thread(slot)).await else { continue };
            if info.offsets.end > THREAD_RECORDS_MAX {
                store.delete(&thread(slot), None, Timestamp(0)).await.expect("a thread is deleted");
                let deleted = Some(u64::from(load.round));
                self.threads.insert(slot, Acknowledged { deleted, ..Acknowledged::default() });
            }
        }
    }

    /// Opens a store that may take no writes, and looks for everything. Gives why its catalogue was made anew, if it was.
    pub(crate) fn verify_readable(&self, load: &Load) -> Option<String> {
        let (store, report) = DiskStore::open(&load.options()).expect("a store");
        assert!(report.damages.is_empty(), "{:?}", report.damages);
        runtime().block_on(async {
            for slot in load.slots() {
                let seen = inspect(&store, slot).await.expect("a thread that can be read");
                if let Some(acknowledged) = self.threads.get(&slot) {
                    acknowledged.compare(slot, &seen.unwrap_or_else(|| panic!("slot={slot} is lost")));
                }
            }
        });
        report.rebuilt
    }

    /// Opens the store and looks for everything. It ends in one way or another.
    pub(crate) fn verify(&mut self, load: &Load, random: &mut Random) {
        let (store, report) = DiskStore::open(&load.options()).expect("a store");
        assert!(report.damages.is_empty(), "{:?}", report.damages);
        runtime().block_on(async {
            self.check(&store, load).await;
            self.delete_long(&store, load).await;
            if random.chance(30) {
                store.tidy().await.expect("a store that works");
            }
            if random.chance(50) {
                store.close().await;
            }
        });
    }
}

impl Acknowledged {
    fn compare(&self, slot: u16, seen: &Seen) {
        for (id, place) in &self.batches {
            assert_eq!(seen.batches.get(id), Some(place), "slot={slot}, {id:?} is lost");
        }
        for (run, name) in &self.runs {
            let info = seen.runs.get(*run as usize);
            let info = info.unwrap_or_else(|| panic!("slot={slot}, run={run} is lost"));
            assert_eq!(info.id.as_str(), name.run_name(), "slot={slot}");
        }
        let returned = seen.batches.keys().find(|id| Some(id.round()) <= self.deleted);
        assert_eq!(returned, None, "slot={slot}: what was deleted is back");
    }
}
