//! Rows that were changed by somebody else are noticed.

use crate::place::{Place, append, finished, open_run, opening, texts, thread};
use bytes::Bytes;
use threadline_log::run::RunLineage;
use threadline_log::store::OpenRun;
use threadline_log::{Checkpoint, Error, Store};

#[tokio::test]
async fn a_damaged_row_is_never_served_and_harms_no_other_thread() {
    let place = Place::new();
    let store = place.instance().await;
    let [damaged, whole] = [thread("damaged"), thread("whole")];
    for thread in [&damaged, &whole] {
        open_run(&store, thread).await;
        append(&store, thread, "said").await.expect("appended");
    }
    let flip = "UPDATE batch SET body = set_byte(body, octet_length(body) - 1, get_byte(body, octet_length(body) - 1) # 1) \
        WHERE first = 1 AND thread = (SELECT id FROM thread WHERE name = 'damaged')";
    place.inside().await.execute(flip, &[]).await.expect("a row is changed");
    let error = texts(&store, &damaged).await.expect_err("it is noticed");
    assert!(matches!(&error, Error::Corrupt { place, .. } if place.contains("offset=1")), "{error}");
    let before = store.read(&damaged, 0..1, None, usize::MAX).await.expect("what is before it can be read");
    assert_eq!(before.records.len(), 1);
    assert_eq!(texts(&store, &whole).await.expect("it can be read"), ["start", "said"]);
    // It goes on, and what cannot be read is not packed.
    append(&store, &damaged, "more").await.expect("appended");
    store.tidy().await.expect("tidied");
}

#[tokio::test]
async fn a_flipped_bit_of_a_request_or_a_checkpoint_is_never_served() {
    let place = Place::new();
    let (store, thread, now) = (place.instance().await, thread("t"), threadline_log::Timestamp(1));
    let request = Bytes::from_static(br#"{"said":"{1}"}"#);
    let open = OpenRun { request: request.clone(), end: Some(finished()), ..opening(&thread, now) };
    let run = store.open_run(open).await.expect("a run").run;
    let checkpoint = Checkpoint {
        run,
        version: 1,
        stands_alone: false,
        delta: Bytes::from_static(br#"{"delta":"{1}"}"#),
        full: Some(Bytes::from_static(br#"{"messages":["{1}"]}"#)),
        chained: None,
        lineage: RunLineage::default(),
    };
    store.put_checkpoint(&thread, None, checkpoint.clone(), now).await.expect("kept");
    let all = async || (store.request(&thread, run).await, store.checkpoint(&thread, run).await);
    let inside = place.inside().await;
    for (table, column) in [("request", "body"), ("checkpoint", "delta"), ("checkpoint", "whole")] {
        // A text so short is in its frame as it is.
        let at = format!("position('{{1}}'::bytea IN {column})");
        let flip =
            format!("UPDATE {table} SET {column} = set_byte({column}, {at}, get_byte({column}, {at}) # 1)");
        assert_eq!(inside.execute(&flip, &[]).await.expect("a bit is flipped"), 1);
        let (found_request, found_checkpoint) = all().await;
        let error = match table {
            "request" => found_request.map(drop),
            _ => found_checkpoint.map(drop),
        };
        let error = error.expect_err(column);
        assert!(matches!(&error, Error::Corrupt { place, .. } if place.contains("run=0")), "{error}");
        let mend = flip.replace("'{1}'", "'{0}'");
        assert_eq!(inside.execute(&mend, &[]).await.expect("it is mended"), 1);
        assert_eq!(all().await, (Ok(request.clone()), Ok(Some(checkpoint.clone()))));
    }
}
