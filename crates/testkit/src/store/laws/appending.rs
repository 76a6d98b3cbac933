use crate::store::Ending;
use crate::store::scene::{ENDINGS, NOW, Scene, appending, ended, event, key, texts, thread};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use threadline_log::run::{RunEnd, RunStatus};
use threadline_log::store::{Ack, Append, Claim, KEYS_KEPT_MS, OpenRun};
use threadline_log::{Epoch, Error, Kind, NewRecord, RunNo, ThreadKey, Timestamp};

pub async fn an_append_elsewhere_than_at_the_tail_is_refused(scene: Scene) {
    let thread = thread("t");
    let run = scene.open(&thread, "r").await.run;
    let expecting = |tail| Append { expected_tail: Some(tail), ..appending(&thread, run) };
    for (expected, actual) in [(0, 1), (2, 1), (u64::MAX, 1)] {
        let refused = scene.store.append(expecting(expected)).await;
        assert_eq!(refused, Err(Error::TailMoved { expected, actual }));
    }
    assert_eq!(scene.store.append(expecting(1)).await.expect("appended").first, 1);
    // The tail is the thread's, not the run's.
    scene.open(&thread, "r2").await;
    let refused = scene.store.append(expecting(2)).await;
    assert_eq!(refused, Err(Error::TailMoved { expected: 2, actual: 3 }));
    assert_eq!(scene.store.append(expecting(3)).await.expect("appended").first, 3);
}

pub async fn a_writer_of_another_epoch_is_fenced(mut scene: Scene) {
    let thread = thread("t");
    let run = scene.open(&thread, "r").await.run;
    let by = |epoch| Append { epoch: Epoch(epoch), ..appending(&thread, run) };
    for given in [0, 2, u32::MAX] {
        let refused = scene.store.append(by(given)).await;
        assert_eq!(refused, Err(Error::Fenced { given: Epoch(given), current: Epoch(1) }));
        scene = scene.reopen(Ending::Crash).await;
    }
    assert_eq!(scene.store.append(by(1)).await.expect("appended").first, 1);
}

/// What is answered to an append that was made under the same key before.
async fn repetition(scene: &Scene, append: Append) -> Ack {
    let ack = scene.store.append(append).await.expect("answered");
    assert!(ack.repeated, "it landed twice: {ack:?}");
    Ack { repeated: false, ..ack }
}

pub async fn a_key_lands_once(mut scene: Scene) {
    let thread = thread("t");
    let [run, beside] = [scene.open(&thread, "r").await.run, scene.open(&thread, "r2").await.run];
    let keyed = || Append {
        key: key("k"),
        records: vec![event("a"), event("b")],
        expected_tail: Some(2),
        time: Timestamp(2_000),
        ..appending(&thread, run)
    };
    let ack = scene.store.append(keyed()).await.expect("appended");
    assert_eq!(ack, Ack { first: 2, count: 2, time: Timestamp(2_000), repeated: false });
    assert_eq!(repetition(&scene, keyed()).await, ack);
    // By whomever and however late, and whatever it has with it.
    let late = Append { epoch: Epoch(0), time: Timestamp(9_000), ..keyed() };
    assert_eq!(repetition(&scene, late).await, ack);
    assert_eq!(repetition(&scene, Append { records: Vec::new(), ..keyed() }).await, ack);
    // A key is a run's.
    let other = Append { key: key("k"), ..appending(&thread, beside) };
    assert!(!scene.store.append(other).await.expect("appended").repeated);
    let other = Append { key: key("K"), ..appending(&thread, run) };
    assert!(!scene.store.append(other).await.expect("appended").repeated);
    scene.end(&thread, run).await;
    assert_eq!(repetition(&scene, keyed()).await, ack);
    for ending in ENDINGS {
        scene = scene.reopen(ending).await;
        assert_eq!(repetition(&scene, keyed()).await, ack);
        scene.store.tidy().await.expect("tidied");
        assert_eq!(repetition(&scene, keyed()).await, ack);
    }
    assert_eq!(scene.records(&thread).await.len(), 7);
}

pub async fn a_key_of_the_append_that_ends_a_run_lands_once(mut scene: Scene) {
    let thread = thread("t");
    let run = scene.open(&thread, "r").await.run;
    let ending = || {
        let end = Some(ended(RunStatus::Cancelled).into());
        Append { key: key(""), end, ..appending(&thread, run) }
    };
    let ack = scene.store.append(ending()).await.expect("appended");
    assert_eq!(repetition(&scene, ending()).await, ack);
    scene = scene.reopen(Ending::Crash).await;
    assert_eq!(repetition(&scene, ending()).await, ack);
    assert_eq!(scene.run(&thread, run).await.status(), RunStatus::Cancelled);
    assert_eq!(scene.records(&thread).await.len(), 2);
}

pub async fn keys_are_kept_while_their_run_goes_on_and_for_a_while(mut scene: Scene) {
    let thread = thread("t");
    let [ended_run, open] = [scene.open(&thread, "ended").await.run, scene.open(&thread, "open").await.run];
    let keyed = |run| Append { key: key("k"), ..appending(&thread, run) };
    for run in [ended_run, open] {
        scene.store.append(keyed(run)).await.expect("appended");
    }
    scene.end(&thread, ended_run).await;
    let end = scene.run(&thread, ended_run).await.ended.expect("it ended").0;
    let late = |ms| Timestamp(end + ms);
    // Whatever time goes by: it is the next run that makes room.
    scene.store.describe(&thread, Default::default(), late(10 * KEYS_KEPT_MS - 1)).await.expect("described");
    for run in [ended_run, open] {
        repetition(&scene, keyed(run)).await;
    }
    let next = OpenRun { time: late(10 * KEYS_KEPT_MS), ..scene.opening(&thread, "next").await };
    scene.store.open_run(next).await.expect("a run is opened");
    for ending in ENDINGS {
        let forgotten = scene.store.append(keyed(ended_run)).await;
        assert!(matches!(forgotten, Err(Error::RunEnded(_))), "{forgotten:?}");
        repetition(&scene, keyed(open)).await;
        scene = scene.reopen(ending).await;
        scene.store.tidy().await.expect("tidied");
    }
    assert_eq!(scene.records(&thread).await.len(), 6);
}

pub async fn a_refused_append_leaves_nothing_not_even_its_key(scene: Scene) {
    let thread = thread("t");
    let run = scene.open(&thread, "r").await.run;
    let before = (scene.info(&thread).await, scene.runs(&thread).await);
    let keyed = || Append {
        key: key("k"),
        end: Some(ended(RunStatus::Finished).into()),
        time: Timestamp(9_999),
        ..appending(&thread, run)
    };
    let refused = [
        Append { expected_tail: Some(9), ..keyed() },
        Append { epoch: Epoch(9), ..keyed() },
        Append { records: Vec::new(), ..keyed() },
        Append { run: RunNo(9), ..keyed() },
    ];
    for append in refused {
        scene.store.append(append).await.expect_err("refused");
        assert_eq!((scene.info(&thread).await, scene.runs(&thread).await), before);
    }
    assert!(!scene.store.append(keyed()).await.expect("appended").repeated);
}

pub async fn an_ended_run_takes_only_rejected_records(mut scene: Scene) {
    let thread = thread("t");
    let run = scene.open_and_end(&thread, "r").await.run;
    let id = scene.run(&thread, run).await.id;
    let ended_run = || Err(Error::RunEnded(id.clone()));
    scene = scene.reopen(Ending::Clean).await;
    let of = |records| Append { records, ..appending(&thread, run) };
    let record = |kind| NewRecord { kind, ..event("late") };
    for kind in [Kind::Event, Kind::Transcoded, Kind::Made] {
        assert_eq!(scene.store.append(of(vec![record(kind)])).await, ended_run());
        assert_eq!(scene.store.append(of(vec![record(Kind::Rejected), record(kind)])).await, ended_run());
    }
    let end = Some(ended(RunStatus::Failed).into());
    let again = Append { end, ..of(vec![record(Kind::Rejected)]) };
    assert_eq!(scene.store.append(again).await, ended_run(), "it ended twice");
    let before = scene.run(&thread, run).await;
    let rejected = of(vec![record(Kind::Rejected), record(Kind::Rejected)]);
    assert_eq!(scene.store.append(rejected).await.expect("appended").offsets(), 2..4);
    let after = scene.run(&thread, run).await;
    assert_eq!((after.end, after.ended), (before.end, before.ended));
    assert_eq!((after.offsets, after.records), (0..4, 4));
}

pub async fn an_empty_append_is_refused(scene: Scene) {
    let thread = thread("t");
    let run = scene.open(&thread, "r").await.run;
    let empty = || Append { records: Vec::new(), ..appending(&thread, run) };
    let ending = Append { end: Some(ended(RunStatus::Finished).into()), ..empty() };
    for append in [empty(), ending] {
        let refused = scene.store.append(append).await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    }
    assert!(scene.run(&thread, run).await.is_running());
}

pub async fn how_a_run_ended_is_kept(mut scene: Scene) {
    let thread = thread("t");
    let value = serde_json::json!({"type": "interrupt", "n": 1e300, "deep": [{"": null}], "s": "\u{1F600}"});
    let ends = [
        RunEnd {
            status: RunStatus::Interrupted,
            outcome: Some(value.clone()),
            error_code: None,
            usage: Some(serde_json::json!([{"inputTokens": 3}])),
            interrupts: vec![String::new(), "i2".to_owned()],
        },
        RunEnd { error_code: Some("abandoned".to_owned()), ..ended(RunStatus::Abandoned) },
        ended(RunStatus::Failed),
        ended(RunStatus::Finished),
    ];
    for (number, end) in ends.iter().enumerate() {
        let run = scene.open(&thread, &number.to_string()).await.run;
        let append =
            Append { end: Some(end.clone().into()), time: Timestamp(3_000), ..appending(&thread, run) };
        scene.store.append(append).await.expect("ended");
        assert_eq!(scene.info(&thread).await.last_run, Some((run, end.status)));
    }
    for ending in ENDINGS {
        let runs = scene.runs(&thread).await;
        assert_eq!(runs.iter().filter_map(|run| run.end.clone()).collect::<Vec<_>>(), ends);
        assert!(runs.iter().all(|run| run.ended == Some(Timestamp(3_000))));
        scene = scene.reopen(ending).await;
    }
}

pub async fn an_append_that_nobody_waits_for_is_whole_or_not_there(mut scene: Scene) {
    let thread = thread("t");
    let run = scene.open(&thread, "r").await.run;
    let keyed = |number: usize| Append {
        key: key(&number.to_string()),
        records: vec![event(&format!("{number}a")), event(&format!("{number}b"))],
        ..appending(&thread, run)
    };
    for number in 0..10 {
        // Polled once and dropped.
        let mut append = pin!(scene.store.append(keyed(number)));
        let _ = poll_fn(|context| Poll::Ready(append.as_mut().poll(context))).await;
    }
    for ending in ENDINGS {
        for number in 0..10 {
            scene.store.append(keyed(number)).await.expect("appended or repeated");
        }
        let records = scene.records(&thread).await;
        assert_eq!(records.len(), 21, "some landed twice");
        let mut pairs: Vec<_> = texts(&records[1..]).chunks(2).map(|pair| pair.concat()).collect();
        pairs.sort();
        assert_eq!(pairs, (0..10).map(|number| format!("{number}a{number}b")).collect::<Vec<_>>());
        scene = scene.reopen(ending).await;
    }
}

pub async fn who_asks_for_an_unknown_thread_or_run_is_told(scene: Scene) {
    let known = thread("known");
    let run = scene.open_and_end(&known, "r").await.run;
    unknown_thread(&scene, &thread("unknown"), run).await;
    unknown_run(&scene, &known, RunNo(1)).await;
    unknown_run(&scene, &known, RunNo(u32::MAX)).await;
}

async fn unknown_thread(scene: &Scene, unknown: &ThreadKey, run: RunNo) {
    let store = &scene.store;
    let checkpoint = crate::store::scene::checkpoint(run, "");
    let answers = [
        ("append", store.append(appending(unknown, run)).await.err()),
        ("claim", store.claim(unknown, run, Epoch(1), Claim::Renew(NOW), NOW).await.err()),
        ("describe", store.describe(unknown, Default::default(), NOW).await.err()),
        ("put_checkpoint", store.put_checkpoint(unknown, None, checkpoint, NOW).await.err()),
        ("trim", store.trim(unknown, 0, NOW).await.err()),
        ("compact_run", store.compact_run(unknown, run, NOW).await.err()),
        ("delete", store.delete(unknown, None, NOW).await.err()),
        ("thread", store.thread(unknown).await.err()),
        ("runs", store.runs(unknown).await.err()),
        ("request", store.request(unknown, run).await.err()),
        ("checkpoint", store.checkpoint(unknown, run).await.err()),
        ("read", store.read(unknown, 0..1, None, 1).await.err()),
    ];
    for (what, answer) in answers {
        assert_eq!(answer, Some(Error::NoThread(unknown.clone())), "{what}");
    }
}

async fn unknown_run(scene: &Scene, thread: &ThreadKey, unknown: RunNo) {
    let store = &scene.store;
    let checkpoint = crate::store::scene::checkpoint(unknown, "");
    let answers = [
        ("append", store.append(appending(thread, unknown)).await.err()),
        ("claim", store.claim(thread, unknown, Epoch(1), Claim::Renew(NOW), NOW).await.err()),
        ("put_checkpoint", store.put_checkpoint(thread, None, checkpoint, NOW).await.err()),
        ("compact_run", store.compact_run(thread, unknown, NOW).await.err()),
        ("request", store.request(thread, unknown).await.err()),
    ];
    for (what, answer) in answers {
        assert!(matches!(answer, Some(Error::NoRun(_))), "{what}: {answer:?}");
    }
}
