//! Rows that were changed by somebody else are noticed.

use crate::place::{Place, append, open_run, texts, thread};
use threadline_log::{Error, Store};

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
