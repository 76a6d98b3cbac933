//! Packing the records of runs that have ended. Any instance may; of two that do the same at once, one has done it for nothing.

use crate::batch;
use crate::connection::{Connection, Failure};
use crate::read::batch_head;
use crate::store::PostgresStore;
use threadline_log::sealed::batch::BatchHead;
use threadline_log::{Error, Record};
use tokio_postgres::Row;

/// A packed row is full when the records in it have this many bytes.
const PACKED_BYTES: usize = 64 * 1024;
/// So many rows are packed at once.
const ROWS_MAX: i64 = 512;
/// And about so many bytes.
const BYTES_MAX: i64 = 8 * 1024 * 1024;
/// So many runs are packed before others have their turn.
const RUNS_MAX: i64 = 256;

const UNSEALED: &str = "SELECT r.thread, r.no, t.first, r.first, r.last, r.ended FROM run AS r JOIN thread AS t ON t.id = r.thread \
    WHERE r.ended IS NOT NULL AND NOT r.sealed AND r.ended <= (SELECT now_ms() - $1) AND (r.ended, r.thread, r.no) > ($3, $4, $5) \
    ORDER BY r.ended, r.thread, r.no LIMIT $2";
/// The last row may go on with records that are not read yet, so that what follows begins behind it.
const ROWS: &str = "SELECT 0::bigint, first, count, run, time, body FROM (\
      SELECT *, sum(octet_length(b.body)) OVER (ORDER BY b.first) - octet_length(b.body) AS before FROM (\
        SELECT * FROM batch WHERE thread = $1 AND run = $2 AND first >= $3 AND first < $4 ORDER BY first LIMIT $5) AS b) AS b \
    WHERE b.before < $6 ORDER BY first";
const SEAL: &str = "SELECT seal($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";

/// A run whose records can be packed.
struct Unsealed {
    thread: i64,
    run: i64,
    thread_first: i64,
    first: i64,
    last: i64,
}

impl PostgresStore {
    /// Packs what can be packed.
    pub(crate) async fn seal(&self) -> Result<(), Error> {
        self.health.check_open()?;
        let lane = self.slow_lane().await?;
        let after = i64::try_from(self.options.seal_after.as_millis()).unwrap_or(i64::MAX);
        // A run that cannot be packed stays as it is, and is passed by.
        let mut passed = (i64::MIN, 0, 0);
        loop {
            let rows = lane
                .query(UNSEALED, &[&after, &RUNS_MAX, &passed.0, &passed.1, &passed.2])
                .await
                .map_err(Failure::of_read)?;
            for row in &rows {
                let [thread, run, thread_first, first, last, ended] =
                    [0, 1, 2, 3, 4, 5].map(|column| row.get::<_, i64>(column));
                passed = (ended, thread, run);
                self.seal_run(&lane, &Unsealed { thread, run, thread_first, first, last }).await?;
            }
            if rows.len() < count(RUNS_MAX) {
                return Ok(());
            }
        }
    }

    /// Packs a run piece by piece, until something happens to it, somebody else packs it, or it cannot be read.
    async fn seal_run(&self, lane: &Connection, run: &Unsealed) -> Result<(), Error> {
        let mut since = run.first;
        loop {
            let rows = lane
                .query(ROWS, &[&run.thread, &run.run, &since, &run.last, &ROWS_MAX, &BYTES_MAX])
                .await
                .map_err(Failure::of_read)?;
            let bytes: usize = rows.iter().map(|row| row.get::<_, &[u8]>(5).len()).sum();
            // Less than was asked for is all that there is.
            let is_last = rows.len() < count(ROWS_MAX) && bytes < count(BYTES_MAX);
            let heads: Vec<BatchHead> = rows.iter().map(batch_head).collect();
            let until = match heads.last().filter(|_| !is_last) {
                Some(head) => head.end().cast_signed(),
                None => run.last,
            };
            let Some(packed) = packed(&rows) else { return Ok(()) };
            let seen_firsts: Vec<i64> = heads.iter().map(|head| head.first.cast_signed()).collect();
            let seen_counts: Vec<i32> = heads.iter().map(|head| head.count.cast_signed()).collect();
            let firsts: Vec<i64> = packed.iter().map(|row| row.first).collect();
            let counts: Vec<i32> = packed.iter().map(|row| row.count).collect();
            let times: Vec<i64> = packed.iter().map(|row| row.time).collect();
            let bodies: Vec<&[u8]> = packed.iter().map(|row| &row.body[..]).collect();
            let sealed = lane
                .query_one(
                    SEAL,
                    &[
                        &run.thread,
                        &run.run,
                        &run.thread_first,
                        &run.last,
                        &since,
                        &until,
                        &seen_firsts,
                        &seen_counts,
                        &firsts,
                        &counts,
                        &times,
                        &bodies,
                    ],
                )
                .await
                .map_err(|failure| self.not_written(failure))?;
            if is_last || !sealed.get::<_, bool>(0) {
                return Ok(());
            }
            since = until;
        }
    }
}

fn count(most: i64) -> usize {
    usize::try_from(most).unwrap_or(usize::MAX)
}

struct Packed {
    first: i64,
    count: i32,
    time: i64,
    body: Vec<u8>,
}

/// The records of rows in rows that are full. Where records of other runs lie between, a row ends. None if one of them is damaged.
fn packed(rows: &[Row]) -> Option<Vec<Packed>> {
    let mut packed = Vec::new();
    let (mut records, mut bytes): (Vec<Record>, usize) = (Vec::new(), 0);
    for row in rows {
        for record in batch::decode(batch_head(row), row.get(5)).ok()? {
            let is_gap = records.last().is_some_and(|last| last.offset + 1 != record.offset);
            if is_gap || bytes >= PACKED_BYTES {
                packed.push(pack(&records)?);
                records.clear();
                bytes = 0;
            }
            bytes += record.bytes.len();
            records.push(record);
        }
    }
    if !records.is_empty() {
        packed.push(pack(&records)?);
    }
    Some(packed)
}

fn pack(records: &[Record]) -> Option<Packed> {
    let first = records.first()?;
    Some(Packed {
        first: first.offset.cast_signed(),
        count: i32::try_from(records.len()).ok()?,
        time: first.time.0,
        body: batch::pack(records)?,
    })
}
