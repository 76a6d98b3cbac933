//! P2 through the store: power is lost at every write and every sync of a small history, sealing and erasing included.

use super::flags;
use super::script::{STEPS, Step, WIDE_STEPS, expected, run, view};
use super::sim::open;
use crate::fs::sim::SimDisk;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use threadline_log::Store;

/// The disk after every operation, and how many steps had been acknowledged before.
async fn cuts(steps: &[Step]) -> Vec<(usize, SimDisk)> {
    let disk = SimDisk::new();
    let acked = Arc::new(AtomicUsize::new(0));
    let cuts = Arc::new(Mutex::new(Vec::new()));
    let (seen, forks) = (Arc::clone(&acked), Arc::clone(&cuts));
    let (store, _) = open(&disk).unwrap();
    disk.on_operation(move |disk, _| forks.lock().unwrap().push((seen.load(Ordering::SeqCst), disk.fork())));
    for (number, step) in steps.iter().enumerate() {
        run(&store, number, *step).await.unwrap();
        acked.store(number + 1, Ordering::SeqCst);
    }
    drop(store);
    std::mem::take(&mut *cuts.lock().unwrap())
}

/// Returns how many images were tried, and how many things were not durable where they were most.
async fn cut_everywhere(steps: &[Step], images_max: usize) -> (usize, usize) {
    let expected = expected(steps).await;
    let cuts = cuts(steps).await;
    assert!(cuts.len() > 3 * steps.len());
    let (mut images, mut pending_max) = (0, 0);
    for (place, (acked, disk)) in cuts.into_iter().enumerate() {
        let left = disk.crash_images_some(place as u64, images_max);
        pending_max = pending_max.max(left.pending());
        for image in left {
            images += 1;
            let (store, report) = open(&image).unwrap();
            assert_eq!(report.damages, [], "place {place}");
            let found = view(&store).await.unwrap();
            let next = (acked + 1).min(steps.len());
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
    eprintln!("{images} images, of up to {pending_max} things that were not durable");
    (images, pending_max)
}

#[tokio::test]
async fn p2_what_was_acked_survives_and_nothing_is_seen_by_halves() {
    let (images, _) = cut_everywhere(STEPS, flags::crash_images(1000)).await;
    assert!(images > 500, "{images}");
}

#[tokio::test]
async fn p2_what_was_acked_survives_where_much_is_written_at_once() {
    let (_, pending_max) = cut_everywhere(WIDE_STEPS, flags::crash_images(1000)).await;
    assert!(pending_max > 12, "{pending_max}");
}
