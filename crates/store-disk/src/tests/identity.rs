//! The `store` file is made anew from what the others say.

use super::remembered::Made;
use super::script::{Step, run, thread};
use crate::DiskStore;
use crate::doctor::{self, Severity};
use crate::fs::Disk;
use threadline_log::Store;

/// Something in history and something in the journal; of `d`, which was deleted, some is left in history.
const STEPS: &[Step] = &[
    Step::Open("d", "d0"),
    Step::End("d", 0),
    Step::Open("b", "b0"),
    Step::Append("b", 0, 3),
    Step::End("b", 0),
    Step::Tidy,
    Step::Delete("d"),
    Step::Open("a", "a0"),
];

#[tokio::test]
async fn a_store_file_is_made_anew_from_the_others() {
    let whole = Made::of(STEPS).await;
    let bytes = whole.disk.bytes("store").len();
    for spoiled in (0..bytes * 8).step_by(97).map(Some).chain([None]) {
        let made = whole.fork();
        match spoiled {
            Some(bit) => made.disk.flip_bit("store", bit),
            None => made.disk.remove("store").unwrap(),
        }
        assert!(DiskStore::open(&made.options()).is_err());
        let looked = doctor::check(&made.options()).unwrap();
        assert_eq!(looked.severity(), Some(Severity::Damage));
        let (report, again) = made.repair();
        assert!(
            report.findings.iter().any(|finding| finding.what.starts_with("it was made anew from")),
            "{report:?}"
        );
        assert_eq!((report.lost, again), (Vec::new(), Vec::<String>::new()), "{spoiled:?}");
        let is_aside = made.disk.list().unwrap().contains(&"damaged/store".to_owned());
        assert_eq!(is_aside, spoiled.is_some());
        let store = made.open();
        assert_eq!(
            (store.trouble(), store.read(&thread("b"), 0..9, None, usize::MAX).await.unwrap().records.len()),
            (None, 5)
        );
        run(&store, 50, Step::Open("e", "e0")).await.unwrap();
        store.tidy().await.unwrap();
    }
}

#[tokio::test]
async fn numbers_of_lost_files_are_not_given_again_by_a_store_file_that_was_made_anew() {
    let made = Made::of(STEPS).await;
    made.disk.remove("store").unwrap();
    let names: Vec<String> =
        made.disk.list().unwrap().into_iter().filter(|name| name.starts_with("history/")).collect();
    names.iter().for_each(|name| made.disk.remove(name).unwrap());
    let (report, again) = made.repair();
    assert_ne!(again, Vec::<String>::new(), "{report:?}");
    assert!(names.iter().all(|name| !made.disk.list().unwrap().contains(name)));
    let store = made.open();
    run(&store, 50, Step::Open("e", "e0")).await.unwrap();
    assert_eq!(store.engine.core.overlay().threads_end, 4, "a, b and d had numbers");
}

#[tokio::test]
async fn a_store_without_its_salt_says_so() {
    let made = Made::of(&[Step::Open("a", "a0")]).await;
    made.disk.remove("store").unwrap();
    let segment = made.disk.list().unwrap().into_iter().find(|name| name.ends_with(".log")).unwrap();
    for copy in [0, 512] {
        made.disk.flip_bit(&segment, (copy + 33) * 8);
    }
    let before = made.disk.list().unwrap();
    let refused = doctor::repair(&made.options()).unwrap_err().to_string();
    assert!(refused.contains("header"), "{refused}");
    assert_eq!(made.disk.list().unwrap(), before);
}
