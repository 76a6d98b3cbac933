use crate::store::scene::{ENDINGS, NOW, Scene, checkpoint, opening, said, thread};
use bytes::Bytes;
use std::collections::BTreeSet;
use threadline_log::kin::Sought;
use threadline_log::run::RunLineage;
use threadline_log::store::{OpenRun, RunsSeen};
use threadline_log::{Checkpoint, Error, Incarnation, RunNo};
use tokio::task::yield_now;

/// How often it is tried to ask in the very moment.
const ROUNDS: u32 = 100;

pub async fn a_checkpoint_comes_back_byte_for_byte_until_it_is_replaced(mut scene: Scene) {
    let thread = thread("t");
    let [first, second] =
        [scene.open_and_end(&thread, "a").await.run, scene.open_and_end(&thread, "b").await.run];
    assert_eq!(scene.store.checkpoint(&thread, first).await, Ok(None));
    let big: Vec<u8> = (0..300_000_u32).map(|at| at.to_le_bytes()[(at % 3) as usize]).collect();
    let other = Checkpoint { delta: Bytes::from_static(b"other"), ..checkpoint(second, "") };
    scene.put_checkpoint(&thread, other.clone()).await;
    let checkpoints = [
        Checkpoint { delta: Bytes::new(), full: None, ..checkpoint(first, "") },
        Checkpoint {
            delta: Bytes::from_static(b"\xff\0\n\n{"),
            full: Some(big.into()),
            ..checkpoint(first, "")
        },
        Checkpoint {
            version: u32::MAX,
            full: Some(Bytes::from_static(b"\xfe")),
            lineage: RunLineage::default(),
            chained: None,
            ..checkpoint(first, "")
        },
        Checkpoint { version: 0, full: None, ..checkpoint(first, "last\n") },
    ];
    for kept in checkpoints {
        scene.put_checkpoint(&thread, kept.clone()).await;
        for ending in ENDINGS {
            assert_eq!(scene.store.checkpoint(&thread, first).await, Ok(Some(kept.clone())));
            assert_eq!(scene.store.checkpoint(&thread, second).await, Ok(Some(other.clone())));
            scene = scene.reopen(ending).await;
            scene.store.tidy().await.expect("tidied");
        }
        assert_eq!(scene.run(&thread, first).await.lineage, Some(kept.lineage));
    }
    let info = scene.info(&thread).await;
    assert_eq!((info.offsets, info.updated), (0..4, NOW));
}

pub async fn only_a_run_that_has_ended_has_a_checkpoint(scene: Scene) {
    let thread = thread("t");
    let run = scene.open(&thread, "r").await.run;
    let id = scene.run(&thread, run).await.id;
    let refused = scene.store.put_checkpoint(&thread, None, checkpoint(run, ""), NOW).await;
    assert_eq!(refused, Err(Error::RunActive(id)));
    assert_eq!(scene.store.checkpoint(&thread, run).await, Ok(None));
    assert_eq!(scene.run(&thread, run).await.lineage, None);
    scene.end(&thread, run).await;
    scene.put_checkpoint(&thread, checkpoint(run, "")).await;
}

pub async fn a_first_checkpoint_is_kept_for_what_was_folded(mut scene: Scene) {
    let thread = thread("t");
    let run = scene.open_and_end(&thread, "r").await.run;
    let folded = scene.info(&thread).await.incarnation;
    let put = async |scene: &Scene, first_of, text| {
        scene.store.put_checkpoint(&thread, Some(first_of), checkpoint(run, &said(text)), NOW).await
    };
    let other = Err(Error::OtherIncarnation(thread.clone()));
    assert_eq!(put(&scene, Incarnation(folded.0 + 1), "other").await, other);
    assert_eq!(scene.store.checkpoint(&thread, run).await, Ok(None));
    put(&scene, folded, "first").await.expect("a checkpoint is kept");
    for ending in ENDINGS {
        assert_eq!(put(&scene, folded, "second").await, Err(Error::RunsChanged));
        let kept = scene.store.checkpoint(&thread, run).await;
        assert_eq!(kept, Ok(Some(checkpoint(run, &said("first")))));
        scene = scene.reopen(ending).await;
    }
    scene.store.delete(&thread, None, NOW).await.expect("deleted");
    let anew = opening(&thread, "r", RunsSeen::default());
    scene
        .store
        .open_run(OpenRun { incarnation: Incarnation(folded.0 + 1), ..anew })
        .await
        .expect("a run is opened");
    scene.end(&thread, run).await;
    assert_eq!(put(&scene, folded, "of the one before").await, other);
    assert_eq!(scene.store.checkpoint(&thread, run).await, Ok(None));
}

pub async fn messages_of_a_branch_are_known_of_its_runs(mut scene: Scene) {
    let thread = thread("t");
    for id in ["a", "b", "c"] {
        scene.open_and_end(&thread, id).await;
    }
    let lineage = |said| RunLineage { said, hash: u64::MAX - said, ids: (0..said).collect() };
    for (run, said) in [(2, 5), (0, 1), (2, 3)] {
        let run = threadline_log::RunNo(run);
        scene.put_checkpoint(&thread, Checkpoint { lineage: lineage(said), ..checkpoint(run, "") }).await;
    }
    for ending in ENDINGS {
        let known: Vec<_> = scene.runs(&thread).await.into_iter().map(|run| run.lineage).collect();
        assert_eq!(known, [Some(lineage(1)), None, Some(lineage(3))]);
        scene = scene.reopen(ending).await;
    }
}

/// Who opens a run meanwhile would take it for the child of another one.
pub async fn what_is_folded_meanwhile_is_known_or_said_to_be_unknown(scene: Scene) {
    for round in 0..ROUNDS {
        let thread = thread(&format!("t{round}"));
        let run = scene.open_and_end(&thread, "r").await.run;
        let kept = checkpoint(run, &said("hello"));
        let history = (kept.lineage.said, kept.lineage.hash);
        let sought = Sought { histories: vec![history], ..Sought::default() };
        let ask = async {
            let mut is_unknown = true;
            while is_unknown {
                let kin = scene.store.kin(&thread, &sought).await.expect("an answer");
                is_unknown = kin.unfolded == [run];
                assert!(is_unknown || kin.histories.get(&history) == Some(&run), "{round}: {kin:?}");
                yield_now().await;
            }
        };
        tokio::join!(ask, scene.put_checkpoint(&thread, kept));
    }
}

pub async fn runs_without_a_checkpoint_are_found(mut scene: Scene) {
    let threads = [thread("a"), thread("b"), thread("c")];
    for thread in &threads {
        for id in ["r0", "r1"] {
            scene.open_and_end(thread, id).await;
        }
        scene.open(thread, "r2").await;
    }
    let [a, b, c] = &threads;
    scene.put_checkpoint(a, checkpoint(RunNo(1), "")).await;
    scene.put_checkpoint(b, checkpoint(RunNo(0), "")).await;
    scene.put_checkpoint(b, checkpoint(RunNo(1), "")).await;
    for ending in ENDINGS {
        let found = scene.store.unfolded().await.expect("a list");
        let left = [(a, 0), (c, 0), (c, 1)].map(|(thread, run)| (thread.clone(), RunNo(run)));
        assert_eq!((found.len(), BTreeSet::from_iter(found)), (3, BTreeSet::from(left)));
        scene = scene.reopen(ending).await;
    }
    scene.end(b, RunNo(2)).await;
    scene.store.delete(c, None, NOW).await.expect("deleted");
    scene.put_checkpoint(a, checkpoint(RunNo(0), "")).await;
    assert_eq!(scene.store.unfolded().await, Ok(vec![(b.clone(), RunNo(2))]));
}
