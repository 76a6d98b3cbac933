use crate::store::scene::{
    self, ENDINGS, LEASE, NOW, Scene, appending, checkpoint, event, everything, scope, thread,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use threadline_log::run::RunStatus;
use threadline_log::store::{Append, Claim, OpenRun, RunsSeen};
use threadline_log::thread::{Metadata, MetadataChange, ThreadCursor, ThreadOrder, ThreadQuery, Usage};
use threadline_log::{Epoch, Kind, NewRecord, RunNo, Scope, ThreadKey, Timestamp};
use tokio::task::JoinSet;

fn named(name: &str) -> MetadataChange {
    MetadataChange { name: Some(name.to_owned()), ..MetadataChange::default() }
}

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())).collect()
}

pub async fn a_description_changes_what_it_names_and_takes_no_offset(mut scene: Scene) {
    let thread = thread("t");
    scene.open(&thread, "r").await;
    let set = |label: &str, value: Option<&str>| (label.to_owned(), value.map(str::to_owned));
    let changes = [
        MetadataChange { agent: Some("agent".to_owned()), ..named("Name") },
        MetadataChange {
            labels: [set("a", Some("1")), set("b", Some("2"))].into(),
            ..MetadataChange::default()
        },
        MetadataChange { archived: Some(true), ..MetadataChange::default() },
        MetadataChange::default(),
        MetadataChange {
            archived: Some(false),
            labels: [set("a", None), set("b", Some("")), set("never there", None)].into(),
            ..named("")
        },
    ];
    for (number, change) in (1..).zip(changes) {
        let time = Timestamp(NOW.0 + number);
        scene.store.describe(&thread, change, time).await.expect("described");
        assert_eq!(scene.info(&thread).await.updated, time);
        if number == 3 {
            assert!(scene.info(&thread).await.metadata.archived);
        }
    }
    let expected = Metadata {
        name: Some(String::new()),
        archived: false,
        agent: Some("agent".to_owned()),
        labels: labels(&[("b", "")]),
    };
    for ending in ENDINGS {
        let info = scene.info(&thread).await;
        assert_eq!(info.metadata, expected);
        assert_eq!((info.offsets, info.created), (0..1, NOW));
        scene = scene.reopen(ending).await;
    }
    // The clock may go back, the label does not.
    scene.store.describe(&thread, named("x"), Timestamp(0)).await.expect("described");
    assert_eq!(scene.info(&thread).await.updated, Timestamp(NOW.0 + 5));
}

pub async fn counters_count_what_came(mut scene: Scene) {
    let thread = thread("t");
    let run = scene.open(&thread, "r0").await.run;
    scene.append(&thread, run, &["", "12345", "äöü"]).await;
    scene.end(&thread, run).await;
    let rejected = NewRecord { kind: Kind::Rejected, ..event("rejected") };
    let late = Append { records: vec![rejected], ..appending(&thread, run) };
    scene.store.append(late).await.expect("appended");
    scene.open(&thread, "r1").await;
    let bytes = 5 + 5 + 6 + 5 + 8 + 5;
    for ending in ENDINGS {
        let info = scene.info(&thread).await;
        assert_eq!((info.offsets, info.runs, info.bytes), (0..7, 2, bytes));
        assert_eq!(info.last_run, Some((RunNo(1), RunStatus::Running)));
        assert_eq!(scene.list(&everything()).await, [scene.info(&thread).await]);
        scene = scene.reopen(ending).await;
    }
    scene.end(&thread, RunNo(1)).await;
    let info = scene.info(&thread).await;
    assert_eq!((info.last_run, info.bytes), (Some((RunNo(1), RunStatus::Finished)), bytes + 5));
}

pub async fn only_what_is_appended_or_said_counts_as_an_update(mut scene: Scene) {
    let thread = thread("t");
    let done = scene.open_and_end(&thread, "r0").await.run;
    let run = scene.open(&thread, "r1").await.run;
    let at = |time| Timestamp(NOW.0 + time);
    let store = &scene.store;
    store.claim(&thread, run, Epoch(1), Claim::Renew(LEASE), at(10)).await.expect("renewed");
    store.put_checkpoint(&thread, None, checkpoint(done, ""), at(20)).await.expect("kept");
    store.trim(&thread, 1, at(30)).await.expect("trimmed");
    store.compact_run(&thread, done, at(40)).await.expect("compacted");
    store.tidy().await.expect("tidied");
    for ending in ENDINGS {
        assert_eq!(scene.info(&thread).await.updated, NOW);
        scene = scene.reopen(ending).await;
    }
    let append = Append { time: at(1), ..appending(&thread, run) };
    assert_eq!(scene.store.append(append).await.expect("appended").time, at(1));
    assert_eq!(scene.info(&thread).await.updated, at(1));
    scene.store.describe(&thread, named("x"), at(2)).await.expect("described");
    assert_eq!(scene.info(&thread).await.updated, at(2));
    let open = OpenRun { time: at(3), ..scene.opening(&thread, "r2").await };
    scene.store.open_run(open).await.expect("opened");
    assert_eq!(scene.info(&thread).await.updated, at(3));
}

async fn make(scene: &Scene, key: &ThreadKey, time: i64, metadata: MetadataChange) {
    let open = OpenRun { time: Timestamp(time), metadata, ..scene.opening(key, "r").await };
    scene.store.open_run(open).await.expect("opened");
}

pub async fn a_list_has_the_last_that_was_updated_first(mut scene: Scene) {
    for (id, time) in [("b", 10), ("a", 10), ("c", 30), ("d", 20), ("e", -5)] {
        make(&scene, &thread(id), time, MetadataChange::default()).await;
    }
    assert_eq!(scene.list_names(&everything()).await, ["c", "d", "a", "b", "e"]);
    scene.store.describe(&thread("b"), named("x"), Timestamp(25)).await.expect("described");
    for ending in ENDINGS {
        assert_eq!(scene.list_names(&everything()).await, ["c", "b", "d", "a", "e"]);
        for limit in 0..7 {
            let first = scene.list_names(&ThreadQuery { limit, ..everything() }).await;
            assert_eq!(first, ["c", "b", "d", "a", "e"][..limit.min(5)]);
        }
        scene = scene.reopen(ending).await;
    }
}

pub async fn a_list_has_what_is_asked_for(mut scene: Scene) {
    let change = |archived, agent: &str, pairs: &[(&str, &str)]| MetadataChange {
        archived,
        agent: (!agent.is_empty()).then(|| agent.to_owned()),
        labels: labels(pairs).into_iter().map(|(label, value)| (label, Some(value))).collect(),
        ..MetadataChange::default()
    };
    make(&scene, &thread("a"), 9, change(None, "x", &[("l", "1"), ("m", "2")])).await;
    make(&scene, &thread("b"), 8, change(Some(true), "x", &[("l", "1")])).await;
    make(&scene, &thread("c"), 7, change(Some(false), "y", &[("l", "2"), ("n", "1")])).await;
    make(&scene, &thread("d"), 6, change(None, "", &[])).await;
    let elsewhere = ThreadKey::new(scope("app", "other"), scene::thread_id("e"));
    make(&scene, &elsewhere, 5, change(None, "x", &[("l", "1")])).await;
    let labelled = |pairs| ThreadQuery { labels: labels(pairs), ..everything() };
    let agent = |agent: &str| ThreadQuery { agent: Some(agent.to_owned()), ..everything() };
    let archived = |archived| ThreadQuery { archived: Some(archived), ..everything() };
    let of = |app, user| ThreadQuery { scope: Some(scope(app, user)), ..everything() };
    let asked: Vec<(ThreadQuery, &[&str])> = vec![
        (everything(), &["a", "b", "c", "d", "e"]),
        (of("app", "user"), &["a", "b", "c", "d"]),
        (of("app", "other"), &["e"]),
        (of("user", "app"), &[]),
        (archived(true), &["b"]),
        (archived(false), &["a", "c", "d", "e"]),
        (agent("x"), &["a", "b", "e"]),
        (agent("X"), &[]),
        (agent(""), &[]),
        (labelled(&[("l", "1")]), &["a", "b", "e"]),
        (labelled(&[("l", "1"), ("m", "2")]), &["a"]),
        (labelled(&[("l", "1"), ("n", "1")]), &[]),
        (labelled(&[("l", "")]), &[]),
        (ThreadQuery { scope: Some(scope("app", "user")), ..agent("x") }, &["a", "b"]),
        (ThreadQuery { archived: Some(false), limit: 1, ..agent("x") }, &["a"]),
    ];
    for ending in ENDINGS {
        for (query, names) in &asked {
            assert_eq!(scene.list_names(query).await, *names, "{query:?}");
        }
        scene = scene.reopen(ending).await;
    }
}

/// Goes on after what was listed, until there is no more. What happens between pages is said by `between`.
async fn pages(
    scene: &Scene,
    order: ThreadOrder,
    limit: usize,
    mut between: impl AsyncFnMut(usize),
) -> Vec<String> {
    let mut listed = Vec::new();
    let mut query = ThreadQuery { order, limit, ..everything() };
    for page in 0.. {
        let found = scene.list(&query).await;
        assert!(found.len() <= limit);
        let Some(last) = found.last() else { break };
        query.after = Some(ThreadCursor::of(last));
        listed.extend(found.iter().map(|thread| thread.key.thread.to_string()));
        between(page).await;
    }
    listed
}

pub async fn pages_of_a_list_are_the_list(mut scene: Scene) {
    for number in 0..20 {
        // Some were updated at the same time, where names decide.
        make(&scene, &thread(&number.to_string()), number / 3, MetadataChange::default()).await;
    }
    for ending in ENDINGS {
        for order in [ThreadOrder::Updated, ThreadOrder::Name] {
            let all = scene.list_names(&ThreadQuery { order, ..everything() }).await;
            assert_eq!(all.len(), 20);
            assert_eq!(all.is_sorted(), order == ThreadOrder::Name);
            for limit in [1, 2, 3, 7, 20, 21] {
                assert_eq!(pages(&scene, order, limit, async |_| {}).await, all, "{limit} a page, {order:?}");
            }
        }
        scene = scene.reopen(ending).await;
    }
}

pub async fn who_pages_sees_each_thread_that_stays_as_it_is_once(scene: Scene) {
    for number in 0..40_i64 {
        make(&scene, &thread(&format!("{number:02}")), number / 3, MetadataChange::default()).await;
    }
    let touched = async |page: usize| {
        let store = &scene.store;
        let time = Timestamp(1_000 + i64::try_from(page).expect("few pages"));
        match page % 3 {
            // One that may have been seen, and one that may be the cursor's own.
            0 => {
                let describe = async |id: String| store.describe(&thread(&id), named("x"), time).await;
                describe(format!("{:02}", page % 10)).await.expect("described");
                describe(format!("{:02}", 30 + page % 10)).await.expect("described");
            }
            1 => make(&scene, &thread(&format!("new {page}")), time.0, MetadataChange::default()).await,
            _ => store.delete(&thread(&format!("{:02}", 10 + page % 10)), None, time).await.expect("deleted"),
        }
    };
    let listed = pages(&scene, ThreadOrder::Updated, 3, touched).await;
    let mut times_seen: BTreeMap<&str, u32> = BTreeMap::new();
    for id in &listed {
        *times_seen.entry(id).or_default() += 1;
    }
    assert!(times_seen.values().all(|times| *times == 1), "seen twice: {times_seen:?}");
    let after = scene.list(&everything()).await;
    let untouched = after.iter().filter(|thread| thread.updated < Timestamp(100));
    let mut count = 0;
    for thread in untouched {
        let id = thread.key.thread.as_str();
        assert!(times_seen.contains_key(id), "{id} was missed");
        count += 1;
    }
    assert!(count > 20, "too few were left alone to tell");
}

pub async fn who_pages_by_name_sees_each_thread_that_is_there_all_the_while_once(scene: Scene) {
    for number in 0..20_i64 {
        make(&scene, &thread(&format!("{number:02}")), number / 3, MetadataChange::default()).await;
    }
    let touched = async |page: usize| {
        // All that were not listed yet are updated: by their descriptions, and the last by an append to its run.
        let time = Timestamp(1_000 + i64::try_from(page).expect("few pages"));
        for number in 3 * (page + 1)..19 {
            let described = scene.store.describe(&thread(&format!("{number:02}")), named("x"), time).await;
            described.expect("described");
        }
        let append = Append { time, ..appending(&thread("19"), RunNo(0)) };
        scene.store.append(append).await.expect("appended");
        make(&scene, &thread(&format!("0{page} new")), time.0, MetadataChange::default()).await;
    };
    let mut listed = pages(&scene, ThreadOrder::Name, 3, touched).await;
    listed.retain(|id| !id.ends_with("new"));
    let all: Vec<String> = (0..20).map(|number| format!("{number:02}")).collect();
    assert_eq!(listed, all);
}

async fn keeps(scene: &Scene, scope: &Scope, threads: u64, bytes: u64) {
    let usage = scene.store.usage(scope).await.expect("counted");
    assert_eq!(usage, Usage { threads, bytes });
}

pub async fn a_scope_keeps_what_its_threads_have(mut scene: Scene) {
    let (mine, others) = (scope("app", "user"), scope("app", "other"));
    // Asked before and after: what is counted once goes on with every write.
    keeps(&scene, &mine, 0, 0).await;
    let run = scene.open(&thread("a"), "r0").await.run;
    keeps(&scene, &mine, 1, 5).await;
    scene.append(&thread("a"), run, &["12345", ""]).await;
    scene.end(&thread("a"), run).await;
    scene.open(&thread("b"), "r0").await;
    scene.open(&ThreadKey::new(others.clone(), scene::thread_id("a")), "r0").await;
    for ending in ENDINGS {
        keeps(&scene, &mine, 2, 20).await;
        keeps(&scene, &others, 1, 5).await;
        keeps(&scene, &scope("other", "user"), 0, 0).await;
        scene = scene.reopen(ending).await;
    }
    let store = &scene.store;
    store.put_checkpoint(&thread("a"), None, checkpoint(run, ""), NOW).await.expect("kept");
    store.trim(&thread("a"), 1, NOW).await.expect("trimmed");
    store.compact_run(&thread("a"), run, NOW).await.expect("compacted");
    keeps(&scene, &mine, 2, 20).await;
    scene.store.delete(&thread("a"), None, NOW).await.expect("deleted");
    keeps(&scene, &mine, 1, 5).await;
    scene.open(&thread("a"), "again").await;
    scene.store.delete(&thread("b"), None, NOW).await.expect("deleted");
    for ending in ENDINGS {
        keeps(&scene, &mine, 1, 5).await;
        keeps(&scene, &others, 1, 5).await;
        scene = scene.reopen(ending).await;
    }
}

pub async fn what_a_scope_keeps_is_right_though_it_is_counted_while_it_grows(mut scene: Scene) {
    const ROUNDS: u64 = 10;
    for ending in ENDINGS {
        let mut tasks = JoinSet::new();
        for task in 0..4 {
            let (store, ending) = (Arc::clone(&scene.store), format!("{ending:?}"));
            tasks.spawn(async move {
                for round in 0..ROUNDS {
                    let key = thread(&format!("{ending} {task} {round}"));
                    let open = scene::opening(&key, "r", RunsSeen::default());
                    store.open_run(open).await.expect("opened");
                    if round % 3 == 0 {
                        store.delete(&key, None, NOW).await.expect("deleted");
                    }
                }
            });
        }
        let mut before = 0;
        while tasks.join_next().await.is_some() {
            let usage = scene.store.usage(&scope("app", "user")).await.expect("counted");
            assert!(usage.bytes == usage.threads * 5, "{usage:?}");
            before = usage.threads.max(before);
        }
        let usage = scene.store.usage(&scope("app", "user")).await.expect("counted");
        assert_eq!(usage, Usage::of(scene.list(&everything()).await.iter().map(|thread| thread.bytes)));
        assert!(usage.threads > 0 && before > 0);
        scene = scene.reopen(ending).await;
    }
}
