use crate::store::Ending;
use crate::store::scene::{ENDINGS, LEASE, Scene, appending, event, key, opening, texts, thread};
use std::collections::BTreeMap;
use std::sync::Arc;
use threadline_log::store::{Ack, Append, Claim, RunsSeen};
use threadline_log::{Epoch, Error, Store, ThreadKey, Timestamp};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

const TASKS: usize = 8;
const APPENDS: usize = 25;

/// Appends batches of one to three records that say whose they are, one after another.
async fn write(store: Arc<dyn Store>, thread: ThreadKey, task: usize) -> Vec<(Ack, Vec<String>)> {
    let mut acks = Vec::new();
    let run = threadline_log::RunNo(u32::try_from(task % 2).expect("small"));
    for number in 0..APPENDS {
        let said: Vec<String> = (0..=number % 3).map(|part| format!("{task}/{number}/{part}")).collect();
        let records = said.iter().map(|text| event(text)).collect();
        let append = Append { records, ..appending(&thread, run) };
        acks.push((store.append(append).await.expect("appended"), said));
        if number % 5 == task % 5 {
            tokio::task::yield_now().await;
        }
    }
    acks
}

/// Follows a thread until it has so many records: what was read is dense, and stays.
async fn follow(store: Arc<dyn Store>, thread: ThreadKey, until: usize) -> Vec<String> {
    let mut read = Vec::new();
    while read.len() < until {
        let tail = store.thread(&thread).await.expect("a thread").offsets.end;
        let next = read.len() as u64;
        let page = store.read(&thread, next..tail, None, 100).await.expect("a page");
        for (offset, record) in (next..).zip(&page.records) {
            assert_eq!(record.offset, offset, "a gap");
        }
        read.extend(texts(&page.records));
        tokio::task::yield_now().await;
    }
    read
}

async fn appends_of_many_tasks(mut scene: Scene, threads: Vec<ThreadKey>) {
    for thread in &threads {
        scene.open(thread, "r0").await;
        scene.open(thread, "r1").await;
    }
    let a_task: usize = (0..APPENDS).map(|number| 1 + number % 3).sum();
    let each = 2 + a_task * TASKS / threads.len();
    let mut writers = JoinSet::new();
    let mut followers = JoinSet::new();
    for task in 0..TASKS {
        let thread = threads[task % threads.len()].clone();
        let (store, writes) = (scene.store.clone(), write(scene.store.clone(), thread.clone(), task));
        writers.spawn(async move { (thread, writes.await) });
        if let Some(thread) = threads.get(task).cloned() {
            followers.spawn(async move { (thread.clone(), follow(store, thread, each).await) });
        }
    }
    let mut expected: BTreeMap<ThreadKey, BTreeMap<u64, String>> = BTreeMap::new();
    for (thread, acks) in writers.join_all().await {
        let of_thread = expected.entry(thread).or_default();
        let mut last = 0;
        for (ack, said) in acks {
            assert!(ack.first > last && ack.count == said.len() as u64, "a task's order was not kept");
            last = ack.first;
            for (offset, text) in ack.offsets().zip(said) {
                assert_eq!(of_thread.insert(offset, text), None, "offset {offset} was given twice");
            }
        }
    }
    let followed: BTreeMap<_, _> = followers.join_all().await.into_iter().collect();
    for ending in ENDINGS {
        for thread in &threads {
            let read = texts(&scene.records(thread).await);
            assert_eq!(read.len(), each);
            assert_eq!(read, followed[thread]);
            let acked: Vec<_> = expected[thread].values().cloned().collect();
            assert_eq!(read[2..], acked);
            assert_eq!(*expected[thread].keys().last().expect("many"), each as u64 - 1);
        }
        scene = scene.reopen(ending).await;
    }
}

pub async fn many_tasks_append_to_one_thread(scene: Scene) {
    appends_of_many_tasks(scene, vec![thread("t")]).await;
}

pub async fn many_tasks_append_to_many_threads(scene: Scene) {
    appends_of_many_tasks(scene, ["a", "b", "c", "d"].map(thread).into()).await;
}

/// What tasks say that all begin at once.
async fn at_once<T: Send + 'static, F>(scene: &Scene, task: impl Fn(Arc<dyn Store>, usize) -> F) -> Vec<T>
where
    F: Future<Output = T> + Send + 'static,
{
    let barrier = Arc::new(Barrier::new(TASKS));
    let mut tasks = JoinSet::new();
    for number in 0..TASKS {
        let (task, barrier) = (task(scene.store.clone(), number), barrier.clone());
        tasks.spawn(async move {
            barrier.wait().await;
            task.await
        });
    }
    tasks.join_all().await
}

pub async fn a_key_lands_once_though_many_bring_it(mut scene: Scene) {
    let thread = thread("t");
    let run = scene.open(&thread, "r").await.run;
    for round in 0..10_u64 {
        let keyed = Append { key: key(&round.to_string()), ..appending(&thread, run) };
        let acks = at_once(&scene, |store, _| {
            let keyed = keyed.clone();
            async move { store.append(keyed).await.expect("answered") }
        });
        let acks = acks.await;
        assert!(acks.iter().all(|ack| ack.offsets() == (1 + round..2 + round)), "{acks:?}");
        assert_eq!(acks.iter().filter(|ack| !ack.repeated).count(), 1, "{acks:?}");
    }
    scene = scene.reopen(Ending::Crash).await;
    assert_eq!(scene.records(&thread).await.len(), 11);
}

pub async fn one_of_many_openings_wins(scene: Scene) {
    for round in 0..10 {
        let thread = thread(&round.to_string());
        let opened = at_once(&scene, |store, number| {
            let open = opening(&thread, &number.to_string(), RunsSeen::default());
            async move { store.open_run(open).await }
        });
        let opened = opened.await;
        assert_eq!(opened.iter().filter(|opened| opened.is_ok()).count(), 1, "{opened:?}");
        let lost = opened.iter().filter(|opened| **opened == Err(Error::RunsChanged));
        assert_eq!(lost.count(), TASKS - 1, "{opened:?}");
        assert_eq!(scene.runs(&thread).await.len(), 1);
        assert_eq!(scene.records(&thread).await.len(), 1);
    }
}

pub async fn one_of_many_appends_at_the_same_tail_wins(scene: Scene) {
    let thread = thread("t");
    let run = scene.open(&thread, "r").await.run;
    for tail in 1..10 {
        let append = Append { expected_tail: Some(tail), ..appending(&thread, run) };
        let acks = at_once(&scene, |store, _| {
            let append = append.clone();
            async move { store.append(append).await }
        });
        let acks = acks.await;
        assert_eq!(acks.iter().filter(|ack| ack.is_ok()).count(), 1, "{acks:?}");
        let moved = Err(Error::TailMoved { expected: tail, actual: tail + 1 });
        assert_eq!(acks.iter().filter(|ack| **ack == moved).count(), TASKS - 1, "{acks:?}");
    }
}

pub async fn one_of_those_who_take_over_at_once_succeeds(scene: Scene) {
    for round in 0..10 {
        let thread = thread(&round.to_string());
        let run = scene.open(&thread, "r").await.run;
        let answers = at_once(&scene, |store, _| {
            let thread = thread.clone();
            async move { store.claim(&thread, run, Epoch(1), Claim::TakeOver(LEASE), LEASE).await }
        });
        let answers = answers.await;
        assert_eq!(answers.iter().filter(|answer| **answer == Ok(Epoch(2))).count(), 1, "{answers:?}");
        let fenced = Err(Error::Fenced { given: Epoch(1), current: Epoch(2) });
        assert_eq!(answers.iter().filter(|answer| **answer == fenced).count(), answers.len() - 1);
    }
}

pub async fn nothing_of_a_stale_writer_comes_after_a_takeover(scene: Scene) {
    for round in 0..10 {
        let thread = thread(&round.to_string());
        let run = scene.open(&thread, "r").await.run;
        let answers = at_once(&scene, |store, number| {
            let thread = thread.clone();
            async move {
                if number != TASKS / 2 {
                    let stale = Append { records: vec![event("stale")], ..appending(&thread, run) };
                    return store.append(stale).await.map(|ack| ack.first);
                }
                let claim = Claim::TakeOver(Timestamp(LEASE.0 + 1));
                store.claim(&thread, run, Epoch(1), claim, LEASE).await?;
                let by_new =
                    Append { epoch: Epoch(2), records: vec![event("new")], ..appending(&thread, run) };
                store.append(by_new).await.map(|ack| ack.first)
            }
        });
        let answers = answers.await;
        let records = texts(&scene.records(&thread).await);
        assert_eq!(records.last().map(String::as_str), Some("new"), "{records:?}");
        assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), records.len() - 1);
        let fenced = Err(Error::Fenced { given: Epoch(1), current: Epoch(2) });
        assert!(answers.iter().all(|answer| answer.is_ok() || *answer == fenced), "{answers:?}");
    }
}
