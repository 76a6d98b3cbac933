//! P2 through the store: power is lost at every write and every sync of a small history, sealing and erasing included.

use super::flags;
use super::past::Past;
use super::script::{STEPS, Step, WIDE_STEPS, expected, run, view};
use super::sim::{open, options, with_catalogue};
use crate::fs::sim::SimDisk;
use crate::{DiskOptions, DiskStore, doctor};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use threadline_log::Store;
use threadline_testkit::store::view::View;

/// What there was after an operation on the disk.
struct Cut {
    disk: SimDisk,
    /// How many steps had been acknowledged before the disk was copied, and after that.
    acked: RangeInclusive<usize>,
    /// The copies of the catalogue of which one may be left.
    catalogues: RangeInclusive<usize>,
}

/// Does the steps, from a disk with nothing on it.
async fn cuts(steps: &[Step], catalogue: Option<&TempDir>) -> (Vec<Cut>, Option<Past>) {
    let disk = SimDisk::new();
    let acked = Arc::new(AtomicUsize::new(0));
    let seen = Arc::new(Mutex::new((Vec::new(), None::<Past>)));
    let (count, cuts) = (Arc::clone(&acked), Arc::clone(&seen));
    disk.on_operation(move |disk, _| {
        // Who goes on because this was done waits until it is taken down, so that what is committed there meanwhile is of no later operation.
        let (cuts, past) = &mut *cuts.lock().unwrap();
        let catalogues = past.as_mut().map_or(0..=0, Past::look);
        let (before, disk) = (count.load(Ordering::SeqCst), disk.fork());
        cuts.push(Cut { disk, acked: before..=count.load(Ordering::SeqCst), catalogues });
    });
    let options = catalogue.map_or_else(|| options(&disk), |dir| with_catalogue(&disk, dir.path()));
    let (store, _) = DiskStore::open(&options).unwrap();
    seen.lock().unwrap().1 = catalogue.map(|dir| Past::new(dir.path()));
    for (number, step) in steps.iter().enumerate() {
        run(&store, number, *step).await.unwrap();
        acked.store(number + 1, Ordering::SeqCst);
        if number % 2 == 0 {
            store.engine.flush().unwrap();
        }
    }
    disk.on_operation(|_, _| {});
    drop(store);
    std::mem::take(&mut *seen.lock().unwrap())
}

/// What is left must be what there was after all steps that were acknowledged, or after one more.
fn is_right(found: &View, cut: &Cut, expected: &[View]) -> bool {
    let (least, most) = (*cut.acked.start(), expected.len().min(cut.acked.end() + 2));
    expected[least..most].contains(found)
}

async fn reopened(
    options: &DiskOptions,
    cut: &Cut,
    expected: &[View],
    place: &str,
) -> (DiskStore, View, bool) {
    let (store, report) = DiskStore::open(options).unwrap_or_else(|error| panic!("{place}: {error}"));
    assert_eq!(report.damages, [], "{place}");
    let found = view(&store).await.unwrap();
    assert!(is_right(&found, cut, expected), "{place}, {:?} acked, {report:?}: {found:#?}", cut.acked);
    (store, found, report.rebuilt.is_some())
}

/// Returns how many images were tried, and how many things were not durable where they were most.
async fn cut_everywhere(steps: &[Step], images_max: usize) -> (usize, usize) {
    let expected = expected(steps).await;
    let (cuts, _) = cuts(steps, None).await;
    assert!(cuts.len() > 3 * steps.len());
    let (mut images, mut pending_max) = (0, 0);
    for (place, cut) in cuts.iter().enumerate() {
        let left = cut.disk.crash_images_some(place as u64, images_max);
        pending_max = pending_max.max(left.pending());
        for image in left {
            images += 1;
            let place = format!("place {place}, image {images}");
            if images % 64 == 0 {
                cut_again(&image, cut, &expected, &place).await;
            }
            let (store, found, _) = reopened(&options(&image), cut, &expected, &place).await;
            if images % 16 == 0 {
                // It goes on as if nothing had happened.
                store.tidy().await.unwrap();
                assert_eq!(view(&store).await.unwrap(), found, "{place}");
            }
        }
    }
    eprintln!("{images} images, of up to {pending_max} things that were not durable");
    (images, pending_max)
}

/// Power is lost again while the store is opened.
async fn cut_again(image: &SimDisk, cut: &Cut, expected: &[View], place: &str) {
    const IMAGES: usize = 4;
    let forks = Arc::new(Mutex::new(Vec::new()));
    let opened = image.fork();
    let seen = Arc::clone(&forks);
    opened.on_operation(move |disk, _| seen.lock().unwrap().push(disk.fork()));
    drop(open(&opened).unwrap());
    opened.on_operation(|_, _| {});
    let forks = std::mem::take(&mut *forks.lock().unwrap());
    for (again, disk) in forks.into_iter().enumerate() {
        for image in disk.crash_images_some(again as u64, IMAGES) {
            reopened(&options(&image), cut, expected, &format!("{place}, again at {again}")).await;
        }
    }
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

/// The catalogue says nothing that the log does not, whichever of its transactions are lost with the power.
#[tokio::test]
async fn p2_a_store_goes_on_with_the_catalogue_that_a_power_cut_has_left() {
    let images_max = flags::crash_images(6);
    let (mut images, mut rebuilt, mut older) = (0, 0, 0);
    for steps in [STEPS, WIDE_STEPS] {
        let expected = expected(steps).await;
        let dir = TempDir::new().unwrap();
        let (cuts, past) = cuts(steps, Some(&dir)).await;
        let (past, left) = (past.unwrap(), TempDir::new().unwrap());
        for (place, cut) in cuts.iter().enumerate() {
            // What was committed after this operation and before the next.
            let next = cuts.get(place + 1).unwrap_or(cut);
            let catalogues = (*cut.catalogues.start()).max(1)..=*next.catalogues.end();
            let mut catalogues = catalogues.rev().cycle();
            for image in cut.disk.crash_images_some(place as u64, images_max) {
                // The store had not been open before.
                let Some(catalogue) = catalogues.next() else { break };
                images += 1;
                older += usize::from(catalogue < *next.catalogues.end());
                past.restore(catalogue, left.path());
                let options = with_catalogue(&image, left.path());
                let place = format!("place {place}, image {images}, catalogue {catalogue}");
                let (store, found, is_rebuilt) = reopened(&options, cut, &expected, &place).await;
                rebuilt += usize::from(is_rebuilt);
                if images % 8 == 0 {
                    store.tidy().await.unwrap();
                    assert_eq!(view(&store).await.unwrap(), found, "{place}");
                    store.close().await;
                    drop(store);
                    // It compares the catalogue with the log.
                    let checked = doctor::check(&options).unwrap();
                    assert!(checked.severity() <= Some(doctor::Severity::Note), "{place}: {checked:?}");
                }
            }
        }
    }
    eprintln!("{images} images, {older} of them with an older catalogue, {rebuilt} of which were made anew");
    assert!(older > images / 4 && rebuilt < images / 4, "{images}, {older}, {rebuilt}");
}
