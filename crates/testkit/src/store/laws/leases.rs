use crate::store::Ending;
use crate::store::scene::{ENDINGS, LEASE, NOW, Scene, appending, ended, thread};
use std::collections::BTreeSet;
use threadline_log::run::RunStatus;
use threadline_log::store::{Append, Claim, OpenRun};
use threadline_log::{Epoch, Error, RunNo, Timestamp};

const LATER: Timestamp = Timestamp(LEASE.0 + 60_000);

fn fenced(given: u32, current: u32) -> Error {
    Error::Fenced { given: Epoch(given), current: Epoch(current) }
}

pub async fn a_writer_renews_its_lease(mut scene: Scene) {
    let thread = thread("t");
    let run = scene.open(&thread, "r").await.run;
    // Even late, as long as nobody has taken over.
    for time in [NOW, LEASE, LATER] {
        scene
            .store
            .claim(&thread, run, Epoch(1), Claim::Renew(Timestamp(time.0 + 10)), time)
            .await
            .expect("renewed");
        scene = scene.reopen(Ending::Crash).await;
        let info = scene.run(&thread, run).await;
        assert_eq!((info.epoch, info.lease_until), (Epoch(1), Timestamp(time.0 + 10)));
    }
    scene.append(&thread, run, &["x"]).await;
}

pub async fn a_run_is_taken_over_only_after_its_lease(mut scene: Scene) {
    let thread = thread("t");
    let run = scene.open(&thread, "r").await.run;
    let id = scene.run(&thread, run).await.id;
    let take = async |scene: &Scene, epoch, time| {
        scene.store.claim(&thread, run, Epoch(epoch), Claim::TakeOver(LATER), time).await
    };
    let just_before = Timestamp(LEASE.0 - 1);
    assert_eq!(take(&scene, 1, just_before).await, Err(Error::RunActive(id)));
    assert_eq!(take(&scene, 2, LATER).await, Err(fenced(2, 1)));
    assert_eq!(take(&scene, 0, LATER).await, Err(fenced(0, 1)));
    assert_eq!(take(&scene, 1, LEASE).await, Ok(Epoch(2)));
    for _ in 0..2 {
        assert_eq!(take(&scene, 1, LATER).await, Err(fenced(1, 2)), "somebody was faster");
        let renewal = Claim::Renew(LATER);
        let renewed = scene.store.claim(&thread, run, Epoch(1), renewal, LATER).await;
        assert_eq!(renewed, Err(fenced(1, 2)), "the old writer is back");
        scene = scene.reopen(Ending::Crash).await;
    }
    let info = scene.run(&thread, run).await;
    assert_eq!((info.epoch, info.lease_until), (Epoch(2), LATER));
}

pub async fn a_stale_writer_is_fenced_alone(mut scene: Scene) {
    let thread = thread("t");
    let [taken, beside] = [scene.open(&thread, "r0").await.run, scene.open(&thread, "r1").await.run];
    scene.store.claim(&thread, taken, Epoch(1), Claim::TakeOver(LATER), LEASE).await.expect("taken over");
    for _ in 0..2 {
        assert_eq!(scene.store.append(appending(&thread, taken)).await, Err(fenced(1, 2)));
        scene.append(&thread, beside, &["x"]).await;
        let by_new = Append { epoch: Epoch(2), ..appending(&thread, taken) };
        scene.store.append(by_new).await.expect("appended");
        scene = scene.reopen(Ending::Crash).await;
    }
    let end = Some(ended(RunStatus::Abandoned).into());
    let close = Append { epoch: Epoch(2), end, ..appending(&thread, taken) };
    scene.store.append(close).await.expect("closed");
    // Fenced for ever, also where it would only leave what it rejected.
    assert_eq!(scene.store.append(appending(&thread, taken)).await, Err(fenced(1, 2)));
}

pub async fn a_run_is_seized_whoever_has_it(mut scene: Scene) {
    let thread = thread("t");
    let [seized, beside] = [scene.open(&thread, "r0").await.run, scene.open(&thread, "r1").await.run];
    let seize = async |scene: &Scene, epoch| {
        scene.store.claim(&thread, seized, Epoch(epoch), Claim::Seize(LATER), NOW).await
    };
    assert_eq!(seize(&scene, 2).await, Err(fenced(2, 1)));
    assert_eq!(seize(&scene, 1).await, Ok(Epoch(2)), "its lease is not over");
    for _ in 0..2 {
        assert_eq!(seize(&scene, 1).await, Err(fenced(1, 2)), "somebody was faster");
        assert_eq!(scene.store.append(appending(&thread, seized)).await, Err(fenced(1, 2)));
        let renewed = scene.store.claim(&thread, seized, Epoch(1), Claim::Renew(LATER), NOW).await;
        assert_eq!(renewed, Err(fenced(1, 2)));
        scene.append(&thread, beside, &["x"]).await;
        scene = scene.reopen(Ending::Crash).await;
    }
    let info = scene.run(&thread, seized).await;
    assert_eq!((info.epoch, info.lease_until), (Epoch(2), LATER));
    let end = Some(ended(RunStatus::Cancelled).into());
    let close = Append { epoch: Epoch(2), end, ..appending(&thread, seized) };
    scene.store.append(close).await.expect("closed");
}

pub async fn a_run_that_has_ended_is_nobodys(scene: Scene) {
    let thread = thread("t");
    let run = scene.open_and_end(&thread, "r").await.run;
    let id = scene.run(&thread, run).await.id;
    for claim in [Claim::Renew(LATER), Claim::TakeOver(LATER), Claim::Seize(LATER)] {
        let claim = scene.store.claim(&thread, run, Epoch(1), claim, LATER).await;
        assert_eq!(claim, Err(Error::RunEnded(id.clone())));
    }
    assert_eq!(scene.store.expired(LATER).await, Ok(Vec::new()));
}

pub async fn runs_whose_lease_is_over_are_found(mut scene: Scene) {
    let threads = [thread("a"), thread("b")];
    let mut until = 100;
    for thread in &threads {
        for id in ["r0", "r1"] {
            let lease_until = Timestamp(until);
            let open = OpenRun { lease_until, ..scene.opening(thread, id).await };
            scene.store.open_run(open).await.expect("opened");
            until += 100;
        }
    }
    // Leases until 100, 200, 300 and 400; the second ends, the third is renewed until 500.
    scene.end(&threads[0], RunNo(1)).await;
    let renewed = scene.store.claim(&threads[1], RunNo(0), Epoch(1), Claim::Renew(Timestamp(500)), NOW).await;
    renewed.expect("renewed");
    let [a0, b0, b1] = [(&threads[0], RunNo(0)), (&threads[1], RunNo(0)), (&threads[1], RunNo(1))]
        .map(|(t, r)| (t.clone(), r));
    for ending in ENDINGS {
        for (time, over) in [
            (99, vec![]),
            (100, vec![&a0]),
            (399, vec![&a0]),
            (400, vec![&a0, &b1]),
            (499, vec![&a0, &b1]),
            (500, vec![&a0, &b1, &b0]),
        ] {
            let expired = scene.store.expired(Timestamp(time)).await.expect("a list");
            assert_eq!(expired.len(), over.len(), "{expired:?}");
            let expired: BTreeSet<_> = expired.iter().collect();
            assert_eq!(expired, over.into_iter().collect(), "at {time}");
        }
        scene = scene.reopen(ending).await;
    }
    scene.store.delete(&threads[0], None, NOW).await.expect("deleted");
    assert_eq!(scene.store.expired(Timestamp(100)).await, Ok(Vec::new()));
}
