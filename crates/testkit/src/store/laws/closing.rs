use crate::store::Ending;
use crate::store::scene::{NOW, Scene, appending, checkpoint, thread};
use crate::store::view::View;
use threadline_log::store::Claim;
use threadline_log::{Epoch, Error, Timestamp};

pub async fn a_closed_store_takes_no_writes_and_says_so(mut scene: Scene) {
    let thread = thread("t");
    let done = scene.open_and_end(&thread, "r0").await.run;
    scene.put_checkpoint(&thread, checkpoint(done, "")).await;
    let run = scene.open(&thread, "r1").await.run;
    assert_eq!(scene.store.trouble(), None);
    scene.settle().await;
    let threads = [thread.clone(), crate::store::scene::thread("new")];
    let far = Timestamp(i64::MAX);
    let before = View::of(&*scene.store, &threads, far).await.expect("a view");
    let [again, new] = [scene.opening(&thread, "r2").await, scene.opening(&threads[1], "r").await];

    scene.store.close().await;
    let store = &scene.store;
    let answers = [
        ("open_run", store.open_run(again).await.err()),
        ("open_run of a new thread", store.open_run(new).await.err()),
        ("append", store.append(appending(&thread, run)).await.err()),
        ("claim", store.claim(&thread, run, Epoch(1), Claim::Renew(NOW), NOW).await.err()),
        ("describe", store.describe(&thread, Default::default(), NOW).await.err()),
        ("put_checkpoint", store.put_checkpoint(&thread, None, checkpoint(done, "x"), NOW).await.err()),
        ("trim", store.trim(&thread, 1, NOW).await.err()),
        ("compact_run", store.compact_run(&thread, done, NOW).await.err()),
        ("delete", store.delete(&thread, None, NOW).await.err()),
    ];
    for (what, answer) in answers {
        assert!(matches!(answer, Some(Error::Unavailable(_))), "{what}: {answer:?}");
    }
    assert!(store.trouble().is_some());
    store.close().await;

    if scene.lasts() {
        scene = scene.reopen(Ending::Clean).await;
        scene.settle().await;
        assert_eq!(scene.store.trouble(), None);
        assert_eq!(View::of(&*scene.store, &threads, far).await.expect("a view"), before);
        assert_eq!(scene.append(&thread, run, &["x"]).await.first, 3);
    }
}

pub async fn who_writes_while_a_store_is_closed_gets_an_ack_or_nothing_is_done(mut scene: Scene) {
    let thread = thread("t");
    let run = scene.open(&thread, "r").await.run;
    let mut writers = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (store, append) = (scene.store.clone(), appending(&thread, run));
        writers.spawn(async move {
            let mut acked = 0;
            loop {
                match store.append(append.clone()).await {
                    Ok(_) => acked += 1,
                    Err(Error::Unavailable(_)) => return acked,
                    Err(error) => panic!("{error}"),
                }
                tokio::task::yield_now().await;
            }
        });
    }
    while scene.info(&thread).await.offsets.end < 20 {
        tokio::task::yield_now().await;
    }
    scene.store.close().await;
    let acked: usize = writers.join_all().await.into_iter().sum();
    if scene.lasts() {
        scene = scene.reopen(Ending::Clean).await;
        assert_eq!(scene.records(&thread).await.len(), acked + 1);
    }
}
