//! Following a thread.

use super::stage::{Stage, answer, finished, request, thread};
use crate::random::Random;
use std::future::poll_fn;
use std::task::Poll;
use threadline_log::retention::{KeepRaw, Retention};
use threadline_log::store::Append;
use threadline_log::{AppendKey, Batch, Engine, Error, Follower, NewRecord, ThreadKey};

/// How many records the writers append together.
const RECORDS: u64 = 400;

/// Any number of followers, slow ones, late ones and those who come back, see each record once and in order.
pub async fn followers_see_every_record_once(stage: Stage) {
    let t = thread("t");
    let first = stage.start(&t, &request(&t, "1", &["u1"])).await;
    let followers: Vec<_> = (0..16)
        .map(|seed| {
            let (engine, t) = (stage.engine.clone(), t.clone());
            tokio::spawn(async move { follow(&engine, &t, Random::new(seed)).await })
        })
        .collect();
    let mut beside = request(&t, "2", &["u2"]);
    stage.say(&first, &[finished(&t, "1")]).await;
    beside["parentRunId"] = "1".into();
    let mut writers = vec![stage.start(&t, &beside).await];
    beside["runId"] = "3".into();
    writers.push(stage.start(&t, &beside).await);
    let so_far = stage.store.thread(&t).await.expect("the thread is there").offsets.end;
    let tasks: Vec<_> = (0..4_u64)
        .map(|task| {
            let (engine, writer) = (stage.engine.clone(), writers[usize::from(task % 2 == 1)].clone());
            tokio::spawn(async move {
                for count in 0..(RECORDS - so_far).div_ceil(4) {
                    let record = threadline_log::NewRecord::event(format!("{task}-{count}"));
                    engine.append(&writer, vec![record].into()).await.expect("it is appended");
                    if count % 7 == task {
                        tokio::task::yield_now().await;
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("the writer is done");
    }
    let page = stage.engine.read(&t, 0..RECORDS, None, usize::MAX).await.expect("records are read");
    for follower in followers {
        assert_eq!(follower.await.expect("the follower is done"), page.records);
    }
}

/// Follows to the end, and drops the follower now and then.
async fn follow(engine: &Engine, thread: &ThreadKey, mut random: Random) -> Vec<threadline_log::Record> {
    let open = |from| engine.follow(thread, None, from);
    let mut follower: Follower = open(0).await.expect("there is something to follow");
    let mut seen: Vec<threadline_log::Record> = Vec::new();
    while (seen.len() as u64) < RECORDS {
        if random.chance(10) {
            follower = open(seen.len() as u64).await.expect("the cursor is good");
        }
        let records = follower.next().await.expect("records come");
        assert_eq!(records[0].offset, seen.len() as u64);
        seen.extend(records.iter().cloned());
        for _ in 0..random.below(20) {
            tokio::task::yield_now().await;
        }
    }
    seen.truncate(usize::try_from(RECORDS).expect("few"));
    seen
}

/// A cursor that cannot be served is refused, and says why.
pub async fn followers_are_told_what_they_cannot_have(stage: Stage) {
    let t = thread("t");
    assert!(matches!(stage.engine.follow(&t, None, 0).await, Err(Error::NoThread(_))));
    stage.converse(&t, &request(&t, "1", &["u1"])).await;
    stage.converse(&t, &request(&t, "2", &["u2"])).await;
    stage.converse(&t, &request(&t, "3", &["u3"])).await;
    let info = stage.store.thread(&t).await.expect("the thread is there");
    let tail = info.offsets.end;
    let beyond = stage.engine.follow(&t, None, tail + 1).await;
    assert!(matches!(beyond, Err(Error::BeyondTail { .. })));
    assert!(stage.engine.follow(&t, Some(info.incarnation), tail).await.is_ok());
    let other = threadline_log::Incarnation(info.incarnation.0 + 77);
    assert!(matches!(stage.engine.follow(&t, Some(other), 0).await, Err(Error::OtherIncarnation(_))));

    let second = stage.runs(&t).await[1].offsets.start;
    stage.engine.trim(&t, second).await.expect("the first run is trimmed");
    assert!(matches!(stage.engine.follow(&t, None, 0).await, Err(Error::Trimmed { .. })));
    assert!(matches!(stage.engine.read(&t, 0..tail, None, 1).await, Err(Error::Trimmed { .. })));
    let retention = Retention { keep_raw: KeepRaw::For(0), ..Retention::default() };
    stage.settle().await;
    stage.engine.retain(&retention).await.expect("raw records are let go");
    assert!(matches!(stage.engine.follow(&t, None, second).await, Err(Error::Compacted { .. })));
    assert!(stage.engine.follow(&t, None, tail).await.is_ok());
}

/// A run whose records are gone is not passed over in silence, however much is read at once.
pub async fn followers_are_told_of_what_lies_between(stage: Stage) {
    let t = thread("t");
    for run in ["1", "2", "3"] {
        stage.converse(&t, &request(&t, run, &[&format!("u{run}")])).await;
    }
    let compacted = &stage.runs(&t).await[1];
    stage.store.compact_run(&t, compacted.no, stage.engine.now()).await.expect("it has a checkpoint");
    let mut follower = stage.engine.follow(&t, None, 0).await.expect("the first run is there");
    while follower.next_offset() < compacted.offsets.start {
        let records = follower.next().await.expect("the first run is there");
        assert!(records.iter().all(|record| record.offset < compacted.offsets.start));
    }
    assert!(matches!(follower.next().await, Err(Error::Compacted { .. })));
}

/// A writer who was cut off before the answer came repeats its append, and then those who follow see it.
pub async fn followers_see_what_is_repeated(stage: Stage) {
    let t = thread("t");
    let writer = stage.start(&t, &request(&t, "1", &["u1"])).await;
    let mut follower = stage.engine.follow(&t, None, 1).await.expect("it can be followed");
    let (records, key) = (vec![NewRecord::event("{}")], AppendKey::new("k").ok());
    let append = Append {
        thread: t.clone(),
        incarnation: Some(writer.incarnation),
        run: writer.run,
        epoch: writer.epoch,
        records: records.clone(),
        key: key.clone(),
        expected_tail: None,
        end: None,
        time: stage.engine.now(),
    };
    // As if the engine's future had been dropped here.
    stage.store.append(append).await.expect("it is appended");
    let ack = stage.engine.append(&writer, Batch { records, key, ..Batch::default() }).await;
    assert!(ack.expect("it is there").repeated);
    assert_eq!(follower.next().await.expect("it is there")[0].offset, 1);
}

/// A writer who is gone before the answer comes has not written in secret: what became durable is seen without another append.
pub async fn followers_see_what_nobody_waited_for(stage: Stage) {
    let t = thread("t");
    let writer = stage.start(&t, &request(&t, "1", &["u1"])).await;
    let mut follower = stage.engine.follow(&t, None, 1).await.expect("it can be followed");
    for count in 0..20 {
        let record = vec![NewRecord::event(format!("{count}"))];
        let mut append = Box::pin(stage.engine.append(&writer, record.into()));
        // Polled once and dropped: on most stores it is on its way.
        let _ = poll_fn(|context| Poll::Ready(append.as_mut().poll(context))).await;
        drop(append);
        let records = follower.next().await.expect("it is seen");
        assert_eq!((records.len(), records[0].offset), (1, count + 1));
    }
}

/// Whoever follows a thread that is deleted does not wait for ever.
pub async fn a_follower_of_a_deleted_thread_is_cut_off(stage: Stage) {
    let t = thread("t");
    let writer = stage.start(&t, &request(&t, "1", &["u1"])).await;
    assert!(matches!(stage.engine.delete(&t).await, Err(Error::RunActive(_))));
    stage.say(&writer, &answer("1")).await;
    stage.say(&writer, &[finished(&t, "1")]).await;
    let tail = stage.store.thread(&t).await.expect("the thread is there").offsets.end;
    let mut follower = stage.engine.follow(&t, None, tail).await.expect("it can be followed");
    let waiting = tokio::spawn(async move { follower.next().await });
    stage.engine.delete(&t).await.expect("nothing goes on");
    let cut = waiting.await.expect("the follower is done");
    assert!(matches!(cut, Err(Error::OtherIncarnation(_))));
    assert!(matches!(stage.store.thread(&t).await, Err(Error::NoThread(_))));
    // A new one of that name is another.
    let writer = stage.start(&t, &request(&t, "1", &["u1"])).await;
    let info = stage.store.thread(&t).await.expect("the new thread is there");
    assert_eq!((info.incarnation, info.offsets), (writer.incarnation, 0..1));
}
