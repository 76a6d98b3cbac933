//! Writes that are not appends: each is one statement, which is done or not.

use crate::batch::{self, Body};
use crate::connection::Failure;
use crate::names::{Key, escaped, interrupt_key};
use crate::news::Told;
use crate::numbers::Numbered;
use crate::outcome::{Asked, DONE, TAIL_MOVED};
use crate::read::{packed, thread_in};
use crate::store::PostgresStore;
use bytes::Bytes;
use serde_json::json;
use std::borrow::Cow;
use std::collections::BTreeSet;
use threadline_log::run::{BaseState, RunEnd};
use threadline_log::store::{Ack, Claim, KEYS_KEPT_MS, OpenRun, Opened, ThreadSeen};
use threadline_log::thread::{Metadata, MetadataChange};
use threadline_log::{Checkpoint, Epoch, Error, Incarnation, RunNo, ThreadKey, Timestamp, search};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

const OPEN_RUN: &str = "SELECT outcome, run, incarnation, at, taken, thread FROM open_run(\
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29)";
const CLAIM: &str = "SELECT outcome, epoch, detail FROM claim($1, $2, $3, $4, $5, $6, $7, $8)";
const PUT_CHECKPOINT: &str =
    "SELECT outcome, detail FROM put_checkpoint($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
const TRIM: &str = "SELECT outcome, at FROM trim_thread($1, $2, $3, $4)";
const COMPACT: &str = "SELECT outcome, detail FROM compact_run($1, $2, $3, $4)";
const DELETE: &str = "SELECT outcome, incarnation FROM delete_thread($1, $2, $3, $4, $5, $6, $7)";
const DESCRIBE: &str = "SELECT describe($1, $2, $3, $4, $5, $6, $7, $8)";

/// How a run ended, as it is kept.
pub(crate) fn ending(end: &RunEnd) -> String {
    serde_json::to_string(end).expect("what was read as JSON")
}

/// The word for a base state. Must be kept stable.
const fn base_state(base: BaseState) -> &'static str {
    match base {
        BaseState::Branch => "branch",
        BaseState::Input => "input",
    }
}

/// Metadata, and what lists are filtered by.
struct Described {
    metadata: String,
    archived: bool,
    agent: Option<String>,
    labels: Vec<String>,
    words: Vec<String>,
}

impl Described {
    fn of(metadata: &Metadata) -> Self {
        let name = metadata.name.as_deref().unwrap_or_default();
        let words: BTreeSet<String> = search::words(name).collect();
        Self {
            metadata: serde_json::to_string(metadata).expect("texts"),
            archived: metadata.archived,
            agent: metadata.agent.as_deref().map(|agent| escaped(agent).into_owned()),
            labels: metadata.labels.iter().map(|(label, value)| label_pair(label, value)).collect(),
            words: words.into_iter().collect(),
        }
    }
}

/// A label and its value in one text.
pub(crate) fn label_pair(label: &str, value: &str) -> String {
    json!([label, value]).to_string()
}

impl PostgresStore {
    /// Does something that has one row as its answer.
    async fn write(&self, sql: &'static str, parameters: &[&(dyn ToSql + Sync)]) -> Result<Row, Error> {
        let answer = self.writing_lane().await?.query_one(sql, parameters).await;
        answer.map_err(|failure| self.not_written(failure))
    }

    /// The same for what knows itself again by its token: if the answer is lost, it is asked for once more, when nobody can be doing it any more.
    async fn write_once(&self, sql: &'static str, parameters: &[&(dyn ToSql + Sync)]) -> Result<Row, Error> {
        let lane = self.writing_lane().await?;
        let lost = match lane.query_one(sql, parameters).await {
            Err(lost @ Failure::Lost(_)) => lost,
            answer => return answer.map_err(|failure| self.not_written(failure)),
        };
        let again = async {
            let other = self.lanes.lane().await?;
            other.end(lane.backend()).await?;
            other.query_one(sql, parameters).await
        };
        match again.await {
            // What has become of the first is not known.
            Err(Failure::Unreachable(_)) => Err(lost.of_write()),
            Err(failure @ Failure::Refused { .. }) => {
                self.health.note(&failure);
                Err(Failure::Lost(failure.to_string()).of_write())
            }
            answer => answer.map_err(Failure::of_write),
        }
    }

    /// The same for what may take long.
    async fn write_slowly(
        &self,
        sql: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, Error> {
        self.health.check_open()?;
        let answer = self.slow_lane().await?.query_one(sql, parameters).await;
        answer.map_err(|failure| self.not_written(failure))
    }

    pub(crate) async fn open_a_run(&self, open: OpenRun) -> Result<Opened, Error> {
        let key = Key::of(&open.thread);
        let mut metadata = Metadata::default();
        metadata.apply(&open.metadata);
        let Described { metadata, archived, agent, labels, words } = Described::of(&metadata);
        let (incarnation, token) = (open.incarnation.0.cast_signed(), self.token());
        let (runs, ended) = (i64::from(open.seen.opened), i64::from(open.seen.ended));
        let parent = open.parent.map(|parent| i64::from(parent.0));
        let spawned_by = open.spawned_by.as_deref().map(escaped);
        let count = i32::try_from(open.records.len()).unwrap_or(i32::MAX);
        let size: usize = open.records.iter().map(|record| record.bytes.len()).sum();
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        batch::bytes_of(&open.records)?;
        let body = Body(&open.records);
        let append_key = open.key.as_ref().map(|key| escaped(key.as_str()));
        let expected = open.expected_tail.map(u64::cast_signed);
        let end = open.end.as_ref();
        let interrupts: Vec<Cow<'_, str>> =
            end.iter().flat_map(|end| &end.interrupts).map(|id| interrupt_key(id)).collect();
        let interrupts: Vec<&str> = interrupts.iter().map(|id| &**id).collect();
        let id = escaped(open.id.as_str());
        let (base_state, request) = (base_state(open.base_state), packed(&open.request));
        let (ending, status) = (end.map(ending), end.map(|end| end.status.name()));
        let parameters: &[&(dyn ToSql + Sync)] = &[
            &key.app,
            &key.owner,
            &key.name,
            &incarnation,
            &metadata,
            &archived,
            &agent,
            &labels,
            &words,
            &runs,
            &ended,
            &id,
            &parent,
            &spawned_by,
            &base_state,
            &request,
            &open.request_digest,
            &count,
            &size,
            &body,
            &append_key,
            &expected,
            &ending,
            &status,
            &interrupts,
            &open.lease_until.0,
            &open.time.0,
            &token,
            &KEYS_KEPT_MS,
        ];
        let row = self.write_once(OPEN_RUN, parameters).await?;
        let [run, incarnation, at, taken, number] = [1, 2, 3, 4, 5].map(|column| row.get::<_, i64>(column));
        match row.get(0) {
            DONE => {}
            refused => {
                let asked = Asked {
                    run: open.parent.unwrap_or(RunNo(0)),
                    expected_tail: open.expected_tail.unwrap_or_default(),
                    ..Asked::about(&open.thread, RunNo(0))
                };
                return Err(asked.refused(refused, at, 0, Some(&id)));
            }
        }
        let incarnation = Incarnation(incarnation.cast_unsigned());
        let count = open.records.len() as u64;
        let ack = Ack { first: at.cast_unsigned(), count, time: Timestamp(taken), repeated: false };
        self.committer.learn(&open.thread, Numbered { incarnation, number });
        self.tell(vec![Told::Reached(incarnation, ack.offsets().end), Told::Changed(open.thread)]);
        let run = RunNo(u32::try_from(run).unwrap_or(u32::MAX));
        Ok(Opened { run, epoch: Epoch(1), incarnation, ack })
    }

    pub(crate) async fn claim_a_run(
        &self,
        thread: &ThreadKey,
        run: RunNo,
        epoch: Epoch,
        claim: Claim,
        time: Timestamp,
    ) -> Result<Epoch, Error> {
        let key = Key::of(thread);
        let (how, until) = match claim {
            Claim::Renew(until) => ("renew", until),
            Claim::TakeOver(until) => ("take_over", until),
            Claim::Seize(until) => ("seize", until),
        };
        let row = self
            .write(
                CLAIM,
                &[
                    &key.app,
                    &key.owner,
                    &key.name,
                    &i64::from(run.0),
                    &i64::from(epoch.0),
                    &how,
                    &until.0,
                    &time.0,
                ],
            )
            .await?;
        let now: i64 = row.get(1);
        match row.get(0) {
            DONE => Ok(Epoch(u32::try_from(now).unwrap_or(u32::MAX))),
            refused => Err(Asked { epoch, ..Asked::about(thread, run) }.refused(refused, 0, now, row.get(2))),
        }
    }

    pub(crate) async fn describe_a_thread(
        &self,
        thread: &ThreadKey,
        change: &MetadataChange,
        time: Timestamp,
    ) -> Result<(), Error> {
        let lane = self.writing_lane().await?;
        loop {
            let (id, info, known) = thread_in(&lane, thread).await?;
            let mut metadata = info.metadata;
            metadata.apply(change);
            let Described { metadata, archived, agent, labels, words } = Described::of(&metadata);
            let described = lane
                .query_one(DESCRIBE, &[&id, &known, &metadata, &archived, &agent, &labels, &words, &time.0])
                .await
                .map_err(|failure| self.not_written(failure))?;
            // If not, somebody else has described it meanwhile.
            if described.get(0) {
                self.tell(vec![Told::Changed(thread.clone())]);
                return Ok(());
            }
        }
    }

    pub(crate) async fn keep_a_checkpoint(
        &self,
        thread: &ThreadKey,
        first_of: Option<Incarnation>,
        kept: &Checkpoint,
    ) -> Result<(), Error> {
        let bytes = kept.delta.len() + kept.full.as_ref().map_or(0, Bytes::len);
        if bytes > batch::BODY_BYTES_MAX {
            return Err(Error::TooLarge { bytes, max: batch::BODY_BYTES_MAX });
        }
        let key = Key::of(thread);
        let first_of = first_of.map(|incarnation| incarnation.0.cast_signed());
        let full = kept.full.as_ref().map(|full| packed(full));
        let chained =
            kept.chained.map(|chained| serde_json::to_string(&chained).expect("numbers and digits"));
        let words: Vec<String> = search::words_of_delta(&kept.delta).into_iter().collect();
        let messages: Vec<i64> = kept.lineage.ids.iter().map(|id| id.cast_signed()).collect();
        let row = self
            .write(
                PUT_CHECKPOINT,
                &[
                    &key.app,
                    &key.owner,
                    &key.name,
                    &first_of,
                    &i64::from(kept.run.0),
                    &i64::from(kept.version),
                    &kept.stands_alone,
                    &packed(&kept.delta),
                    &full,
                    &chained,
                    &words,
                    &kept.lineage.said.cast_signed(),
                    &kept.lineage.hash.cast_signed(),
                    &messages,
                ],
            )
            .await?;
        match row.get(0) {
            DONE => Ok(()),
            refused => Err(Asked::about(thread, kept.run).refused(refused, 0, 0, row.get(1))),
        }
    }

    pub(crate) async fn trim_a_thread(&self, thread: &ThreadKey, first: u64) -> Result<(), Error> {
        let key = Key::of(thread);
        let wanted = i64::try_from(first).unwrap_or(i64::MAX);
        let row = self.write_slowly(TRIM, &[&key.app, &key.owner, &key.name, &wanted]).await?;
        match row.get(0) {
            DONE => {
                self.tell(vec![Told::Changed(thread.clone())]);
                Ok(())
            }
            TAIL_MOVED => {
                Err(Error::BeyondTail { offset: first, tail: row.get::<_, i64>(1).cast_unsigned() })
            }
            refused => Err(Asked::about(thread, RunNo(0)).refused(refused, 0, 0, None)),
        }
    }

    pub(crate) async fn compact_a_run(&self, thread: &ThreadKey, run: RunNo) -> Result<(), Error> {
        let key = Key::of(thread);
        let row = self.write_slowly(COMPACT, &[&key.app, &key.owner, &key.name, &i64::from(run.0)]).await?;
        match row.get(0) {
            DONE => Ok(()),
            refused => Err(Asked::about(thread, run).refused(refused, 0, 0, row.get(1))),
        }
    }

    pub(crate) async fn delete_a_thread(
        &self,
        thread: &ThreadKey,
        seen: Option<ThreadSeen>,
    ) -> Result<(), Error> {
        let key = Key::of(thread);
        let incarnation = seen.map(|seen| seen.incarnation.0.cast_signed());
        let tail = seen.map(|seen| seen.tail.cast_signed());
        let runs = seen.map(|seen| i64::from(seen.runs));
        let updated = seen.map(|seen| seen.updated.0);
        let parameters: &[&(dyn ToSql + Sync)] =
            &[&key.app, &key.owner, &key.name, &incarnation, &tail, &runs, &updated];
        let row = self.write_slowly(DELETE, parameters).await?;
        match row.get(0) {
            DONE => {
                let incarnation = Incarnation(row.get::<_, i64>(1).cast_unsigned());
                self.tell(vec![Told::Deleted(thread.clone(), incarnation)]);
                Ok(())
            }
            refused => Err(Asked::about(thread, RunNo(0)).refused(refused, 0, 0, None)),
        }
    }
}
