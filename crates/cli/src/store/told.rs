//! Threads and runs, as a server tells them.

use crate::report::Failure;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use threadline_log::names::Owner;
use threadline_log::run::{BaseState, RunEnd, RunInfo, RunStatus};
use threadline_log::thread::{Metadata, ThreadInfo};
use threadline_log::{Epoch, Incarnation, RunId, RunNo, Scope, ThreadId, ThreadKey, Timestamp};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ThreadTold {
    thread_id: ThreadId,
    app: Owner,
    user: Owner,
    incarnation: String,
    name: Option<String>,
    archived: bool,
    agent: Option<String>,
    labels: BTreeMap<String, String>,
    first: u64,
    tail: u64,
    bytes: u64,
    runs: u32,
    status: Option<RunStatus>,
    created: Timestamp,
    updated: Timestamp,
}

impl ThreadTold {
    pub(crate) fn info(self) -> Result<ThreadInfo, Failure> {
        let incarnation = u64::from_str_radix(&self.incarnation, 16)
            .map_err(|error| Failure::Environment(format!("the server's answer makes no sense: {error}")))?;
        Ok(ThreadInfo {
            key: ThreadKey::new(Scope { app: self.app, user: self.user }, self.thread_id),
            incarnation: Incarnation(incarnation),
            offsets: self.first..self.tail,
            metadata: Metadata {
                name: self.name,
                archived: self.archived,
                agent: self.agent,
                labels: self.labels,
            },
            created: self.created,
            updated: self.updated,
            runs: self.runs,
            last_run: self.status.map(|status| (RunNo(self.runs.saturating_sub(1)), status)),
            bytes: self.bytes,
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunTold {
    run_id: RunId,
    parent_run_id: Option<RunId>,
    spawned_by: Option<String>,
    status: RunStatus,
    outcome: Option<Value>,
    error_code: Option<String>,
    usage: Option<Value>,
    first: u64,
    next: u64,
    records: u64,
    started: Timestamp,
    ended: Option<Timestamp>,
    compacted: bool,
}

impl RunTold {
    /// All runs of a thread, in the order they were opened.
    pub(crate) fn infos(told: Vec<Self>) -> Result<Vec<RunInfo>, Failure> {
        let numbers: BTreeMap<RunId, RunNo> =
            (0..).map(RunNo).zip(&told).map(|(no, run)| (run.run_id.clone(), no)).collect();
        (0..).map(RunNo).zip(told).map(|(no, run)| run.info(no, &numbers)).collect()
    }

    fn info(self, no: RunNo, numbers: &BTreeMap<RunId, RunNo>) -> Result<RunInfo, Failure> {
        let parent = self.parent_run_id.map(|id| {
            // A run continues an earlier one.
            let earlier = numbers.get(&id).copied().filter(|parent| *parent < no);
            earlier.ok_or_else(|| Failure::Environment(format!("the server tells of no such run. run={id}")))
        });
        let ids = |outcome: &Value| {
            let asked = outcome["interrupts"].as_array().into_iter().flatten();
            asked.filter_map(|one| one["id"].as_str().map(str::to_owned)).collect()
        };
        let end = (self.status != RunStatus::Running).then(|| RunEnd {
            status: self.status,
            interrupts: self.outcome.as_ref().map(ids).unwrap_or_default(),
            outcome: self.outcome,
            error_code: self.error_code,
            usage: self.usage,
        });
        Ok(RunInfo {
            no,
            id: self.run_id,
            parent: parent.transpose()?,
            spawned_by: self.spawned_by,
            base_state: BaseState::default(),
            request_digest: String::new(),
            offsets: self.first..self.next,
            records: self.records,
            started: self.started,
            ended: self.ended,
            ended_at: None,
            end,
            epoch: Epoch::default(),
            lease_until: Timestamp::default(),
            lineage: None,
            compacted: self.compacted,
        })
    }
}
