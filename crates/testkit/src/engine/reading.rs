//! Reading records, and hearing of changes.

use super::stage::{Stage, request, thread};
use threadline_log::engine::ThreadChange;
use threadline_log::thread::MetadataChange;
use threadline_log::{Error, Record, RunNo, Timestamp};

/// Records can be read by offset, by run and by time.
pub async fn records_are_found_by_offset_run_and_time(stage: Stage) {
    let t = thread("t");
    for run in ["1", "2", "3"] {
        stage.converse(&t, &request(&t, run, &[&format!("u{run}")])).await;
        stage.clock.advance(100);
    }
    let tail = stage.store.thread(&t).await.expect("the thread is there").offsets.end;
    let all = stage.engine.read(&t, 0..u64::MAX, None, usize::MAX).await.expect("records are read");
    assert_eq!((all.records.len() as u64, all.next), (tail, tail));
    let second = stage.engine.read(&t, 0..tail, Some(RunNo(1)), usize::MAX).await.expect("records are read");
    let of_second: Vec<_> = all.records.iter().filter(|record| record.run == RunNo(1)).cloned().collect();
    assert_eq!(second.records, of_second);
    let last = all.records.last().expect("there are some").time;
    for time in 0..=last.0 + 1 {
        let expected =
            all.records.iter().find(|record| record.time.0 >= time).map_or(tail, |record| record.offset);
        assert_eq!(stage.engine.offset_at(&t, Timestamp(time)).await, Ok(expected), "at {time}");
    }
    for compacted in [RunNo(1), RunNo(2)] {
        stage.store.compact_run(&t, compacted, stage.engine.now()).await.expect("it has a checkpoint");
        let rest = stage.engine.read(&t, 0..tail, None, usize::MAX).await.expect("records are read").records;
        for time in 0..=last.0 + 1 {
            let expected =
                rest.iter().find(|record| record.time.0 >= time).map_or(tail, |record| record.offset);
            assert_eq!(stage.engine.offset_at(&t, Timestamp(time)).await, Ok(expected), "at {time}");
            let later = rest.iter().find(|record| record.time.0 > time).map_or(tail, |record| record.offset);
            let is_gone = |record: &Record| record.time.0 > time && !rest.contains(record);
            let mut before = all.records.iter().take_while(|record| record.offset < later);
            match stage.engine.offset_after(&t, Timestamp(time)).await {
                Err(Error::Compacted { .. }) => assert!(before.any(is_gone), "after {time}"),
                found => {
                    assert_eq!(found, Ok(later), "after {time}");
                    assert!(!before.any(is_gone), "after {time}");
                }
            }
        }
    }
    stage.engine.trim(&t, 1).await.expect("it is there");
    let gone = stage.engine.offset_after(&t, Timestamp(0)).await;
    assert!(matches!(gone, Err(Error::Trimmed { .. })));
}

/// Who shows a list hears of everything that changes it.
pub async fn changes_of_threads_are_told(stage: Stage) {
    let t = thread("t");
    let mut changes = stage.engine.changes();
    let mut told = || std::iter::from_fn(|| changes.try_recv().ok()).collect::<Vec<_>>();
    let changed = ThreadChange::Changed(t.clone());
    stage.converse(&t, &request(&t, "1", &["u1"])).await;
    assert_eq!(told(), [changed.clone(), changed.clone()], "a run was opened, and ended");
    let name = MetadataChange { name: Some("new".to_owned()), ..MetadataChange::default() };
    stage.engine.describe(&t, name).await.expect("it is described");
    assert_eq!(told(), [changed]);
    stage.engine.delete(&t).await.expect("nothing goes on");
    assert_eq!(told(), [ThreadChange::Deleted(t)]);
}
