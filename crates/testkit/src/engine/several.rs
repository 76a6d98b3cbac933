//! Several engines on one store, as those of several processes.

use super::stage::{Stage, answer, finished, request, thread};
use std::time::Duration;
use threadline_log::engine::ThreadChange;
use threadline_log::run::RunStatus;
use threadline_log::thread::MetadataChange;
use threadline_log::{Engine, Error, HistoryMode, NewRecord, RunWriter, StartRun, Started, ThreadKey};
use threadline_protocol::stages::close::Cause;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How many records the writers append together.
const RECORDS: usize = 200;

/// Nothing that is waited for takes this long.
const PATIENCE: Duration = Duration::from_secs(30);

/// An engine beside the one of the stage, and both of them hear of each other.
async fn second(stage: &Stage) -> (Engine, JoinSet<()>) {
    let second = stage.second().await.expect("a store that several can have");
    let mut listening = JoinSet::new();
    for engine in [stage.engine.clone(), second.clone()] {
        listening.spawn(async move { engine.listen().await });
    }
    (second, listening)
}

async fn start(engine: &Engine, thread: &ThreadKey, run: &str, messages: &[&str]) -> Result<Started, Error> {
    let request = request(thread, run, messages).to_string().into();
    let start = StartRun { thread: thread.clone(), request, history: HistoryMode::Client, agent: None };
    engine.start_run(start).await
}

/// The last record that a follower of a thread sees when a run of it has ended.
async fn end_seen(engine: &Engine, thread: &ThreadKey, from: u64) -> String {
    let mut follower = engine.follow(thread, None, from).await.expect("it can be followed");
    loop {
        let records = timeout(PATIENCE, follower.next()).await.expect("they come").expect("records");
        let last = String::from_utf8_lossy(&records[records.len() - 1].bytes).into_owned();
        if last.contains("RUN_FINISHED") || last.contains("RUN_ERROR") {
            return last;
        }
    }
}

/// Whoever writes and wherever one follows, each record is seen once and in order.
pub async fn followers_elsewhere_see_every_record_once(stage: Stage) {
    let (second, _listening) = second(&stage).await;
    let t = thread("t");
    stage.converse(&t, &request(&t, "0", &["u0"])).await;
    let mut writers: Vec<(Engine, RunWriter)> = Vec::new();
    for (engine, run) in [(&stage.engine, "1"), (&second, "2")] {
        let mut beside = request(&t, run, &["u0", "a-0", &format!("u{run}")]);
        beside["parentRunId"] = "0".into();
        writers.push((engine.clone(), stage.start(&t, &beside).await));
    }
    let so_far = stage.store.thread(&t).await.expect("it is there").offsets.end;
    let all = usize::try_from(so_far).expect("few") + 2 * RECORDS;
    let mut followers = JoinSet::new();
    for (engine, from) in [(&stage.engine, 0), (&second, 0), (&second, so_far), (&stage.engine, so_far)] {
        let mut follower = engine.follow(&t, None, from).await.expect("it can be followed");
        followers.spawn(async move {
            let mut seen = Vec::new();
            while seen.len() < all - usize::try_from(from).expect("few") {
                seen.extend(follower.next().await.expect("records come").iter().cloned());
            }
            seen
        });
    }
    let mut writing = JoinSet::new();
    for (engine, writer) in writers {
        writing.spawn(async move {
            for count in 0..RECORDS {
                let record = NewRecord::event(format!("{}-{count}", writer.run.0));
                engine.append(&writer, vec![record].into()).await.expect("it is appended");
            }
        });
    }
    timeout(PATIENCE, writing.join_all()).await.expect("all is written");
    let page = second.read(&t, 0..all as u64, None, usize::MAX).await.expect("records are read");
    assert_eq!(page.records.len(), all);
    for seen in timeout(PATIENCE, followers.join_all()).await.expect("all is seen") {
        assert_eq!(seen, page.records[all - seen.len()..]);
    }
}

/// A run is one, wherever it is asked for, and who would continue it waits.
pub async fn a_run_of_one_engine_is_known_to_the_others(stage: Stage) {
    let (second, _listening) = second(&stage).await;
    let t = thread("t");
    let writer = stage.start(&t, &request(&t, "1", &["u1"])).await;
    let known = start(&second, &t, "1", &["u1"]).await;
    assert!(matches!(known, Ok(Started::Known(run)) if run == writer.run), "{known:?}");
    let other = start(&second, &t, "1", &["u2"]).await;
    assert!(matches!(other, Err(Error::RunIdReused(_))), "{other:?}");
    let next = ["u1", "a-1", "u2"];
    stage.say(&writer, &answer("1")).await;
    let waits = start(&second, &t, "2", &next).await;
    assert!(matches!(&waits, Err(Error::RunActive(run)) if run.as_str() == "1"), "{waits:?}");
    stage.say(&writer, &[finished(&t, "1")]).await;
    let went_on = start(&second, &t, "2", &next).await;
    assert!(matches!(went_on, Ok(Started::New(_))), "{went_on:?}");
    let parent = stage.runs(&t).await[1].parent;
    assert_eq!(parent, Some(writer.run));
}

/// Of those who open the same run at once, one does.
pub async fn one_of_several_engines_opens_a_run(stage: Stage) {
    let (second, _listening) = second(&stage).await;
    for number in 0..20 {
        let t = thread(&format!("t{number}"));
        let mut opening = JoinSet::new();
        for engine in [&stage.engine, &second] {
            let (engine, t) = (engine.clone(), t.clone());
            opening
                .spawn(async move { start(&engine, &t, "1", &["u1"]).await.expect("it is opened or known") });
        }
        let opened = opening.join_all().await;
        let new = opened.iter().filter(|started| matches!(started, Started::New(_))).count();
        assert_eq!((new, stage.runs(&t).await.len()), (1, 1), "{opened:?}");
    }
}

/// Whoever is asked to cancel a run does it, though another executes it: that one writes no more, and its readers see the end.
pub async fn a_run_is_ended_from_elsewhere(stage: Stage) {
    let (second, _listening) = second(&stage).await;
    let t = thread("t");
    let writer = stage.start(&t, &request(&t, "1", &["u1"])).await;
    stage.say(&writer, &answer("1")[..2]).await;
    let (engine, followed) = (stage.engine.clone(), t.clone());
    let reader = tokio::spawn(async move { end_seen(&engine, &followed, 1).await });
    let seized = second.seize(&t, writer.run).await.expect("it goes on");
    assert_eq!((seized.incarnation, seized.run), (writer.incarnation, writer.run));
    let late = stage.engine.append(&writer, vec![NewRecord::event("late")].into()).await;
    assert!(matches!(late, Err(Error::Fenced { .. })), "{late:?}");
    assert!(matches!(stage.engine.renew(&writer).await, Err(Error::Fenced { .. })));
    second.end_run(&seized, Cause::Cancelled).await.expect("it is ended");
    assert!(reader.await.expect("a reader").contains("cancelled"));
    assert_eq!(stage.runs(&t).await[0].status(), RunStatus::Cancelled);
    assert!(matches!(second.seize(&t, writer.run).await, Err(Error::RunEnded(_))));
}

/// Whoever follows a thread that is deleted elsewhere is cut off, and is given nothing of a new one of that name.
pub async fn a_thread_that_is_deleted_elsewhere_is_not_followed_any_more(stage: Stage) {
    let (second, _listening) = second(&stage).await;
    let t = thread("t");
    stage.converse(&t, &request(&t, "1", &["u1"])).await;
    let tail = stage.store.thread(&t).await.expect("it is there").offsets.end;
    let mut waiting = stage.engine.follow(&t, None, tail).await.expect("it can be followed");
    let mut behind = stage.engine.follow(&t, None, 0).await.expect("it can be followed");
    second.delete(&t).await.expect("nothing goes on");
    assert!(matches!(start(&second, &t, "1", &["u1"]).await, Ok(Started::New(_))));
    for follower in [&mut waiting, &mut behind] {
        let cut = timeout(PATIENCE, follower.next()).await.expect("it is told");
        assert!(matches!(cut, Err(Error::OtherIncarnation(_))), "{cut:?}");
    }
}

/// Who shows a list hears of what others change.
pub async fn changes_elsewhere_are_told(stage: Stage) {
    let (second, _listening) = second(&stage).await;
    let t = thread("t");
    let mut changes = second.changes();
    // What was lost on the way is told as such, and some may be told twice.
    let mut told = async |wanted: ThreadChange| {
        let heard = async {
            loop {
                match changes.recv().await.expect("changes are told") {
                    ThreadChange::Missed => return,
                    change if change == wanted => return,
                    _ => {}
                }
            }
        };
        timeout(PATIENCE, heard).await.expect("it is told");
        while changes.try_recv().is_ok() {}
    };
    let changed = ThreadChange::Changed(t.clone());
    let writer = stage.start(&t, &request(&t, "1", &["u1"])).await;
    told(changed.clone()).await;
    stage.say(&writer, &[finished(&t, "1")]).await;
    told(changed.clone()).await;
    let name = MetadataChange { name: Some("new".to_owned()), ..MetadataChange::default() };
    stage.engine.describe(&t, name).await.expect("it is described");
    told(changed).await;
    stage.engine.delete(&t).await.expect("nothing goes on");
    told(ThreadChange::Deleted(t)).await;
}

/// A run whose writer is gone is closed by one of those who are left, once, and a writer that comes back writes no more.
pub async fn abandoned_runs_are_closed_elsewhere(stage: Stage) {
    let (second, _listening) = second(&stage).await;
    let (t, other) = (thread("t"), thread("other"));
    let writer = stage.start(&t, &request(&t, "1", &["u1"])).await;
    stage.say(&writer, &answer("1")[..3]).await;
    stage.clock.advance(20_000);
    let alive = stage.start(&other, &request(&other, "1", &["u1"])).await;
    assert_eq!(second.close_expired().await, Ok(Vec::new()), "its lease is not over");
    let (engine, followed) = (stage.engine.clone(), t.clone());
    let reader = tokio::spawn(async move { end_seen(&engine, &followed, 0).await });
    stage.clock.advance(20_000);
    let (one, two) = tokio::join!(stage.engine.close_expired(), second.close_expired());
    let closed = [one.expect("a list"), two.expect("a list")].concat();
    assert_eq!(closed, [(t.clone(), writer.run)], "one of them");
    assert!(reader.await.expect("a reader").contains("abandoned"));
    let late = stage.engine.append(&writer, vec![NewRecord::event("late")].into()).await;
    assert!(matches!(late, Err(Error::Fenced { .. })), "{late:?}");
    let run = stage.runs(&t).await.remove(0);
    let page = second.read(&t, run.offsets.clone(), None, usize::MAX).await.expect("records are read");
    let ends =
        page.records.iter().filter(|record| String::from_utf8_lossy(&record.bytes).contains("RUN_ERROR"));
    assert_eq!((run.status(), ends.count()), (RunStatus::Abandoned, 1));
    stage.say(&alive, &answer("1")).await;
}
