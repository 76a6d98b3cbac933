//! Reads.

use crate::batch;
use crate::connection::{Connection, Failure};
use crate::names::{Key, escaped, interrupt_key, run_id, scope, thread_key, unescaped};
use crate::store::PostgresStore;
use bytes::Bytes;
use futures_util::future::try_join4;
use std::collections::HashMap;
use std::ops::Range;
use threadline_log::kin::{Kin, Sought};
use threadline_log::run::{BaseState, RunInfo, RunLineage, RunStatus};
use threadline_log::sealed::batch::BatchHead;
use threadline_log::store::{Page, RunsSeen};
use threadline_log::thread::{ThreadInfo, Usage};
use threadline_log::{Checkpoint, Epoch, Error, Incarnation, RunId, RunNo, Scope, ThreadKey, Timestamp};
use tokio_postgres::Row;
use zstd::bulk::Compressor;

/// So many rows are read at once.
const ROWS_MAX: i64 = 512;
/// Requests and checkpoints are texts: this is quick, and a third of them.
const ZSTD_LEVEL: i32 = 3;

macro_rules! thread_columns {
    () => {
        "t.id, t.app, t.owner, t.name, t.incarnation, t.first, h.tail, h.bytes, t.runs, t.ended, t.created, h.updated, t.metadata, r.status"
    };
}
pub(crate) use thread_columns;

macro_rules! from_thread {
    () => {
        " FROM thread AS t JOIN head AS h ON h.thread = t.id LEFT JOIN run AS r ON r.thread = t.id AND r.no = t.runs - 1 \
         WHERE t.app = $1 AND t.owner = $2 AND t.name = $3"
    };
}
const THREAD: &str = concat!("SELECT ", thread_columns!(), from_thread!());
/// With the runs whose lineage is not known. If the others were looked at before these, one that was folded in between would be in neither.
const KIN: &str = concat!(
    "SELECT ",
    thread_columns!(),
    ", ARRAY(SELECT u.no FROM run AS u WHERE u.thread = t.id AND u.ended IS NOT NULL AND u.said IS NULL ORDER BY u.no)",
    from_thread!()
);
/// What the thread's head has of the last run is newer than what the run's own row has.
macro_rules! run_columns {
    () => {
        "SELECT r.*, h.last AS head_last, h.records AS head_records, coalesce(r.no = h.run, false) AS is_head \
         FROM thread AS t JOIN head AS h ON h.thread = t.id "
    };
}
const RUNS: &str = concat!(
    run_columns!(),
    "LEFT JOIN run AS r ON r.thread = t.id WHERE t.app = $1 AND t.owner = $2 AND t.name = $3 ORDER BY r.no"
);
const RUN: &str = concat!(
    run_columns!(),
    "LEFT JOIN LATERAL (SELECT * FROM run AS r WHERE r.thread = t.id AND r.no = $4 LIMIT 1) AS r ON true \
     WHERE t.app = $1 AND t.owner = $2 AND t.name = $3"
);
const RUN_IDS: &str = "SELECT r.id, r.no FROM run AS r WHERE r.thread = $1 AND r.id = ANY ($2)";
const INTERRUPTS: &str = "SELECT id, max(run) FROM interrupt WHERE thread = $1 AND id = ANY ($2) GROUP BY id";
const MESSAGES: &str = "SELECT DISTINCT hash FROM message WHERE thread = $1 AND hash = ANY ($2)";
const HISTORIES: &str = "SELECT r.said, r.history, max(r.no) FROM unnest($2::bigint[], $3::bigint[]) AS h (said, history) \
    JOIN run AS r ON r.thread = $1 AND r.said = h.said AND r.history = h.history GROUP BY r.said, r.history";
const REQUEST: &str = "SELECT q.body FROM thread AS t LEFT JOIN request AS q ON q.thread = t.id AND q.run = $4 \
    WHERE t.app = $1 AND t.owner = $2 AND t.name = $3";
const CHECKPOINT: &str = "SELECT c.version, c.stands_alone, c.delta, c.whole, c.chained, r.said, r.history, r.messages \
    FROM thread AS t LEFT JOIN checkpoint AS c ON c.thread = t.id AND c.run = $4 LEFT JOIN run AS r ON r.thread = t.id AND r.no = $4 \
    WHERE t.app = $1 AND t.owner = $2 AND t.name = $3";
/// Rows from the one that holds the first offset on, until there is enough.
const READ: &str = "SELECT t.first, b.first, b.count, b.run, b.time, b.body FROM thread AS t LEFT JOIN LATERAL (\
      SELECT *, sum(octet_length(n.body)) OVER (ORDER BY n.first) - octet_length(n.body) AS before FROM (\
        SELECT * FROM batch AS b WHERE b.thread = t.id AND b.first < $5 AND b.first + b.count > $4 AND ($6::bigint IS NULL OR b.run = $6) \
          AND b.first >= coalesce((SELECT max(p.first) FROM batch AS p WHERE p.thread = t.id AND p.first <= $4), $4) \
          ORDER BY b.first LIMIT $8) AS n) AS b ON b.before < $7 \
    WHERE t.app = $1 AND t.owner = $2 AND t.name = $3 ORDER BY b.first";
/// What is counted, and what threads have whose runs go on.
const USAGE: &str = "SELECT coalesce(sum(u.threads), 0)::bigint, coalesce(sum(u.bytes), 0)::bigint + (\
      SELECT coalesce(sum(h.bytes - t.counted), 0)::bigint FROM thread AS t JOIN head AS h ON h.thread = t.id \
        WHERE t.app = $1 AND t.owner = $2 AND t.idle_since IS NULL) \
    FROM usage AS u WHERE u.app = $1 AND u.owner = $2";
const EXPIRED: &str = "SELECT t.app, t.owner, t.name, r.no FROM run AS r JOIN thread AS t ON t.id = r.thread \
    WHERE r.ended IS NULL AND r.lease_until <= (SELECT least($1, now_ms())) ORDER BY t.app, t.owner, t.name, r.no";
const UNFOLDED_RUNS: &str = "SELECT t.app, t.owner, t.name, r.no FROM run AS r JOIN thread AS t ON t.id = r.thread \
    WHERE r.ended IS NOT NULL AND r.said IS NULL ORDER BY r.thread, r.no";
const TAILS: &str = "SELECT t.incarnation, h.tail FROM thread AS t JOIN head AS h ON h.thread = t.id WHERE t.incarnation = ANY ($1)";

pub(crate) fn number(row: &Row, column: usize) -> u64 {
    row.get::<_, i64>(column).cast_unsigned()
}

fn run_no(number: i64) -> RunNo {
    RunNo(u32::try_from(number).unwrap_or(u32::MAX))
}

fn damaged(thread: &ThreadKey, place: impl std::fmt::Display, what: impl Into<String>) -> Error {
    Error::Corrupt { place: format!("thread={thread}, {place}"), what: what.into() }
}

/// A request or a checkpoint as it is kept: a zstd frame. Its checksum is all that tells when a bit of a short one is another: such a frame has the text
/// as it is.
pub(crate) fn packed(bytes: &[u8]) -> Vec<u8> {
    let packed = Compressor::new(ZSTD_LEVEL).and_then(|mut compressor| {
        compressor.include_checksum(true)?;
        compressor.compress(bytes)
    });
    packed.expect("memory takes what is written to it")
}

fn unpacked(bytes: &[u8]) -> Option<Bytes> {
    let size = zstd::zstd_safe::get_frame_content_size(bytes).ok().flatten()?;
    let size = usize::try_from(size).ok().filter(|size| *size <= batch::BODY_BYTES_MAX)?;
    zstd::bulk::decompress(bytes, size).ok().map(Bytes::from)
}

/// What is known of a thread.
pub(crate) fn thread_info(row: &Row) -> Result<ThreadInfo, Error> {
    let key = thread_key(row.get(1), row.get(2), row.get(3))?;
    let metadata =
        serde_json::from_str(row.get(12)).map_err(|error| damaged(&key, "metadata", error.to_string()))?;
    let runs = u32::try_from(row.get::<_, i64>(8)).unwrap_or(u32::MAX);
    let status: Option<&str> = row.get(13);
    let status = match status {
        Some(word) => Some(status_named(word).ok_or_else(|| damaged(&key, "run", "the status is unknown"))?),
        None => None,
    };
    Ok(ThreadInfo {
        incarnation: Incarnation(number(row, 4)),
        offsets: number(row, 5)..number(row, 6),
        metadata,
        created: Timestamp(row.get(10)),
        updated: Timestamp(row.get(11)),
        runs,
        last_run: status.map(|status| (RunNo(runs.saturating_sub(1)), status)),
        bytes: number(row, 7),
        key,
    })
}

fn status_named(word: &str) -> Option<RunStatus> {
    let all = [
        RunStatus::Running,
        RunStatus::Finished,
        RunStatus::Interrupted,
        RunStatus::Cancelled,
        RunStatus::Failed,
        RunStatus::Abandoned,
    ];
    all.into_iter().find(|status| status.name() == word)
}

/// A thread, its number, and its metadata as they are kept.
pub(crate) async fn thread_in(
    lane: &Connection,
    thread: &ThreadKey,
) -> Result<(i64, ThreadInfo, String), Error> {
    let key = Key::of(thread);
    let rows = lane.query(THREAD, &[&key.app, &key.owner, &key.name]).await.map_err(Failure::of_read)?;
    let row = rows.first().ok_or_else(|| Error::NoThread(thread.clone()))?;
    Ok((row.get(0), thread_info(row)?, row.get(12)))
}

fn lineage(row: &Row, columns: [usize; 3]) -> Option<RunLineage> {
    let [said, hash, ids] = columns;
    let said: Option<i64> = row.get(said);
    let ids: Option<Vec<i64>> = row.get(ids);
    Some(RunLineage {
        said: said?.cast_unsigned(),
        hash: row.get::<_, i64>(hash).cast_unsigned(),
        ids: ids?.into_iter().map(i64::cast_unsigned).collect(),
    })
}

fn run_info(thread: &ThreadKey, row: &Row) -> Result<RunInfo, Error> {
    let no = run_no(row.get("no"));
    let wrong = |what: &str| damaged(thread, format!("run={}", no.0), what);
    let ending: Option<&str> = row.get("ending");
    let end = match ending {
        Some(json) => Some(serde_json::from_str(json).map_err(|error| wrong(&error.to_string()))?),
        None => None,
    };
    let base_state = match row.get("base_state") {
        "branch" => BaseState::Branch,
        "input" => BaseState::Input,
        _ => return Err(wrong("the base state is unknown")),
    };
    let spawned_by: Option<&str> = row.get("spawned_by");
    let place = |name: &str| (0..row.len()).find(|place| row.columns()[*place].name() == name);
    let columns = [place("said"), place("history"), place("messages")].map(Option::unwrap_or_default);
    let (last, records) = match row.get("is_head") {
        true => ("head_last", "head_records"),
        false => ("last", "records"),
    };
    Ok(RunInfo {
        no,
        id: run_id(row.get("id"))?,
        parent: row.get::<_, Option<i64>>("parent").map(run_no),
        spawned_by: spawned_by.map(|id| unescaped(id).into_owned()),
        base_state,
        request_digest: row.get("request_digest"),
        offsets: row.get::<_, i64>("first").cast_unsigned()..row.get::<_, i64>(last).cast_unsigned(),
        records: row.get::<_, i64>(records).cast_unsigned(),
        started: Timestamp(row.get("started")),
        ended: row.get::<_, Option<i64>>("ended").map(Timestamp),
        ended_at: row.get::<_, Option<i64>>("ended_at").map(i64::cast_unsigned),
        end,
        epoch: Epoch(u32::try_from(row.get::<_, i64>("epoch")).unwrap_or(u32::MAX)),
        lease_until: Timestamp(row.get("lease_until")),
        lineage: lineage(row, columns),
        compacted: row.get("compacted"),
    })
}

impl PostgresStore {
    pub(crate) async fn thread_info(&self, thread: &ThreadKey) -> Result<ThreadInfo, Error> {
        let lane = self.reading_lane().await?;
        Ok(thread_in(&lane, thread).await?.1)
    }

    /// Its runs, or one of them.
    pub(crate) async fn runs_of(
        &self,
        thread: &ThreadKey,
        run: Option<RunNo>,
    ) -> Result<Vec<RunInfo>, Error> {
        let lane = self.reading_lane().await?;
        let key = Key::of(thread);
        let rows = match run {
            None => lane.query(RUNS, &[&key.app, &key.owner, &key.name]).await,
            Some(run) => lane.query(RUN, &[&key.app, &key.owner, &key.name, &i64::from(run.0)]).await,
        };
        let rows = rows.map_err(Failure::of_read)?;
        if rows.is_empty() {
            return Err(Error::NoThread(thread.clone()));
        }
        // A thread without runs has a row without one.
        let of_runs = rows.iter().filter(|row| row.get::<_, Option<i64>>("no").is_some());
        of_runs.map(|row| run_info(thread, row)).collect()
    }

    /// Asked one behind the other on one connection: how far the runs have come is asked first, so that the rest is not older than that.
    pub(crate) async fn kin_of(&self, thread: &ThreadKey, sought: &Sought) -> Result<Kin, Error> {
        let lane = self.reading_lane().await?;
        let key = Key::of(thread);
        let rows = lane.query(KIN, &[&key.app, &key.owner, &key.name]).await.map_err(Failure::of_read)?;
        let row = rows.first().ok_or_else(|| Error::NoThread(thread.clone()))?;
        let (id, info) = (row.get::<_, i64>(0), thread_info(row)?);
        let unfolded: Vec<i64> = row.get(14);
        let ended = u32::try_from(row.get::<_, i64>(9)).unwrap_or(u32::MAX);
        let run_ids: Vec<_> = sought.runs.iter().map(|run| escaped(run.as_str())).collect();
        let run_ids: Vec<&str> = run_ids.iter().map(|run| &**run).collect();
        let by_key: HashMap<_, &String> =
            sought.interrupts.iter().map(|id| (interrupt_key(id), id)).collect();
        let interrupt_ids: Vec<&str> = by_key.keys().map(|id| &**id).collect();
        let hashes: Vec<i64> = sought.messages.iter().map(|hash| hash.cast_signed()).collect();
        let said: Vec<i64> = sought.histories.iter().map(|(said, _)| said.cast_signed()).collect();
        let histories: Vec<i64> = sought.histories.iter().map(|(_, hash)| hash.cast_signed()).collect();
        let (runs, interrupts, messages, histories) = try_join4(
            lane.query(RUN_IDS, &[&id, &run_ids]),
            lane.query(INTERRUPTS, &[&id, &interrupt_ids]),
            lane.query(MESSAGES, &[&id, &hashes]),
            lane.query(HISTORIES, &[&id, &said, &histories]),
        )
        .await
        .map_err(Failure::of_read)?;
        let named = |row: &Row| Ok::<(RunId, RunNo), Error>((run_id(row.get(0))?, run_no(row.get(1))));
        let asked =
            |row: &Row| by_key.get(row.get::<_, &str>(0)).map(|id| ((*id).clone(), run_no(row.get(1))));
        Ok(Kin {
            seen: RunsSeen { opened: info.runs, ended },
            head: info.last_run.map(|(run, _)| run),
            head_is_running: info.last_run.is_some_and(|(_, status)| status == RunStatus::Running),
            runs: runs.iter().map(named).collect::<Result<_, _>>()?,
            interrupts: interrupts.iter().filter_map(asked).collect(),
            messages: messages.iter().map(|row| number(row, 0)).collect(),
            histories: histories
                .iter()
                .map(|row| ((number(row, 0), number(row, 1)), run_no(row.get(2))))
                .collect(),
            unfolded: unfolded.into_iter().map(run_no).collect(),
        })
    }

    pub(crate) async fn request_of(&self, thread: &ThreadKey, run: RunNo) -> Result<Bytes, Error> {
        let lane = self.reading_lane().await?;
        let (key, no) = (Key::of(thread), i64::from(run.0));
        let rows =
            lane.query(REQUEST, &[&key.app, &key.owner, &key.name, &no]).await.map_err(Failure::of_read)?;
        let row = rows.first().ok_or_else(|| Error::NoThread(thread.clone()))?;
        let body: Option<&[u8]> = row.get(0);
        let body = body.ok_or_else(|| Error::NoRun(run.0.to_string()))?;
        unpacked(body)
            .ok_or_else(|| damaged(thread, format!("run={}", run.0), "the request cannot be unpacked"))
    }

    pub(crate) async fn checkpoint_of(
        &self,
        thread: &ThreadKey,
        run: RunNo,
    ) -> Result<Option<Checkpoint>, Error> {
        let lane = self.reading_lane().await?;
        let (key, no) = (Key::of(thread), i64::from(run.0));
        let rows = lane
            .query(CHECKPOINT, &[&key.app, &key.owner, &key.name, &no])
            .await
            .map_err(Failure::of_read)?;
        let row = rows.first().ok_or_else(|| Error::NoThread(thread.clone()))?;
        let version: Option<i64> = row.get(0);
        let Some(version) = version else { return Ok(None) };
        let wrong = |what: &str| damaged(thread, format!("run={}", run.0), what);
        let unpack = |bytes: &[u8]| unpacked(bytes).ok_or_else(|| wrong("the checkpoint cannot be unpacked"));
        let full: Option<&[u8]> = row.get(3);
        let chained: Option<&str> = row.get(4);
        Ok(Some(Checkpoint {
            run,
            version: u32::try_from(version).map_err(|error| wrong(&error.to_string()))?,
            stands_alone: row.get(1),
            delta: unpack(row.get(2))?,
            full: full.map(unpack).transpose()?,
            chained: chained
                .map(serde_json::from_str)
                .transpose()
                .map_err(|error: serde_json::Error| wrong(&error.to_string()))?,
            lineage: lineage(row, [5, 6, 7]).ok_or_else(|| wrong("the lineage is missing"))?,
        }))
    }

    pub(crate) async fn read_page(
        &self,
        thread: &ThreadKey,
        offsets: Range<u64>,
        run: Option<RunNo>,
        bytes_max: usize,
    ) -> Result<Page, Error> {
        let lane = self.reading_lane().await?;
        let key = Key::of(thread);
        let run = run.map(|run| i64::from(run.0));
        let end = i64::try_from(offsets.end).unwrap_or(i64::MAX);
        // One row at least is read, whatever may be given of it.
        let most = i64::try_from(bytes_max.max(1)).unwrap_or(i64::MAX);
        let (mut page, mut bytes) = (Page { records: Vec::new(), next: offsets.end }, 0);
        let mut next = offsets.start;
        loop {
            let from = i64::try_from(next).unwrap_or(i64::MAX);
            let rows = lane
                .query(READ, &[&key.app, &key.owner, &key.name, &from, &end, &run, &most, &ROWS_MAX])
                .await
                .map_err(Failure::of_read)?;
            let Some(row) = rows.first() else { return Err(Error::NoThread(thread.clone())) };
            let first = number(row, 0).max(next);
            let rows = rows.iter().filter(|row| row.get::<_, Option<i64>>(1).is_some());
            let (mut count, mut stored) = (0, 0);
            for row in rows {
                let (head, body) = (batch_head(row), row.get::<_, &[u8]>(5));
                count += 1;
                stored += body.len();
                let records = batch::decode(head, body)
                    .map_err(|what| damaged(thread, format!("offset={}", head.first), what))?;
                for record in records {
                    if !(first..offsets.end).contains(&record.offset) {
                        continue;
                    }
                    if bytes >= bytes_max && !page.records.is_empty() {
                        page.next = record.offset;
                        return Ok(page);
                    }
                    bytes += record.bytes.len();
                    page.records.push(record);
                }
                next = next.max(head.end());
            }
            // Less than was asked for is all that there is.
            if count == 0 || (count < ROWS_MAX && stored < bytes_max) {
                return Ok(page);
            }
            if bytes >= bytes_max && !page.records.is_empty() {
                page.next = next.min(offsets.end);
                return Ok(page);
            }
        }
    }

    pub(crate) async fn usage_of(&self, of: &Scope) -> Result<Usage, Error> {
        let lane = self.reading_lane().await?;
        let (app, owner) = scope(of);
        let row = lane.query_one(USAGE, &[&app, &owner]).await.map_err(Failure::of_read)?;
        Ok(Usage { threads: number(&row, 0), bytes: number(&row, 1) })
    }

    pub(crate) async fn expired_at(&self, time: Timestamp) -> Result<Vec<(ThreadKey, RunNo)>, Error> {
        let lane = self.reading_lane().await?;
        let rows = lane.query(EXPIRED, &[&time.0]).await.map_err(Failure::of_read)?;
        rows.iter().map(run_of).collect()
    }

    pub(crate) async fn unfolded_runs(&self) -> Result<Vec<(ThreadKey, RunNo)>, Error> {
        let lane = self.reading_lane().await?;
        let rows = lane.query(UNFOLDED_RUNS, &[]).await.map_err(Failure::of_read)?;
        rows.iter().map(run_of).collect()
    }

    pub(crate) async fn tails_of(&self, threads: &[Incarnation]) -> Result<Vec<(Incarnation, u64)>, Error> {
        let lane = self.reading_lane().await?;
        let wanted: Vec<i64> = threads.iter().map(|thread| thread.0.cast_signed()).collect();
        let rows = lane.query(TAILS, &[&wanted]).await.map_err(Failure::of_read)?;
        Ok(rows.iter().map(|row| (Incarnation(number(row, 0)), number(row, 1))).collect())
    }
}

/// A run, by its thread's name and its number.
fn run_of(row: &Row) -> Result<(ThreadKey, RunNo), Error> {
    Ok((thread_key(row.get(0), row.get(1), row.get(2))?, run_no(row.get(3))))
}

/// Where the records of a row are.
pub(crate) fn batch_head(row: &Row) -> BatchHead {
    BatchHead {
        first: number(row, 1),
        count: u32::try_from(row.get::<_, i32>(2)).unwrap_or_default(),
        run: run_no(row.get(3)),
        time: Timestamp(row.get(4)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_packed_comes_back_and_no_flipped_bit_makes_it_another(text in "[a-c]{0,80}", at in any::<usize>(), bit in 0..8_u8) {
            let mut frame = packed(text.as_bytes());
            prop_assert_eq!(unpacked(&frame), Some(Bytes::from(text.clone())));
            let at = at % frame.len();
            frame[at] ^= 1 << bit;
            // Some bits mean nothing.
            prop_assert!(unpacked(&frame).is_none_or(|same| same == text));
        }
    }

    #[test]
    fn frames_of_before_are_read() {
        let frame = zstd::bulk::compress(b"{}", ZSTD_LEVEL).unwrap();
        assert_eq!(unpacked(&frame), Some(Bytes::from_static(b"{}")));
    }
}
