//! P2 through the store: power is lost at every write and every sync of a small history, sealing and erasing included.

use super::script::{STEPS, expected, run, view};
use super::sim::open;
use crate::fs::sim::SimDisk;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use threadline_log::Store;

/// How many disks are looked at for each place where power may be lost, beside those where everything or nothing is left.
const IMAGES_MAX: usize = 4;

#[tokio::test]
async fn p2_what_was_acked_survives_and_nothing_is_seen_by_halves() {
    let expected = expected(STEPS).await;
    let disk = SimDisk::new();
    let acked = Arc::new(AtomicUsize::new(0));
    let cuts = Arc::new(Mutex::new(Vec::new()));
    let (seen, forks) = (Arc::clone(&acked), Arc::clone(&cuts));
    let (store, _) = open(&disk).unwrap();
    disk.on_operation(move |disk, _| forks.lock().unwrap().push((seen.load(Ordering::SeqCst), disk.fork())));
    for (number, step) in STEPS.iter().enumerate() {
        run(&store, number, *step).await.unwrap();
        acked.store(number + 1, Ordering::SeqCst);
    }
    drop(store);
    let cuts = std::mem::take(&mut *cuts.lock().unwrap());
    assert!(cuts.len() > 3 * STEPS.len());
    let mut images = 0;
    for (place, (acked, disk)) in cuts.into_iter().enumerate() {
        let left = disk.crash_images(place as u64, IMAGES_MAX);
        let step = (left.pending() / 4).max(1);
        for image in left.step_by(step) {
            images += 1;
            let (store, report) = open(&image).unwrap();
            assert_eq!(report.damages, [], "place {place}");
            let found = view(&store).await.unwrap();
            let next = (acked + 1).min(STEPS.len());
            assert!(
                found == expected[acked] || found == expected[next],
                "place {place}, {acked} acked: {found:#?} is neither {:#?} nor {:#?}",
                expected[acked],
                expected[next]
            );
            if images % 16 == 0 {
                // It goes on as if nothing had happened.
                store.tidy().await.unwrap();
                assert_eq!(view(&store).await.unwrap(), found, "place {place}");
            }
        }
    }
    assert!(images > 500, "{images}");
}
