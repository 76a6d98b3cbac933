use crate::store::scene::{ENDINGS, NOW, Scene, checkpoint, everything, said, scope, thread};
use threadline_log::store::OpenRun;
use threadline_log::thread::{MetadataChange, ThreadQuery};
use threadline_log::{Checkpoint, RunNo, ThreadKey, Timestamp};

fn words(words: &str) -> ThreadQuery {
    ThreadQuery { words: Some(words.to_owned()), ..everything() }
}

fn named(name: &str) -> MetadataChange {
    MetadataChange { name: Some(name.to_owned()), ..MetadataChange::default() }
}

/// A thread of a name and one ended run whose checkpoint is this. Those made later are listed first.
async fn make(scene: &Scene, id: &str, name: &str, delta: &str, time: i64) -> ThreadKey {
    let thread = thread(id);
    let metadata = named(name);
    let open = OpenRun { metadata, time: Timestamp(time), ..scene.opening(&thread, "r").await };
    let run = scene.store.open_run(open).await.expect("opened").run;
    let end = Some(crate::store::scene::ended(threadline_log::run::RunStatus::Finished));
    let append = crate::store::scene::appending(&thread, run);
    let append = threadline_log::store::Append { end: end.map(Box::new), time: Timestamp(time), ..append };
    scene.store.append(append).await.expect("ended");
    scene.put_checkpoint(&thread, checkpoint(run, delta)).await;
    thread
}

pub async fn threads_are_found_by_whole_words_in_any_case(mut scene: Scene) {
    make(&scene, "c", "Größe_x2 naïve", &said("Ein ÉTÉ in 東京, don't"), 1).await;
    make(&scene, "b", "The Catalogue", &said("A category of CATS"), 2).await;
    make(&scene, "a", "cat-dog", "", 3).await;
    let asked: [(&str, &[&str]); 22] = [
        ("", &["a", "b", "c"]),
        (" ,.- ", &["a", "b", "c"]),
        ("cat", &["a"]),
        ("CAT", &["a"]),
        ("cats", &["b"]),
        ("cat cats", &[]),
        ("ca", &[]),
        ("catalogue category", &["b"]),
        ("dog, Cat!", &["a"]),
        ("cat-dog", &["a"]),
        ("größe", &["c"]),
        ("GRÖßE", &["c"]),
        ("grosse", &[]),
        ("groesse", &[]),
        ("été", &["c"]),
        ("ete", &[]),
        ("X2", &["c"]),
        ("東京", &["c"]),
        ("東", &[]),
        ("don t", &["c"]),
        ("cat OR cats", &[]),
        ("\"cat*\" AND", &[]),
    ];
    for ending in ENDINGS {
        for (query, names) in asked {
            assert_eq!(scene.list_names(&words(query)).await, names, "{query:?}");
        }
        scene = scene.reopen(ending).await;
    }
}

pub async fn messages_are_found_however_a_checkpoint_has_them(mut scene: Scene) {
    let user = serde_json::json!({"id": "u", "role": "user", "content": "alpha"});
    let parts = serde_json::json!({"id": "p", "role": "user", "content": [{"type": "text", "text": "beta"}]});
    let assistant = serde_json::json!({"id": "a", "role": "assistant", "content": "gamma"});
    let tool = serde_json::json!({"id": "t", "role": "tool", "content": "hidden", "toolCallId": "c"});
    let snapshot =
        serde_json::json!({"type": "MESSAGES_SNAPSHOT", "messages": [user, parts, assistant, tool]});
    let input = serde_json::json!({"id": "i", "role": "user", "content": "delta"});
    let input = serde_json::json!({"threadId": "t", "runId": "r", "state": {}, "messages": [input], "tools": [],
        "context": [], "forwardedProps": {}});
    let started = serde_json::json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r", "input": input});
    let call = serde_json::json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "hidden"});
    let delta = format!("{started}\n{call}\n{}\n{snapshot}\n", said("epsilon").trim_end());
    make(&scene, "t", "zeta", &delta, 1).await;
    for ending in ENDINGS {
        for word in ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"] {
            assert_eq!(scene.list_names(&words(word)).await, ["t"], "{word}");
        }
        assert_eq!(scene.list_names(&words("alpha delta epsilon zeta")).await, ["t"]);
        assert_eq!(scene.list_names(&words("hidden")).await, [""; 0]);
        scene = scene.reopen(ending).await;
    }
}

pub async fn words_that_are_gone_find_nothing(mut scene: Scene) {
    let found = async |scene: &Scene, word: &str| scene.list_names(&words(word)).await;
    let thread = make(&scene, "t", "before", &said("apple"), 1).await;
    make(&scene, "u", "other", &said("apple"), 0).await;
    assert_eq!(found(&scene, "apple").await, ["t", "u"]);
    scene.put_checkpoint(&thread, checkpoint(RunNo(0), &said("pear"))).await;
    scene.store.describe(&thread, named("after"), NOW).await.expect("described");
    for ending in ENDINGS {
        assert_eq!(found(&scene, "apple").await, ["u"], "the checkpoint was replaced");
        assert_eq!(found(&scene, "before").await, [""; 0], "the name was changed");
        assert_eq!(found(&scene, "after pear").await, ["t"]);
        scene = scene.reopen(ending).await;
    }
    let tail = scene.info(&thread).await.offsets.end;
    scene.store.trim(&thread, tail, NOW).await.expect("trimmed");
    scene.store.compact_run(&thread, RunNo(0), NOW).await.expect("compacted");
    assert_eq!(found(&scene, "pear").await, ["t"], "messages outlive their records");
    scene.store.delete(&thread, None, NOW).await.expect("deleted");
    assert_eq!(found(&scene, "pear").await, [""; 0]);
    scene.open(&thread, "r").await;
    assert_eq!(found(&scene, "pear").await, [""; 0], "another thread of the same name");
    assert_eq!(found(&scene, "after").await, [""; 0], "another thread of the same name");
}

pub async fn words_of_all_runs_find_a_thread_together_with_other_filters(scene: Scene) {
    let thread = make(&scene, "t", "one", &said("two"), 1).await;
    let second = scene.open_and_end(&thread, "r2").await.run;
    let binary = Checkpoint { full: Some("five".into()), ..checkpoint(second, &said("three")) };
    scene.put_checkpoint(&thread, binary).await;
    assert_eq!(scene.list_names(&words("three one two")).await, ["t"]);
    assert_eq!(scene.list_names(&words("five")).await, [""; 0], "folds are not searched");
    let within = |user| ThreadQuery { scope: Some(scope("app", user)), ..words("two") };
    assert_eq!(scene.list_names(&within("user")).await, ["t"]);
    assert_eq!(scene.list_names(&within("other")).await, [""; 0]);
    let archived = ThreadQuery { archived: Some(true), ..words("two") };
    assert_eq!(scene.list_names(&archived).await, [""; 0]);
}

pub async fn words_and_interrupts_of_any_length_are_found(mut scene: Scene) {
    // Nothing that could be made shorter.
    let mut random = crate::random::Random::new(7);
    let long: String =
        (0..20_000).map(|_| char::from(b'a' + u8::try_from(random.below(26)).expect("a letter"))).collect();
    let thread = thread("t");
    let run = scene.open(&thread, "r").await.run;
    let end = threadline_log::run::RunEnd {
        interrupts: vec![long.clone(), "short".to_owned()],
        ..crate::store::scene::ended(threadline_log::run::RunStatus::Interrupted)
    };
    let append = crate::store::scene::appending(&thread, run);
    let append = threadline_log::store::Append { end: Some(end.into()), ..append };
    scene.store.append(append).await.expect("ended");
    scene.put_checkpoint(&thread, checkpoint(run, &said(&long))).await;
    scene.store.describe(&thread, named(&long), NOW).await.expect("described");
    let sought = threadline_log::kin::Sought {
        interrupts: vec![long.clone(), format!("{long}x"), "short".to_owned()],
        ..Default::default()
    };
    for ending in ENDINGS {
        assert_eq!(scene.list_names(&words(&long)).await, ["t"]);
        assert_eq!(scene.list_names(&words(&long[1..])).await, [""; 0]);
        let kin = scene.store.kin(&thread, &sought).await.expect("known");
        let mut known: Vec<usize> = kin.interrupts.keys().map(String::len).collect();
        known.sort_unstable();
        assert_eq!(known, ["short".len(), long.len()]);
        scene = scene.reopen(ending).await;
    }
}
