use crate::store::scene::{ENDINGS, NOW, Scene, checkpoint, offsets, thread};
use std::ops::Range;
use threadline_log::{Record, RunNo, ThreadKey};

/// Two runs whose records alternate, twelve records in all: the first has the even offsets.
async fn alternating(scene: &Scene, thread: &ThreadKey) -> [RunNo; 2] {
    let runs = [scene.open(thread, "r0").await.run, scene.open(thread, "r1").await.run];
    for _ in 0..5 {
        for run in runs {
            scene.append(thread, run, &["0123456789"]).await;
        }
    }
    runs
}

pub async fn a_range_gives_exactly_its_offsets(mut scene: Scene) {
    let thread = thread("t");
    let run = scene.open(&thread, "r").await.run;
    scene.append(&thread, run, &["1", "2", "3"]).await;
    scene.append(&thread, run, &["4"]).await;
    scene.end(&thread, run).await;
    for ending in ENDINGS {
        for start in 0..8_u64 {
            for end in start..9 {
                let page = scene.read(&thread, start..end, None).await;
                let there: Vec<u64> = (start..end.min(6)).collect();
                assert_eq!(offsets(&page.records), there, "{start}..{end}");
                assert_eq!(page.next, end, "{start}..{end}");
            }
        }
        let backwards = Range { start: 4, end: 2 };
        assert_eq!(scene.read(&thread, backwards, None).await.records, []);
        scene.store.tidy().await.expect("tidied");
        scene = scene.reopen(ending).await;
    }
}

pub async fn a_run_is_read_without_the_runs_beside_it(scene: Scene) {
    let thread = thread("t");
    let [even, odd] = alternating(&scene, &thread).await;
    let page = scene.read(&thread, 0..12, Some(even)).await;
    assert_eq!(offsets(&page.records), [0, 2, 4, 6, 8, 10]);
    assert!(page.records.iter().all(|record| record.run == even));
    assert_eq!(page.next, 12);
    let page = scene.read(&thread, 2..8, Some(odd)).await;
    assert_eq!(offsets(&page.records), [3, 5, 7]);
    assert_eq!(page.next, 8);
    assert_eq!(scene.read(&thread, 0..12, Some(RunNo(9))).await.records, []);
}

pub async fn pages_have_at_least_one_record_and_go_on_where_they_stopped(mut scene: Scene) {
    let thread = thread("t");
    let [even, odd] = alternating(&scene, &thread).await;
    scene.append(&thread, even, &["", "", &"x".repeat(1_000), "", "y"]).await;
    scene.end(&thread, even).await;
    let tail = scene.info(&thread).await.offsets.end;
    for ending in ENDINGS {
        for run in [None, Some(even), Some(odd)] {
            for range in [0..tail, 1..tail, 3..tail - 2, tail - 1..tail] {
                let all = scene.read(&thread, range.clone(), run).await.records;
                for bytes_max in [0, 1, 10, 11, 25, 999, 100_000] {
                    let pages = page_by_page(&scene, &thread, range.clone(), run, bytes_max).await;
                    assert_eq!(pages, all, "{range:?} of {run:?} by {bytes_max}");
                }
            }
        }
        scene.store.tidy().await.expect("tidied");
        scene = scene.reopen(ending).await;
    }
}

async fn page_by_page(
    scene: &Scene,
    thread: &ThreadKey,
    range: Range<u64>,
    run: Option<RunNo>,
    bytes_max: usize,
) -> Vec<Record> {
    let what = format!("{range:?} of {run:?} by {bytes_max}");
    let mut pages = Vec::new();
    let mut next = range.start;
    while next < range.end {
        let page = scene.store.read(thread, next..range.end, run, bytes_max).await.expect("a page");
        let last = page.records.last().map(|record| record.offset);
        assert!(last.is_none_or(|last| last < page.next), "{what}: {page:?}");
        assert!(next < page.next && page.next <= range.end, "{what} does not go on: {page:?}");
        assert!(last.is_some() || page.next == range.end, "{what}: an empty page before the end");
        let but_last = page.records.iter().rev().skip(1);
        let bytes: usize = but_last.map(|record| record.bytes.len()).sum();
        assert!(bytes <= bytes_max, "{what}: too much in {page:?}");
        next = page.next;
        pages.extend(page.records);
    }
    pages
}

pub async fn trimmed_and_compacted_offsets_are_passed_over(scene: Scene) {
    let thread = thread("t");
    let [even, odd] = alternating(&scene, &thread).await;
    scene.end(&thread, odd).await;
    scene.put_checkpoint(&thread, checkpoint(odd, "")).await;
    scene.store.trim(&thread, 3, NOW).await.expect("trimmed");
    let page = scene.read(&thread, 0..13, None).await;
    assert_eq!(offsets(&page.records), [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    scene.store.compact_run(&thread, odd, NOW).await.expect("compacted");
    for run in [None, Some(even)] {
        let page = scene.read(&thread, 0..13, run).await;
        assert_eq!(offsets(&page.records), [4, 6, 8, 10]);
        assert_eq!(page.next, 13);
    }
    assert_eq!(scene.read(&thread, 0..13, Some(odd)).await.records, []);
    let page = scene.read(&thread, 0..4, None).await;
    assert_eq!((page.records.len(), page.next), (0, 4));
    let page = scene.store.read(&thread, 0..13, None, 1).await.expect("a page");
    assert_eq!(offsets(&page.records), [4]);
    assert!((5..=6).contains(&page.next), "{}", page.next);
}
