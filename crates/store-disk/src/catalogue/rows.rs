//! What rows about threads and runs hold: JSON with a checksum, because what they say decides about writes. Names are short: in full
//! they would be a third of a row.

use super::CatalogueError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use threadline_log::run::{BaseState, RunEnd, RunInfo, RunLineage, RunStatus};
use threadline_log::thread::{Metadata, ThreadInfo};
use threadline_log::{Epoch, Incarnation, RunId, RunNo, ThreadKey, Timestamp};

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ThreadRow {
    #[serde(rename = "k")]
    key: ThreadKey,
    #[serde(rename = "i")]
    incarnation: Incarnation,
    #[serde(rename = "o")]
    offsets: (u64, u64),
    #[serde(rename = "m")]
    metadata: Metadata,
    #[serde(rename = "c")]
    created: Timestamp,
    #[serde(rename = "u")]
    updated: Timestamp,
    #[serde(rename = "r")]
    runs: u32,
    #[serde(rename = "l", default, skip_serializing_if = "Option::is_none")]
    last_run: Option<(RunNo, RunStatus)>,
    #[serde(rename = "b")]
    bytes: u64,
}

impl ThreadRow {
    pub(super) fn of(info: &ThreadInfo) -> Self {
        Self {
            key: info.key.clone(),
            incarnation: info.incarnation,
            offsets: (info.offsets.start, info.offsets.end),
            metadata: info.metadata.clone(),
            created: info.created,
            updated: info.updated,
            runs: info.runs,
            last_run: info.last_run,
            bytes: info.bytes,
        }
    }

    pub(super) fn into_info(self) -> ThreadInfo {
        ThreadInfo {
            key: self.key,
            incarnation: self.incarnation,
            offsets: self.offsets.0..self.offsets.1,
            metadata: self.metadata,
            created: self.created,
            updated: self.updated,
            runs: self.runs,
            last_run: self.last_run,
            bytes: self.bytes,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RunRow {
    #[serde(rename = "n")]
    no: RunNo,
    #[serde(rename = "i")]
    id: RunId,
    #[serde(rename = "p", default, skip_serializing_if = "Option::is_none")]
    parent: Option<RunNo>,
    #[serde(rename = "by", default, skip_serializing_if = "Option::is_none")]
    spawned_by: Option<String>,
    #[serde(rename = "bs")]
    base_state: BaseState,
    #[serde(rename = "d")]
    request_digest: String,
    #[serde(rename = "o")]
    offsets: (u64, u64),
    #[serde(rename = "r")]
    records: u64,
    #[serde(rename = "s")]
    started: Timestamp,
    #[serde(rename = "e", default, skip_serializing_if = "Option::is_none")]
    ended: Option<Timestamp>,
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    ended_at: Option<u64>,
    #[serde(rename = "h", default, skip_serializing_if = "Option::is_none")]
    end: Option<RunEnd>,
    #[serde(rename = "g")]
    epoch: Epoch,
    #[serde(rename = "u")]
    lease_until: Timestamp,
    #[serde(rename = "l", default, skip_serializing_if = "Option::is_none")]
    lineage: Option<RunLineage>,
    #[serde(rename = "c")]
    compacted: bool,
}

impl RunRow {
    pub(super) fn of(run: &RunInfo) -> Self {
        Self {
            no: run.no,
            id: run.id.clone(),
            parent: run.parent,
            spawned_by: run.spawned_by.clone(),
            base_state: run.base_state,
            request_digest: run.request_digest.clone(),
            offsets: (run.offsets.start, run.offsets.end),
            records: run.records,
            started: run.started,
            ended: run.ended,
            ended_at: run.ended_at,
            end: run.end.clone(),
            epoch: run.epoch,
            lease_until: run.lease_until,
            lineage: run.lineage.clone(),
            compacted: run.compacted,
        }
    }

    pub(super) fn into_info(self) -> RunInfo {
        RunInfo {
            no: self.no,
            id: self.id,
            parent: self.parent,
            spawned_by: self.spawned_by,
            base_state: self.base_state,
            request_digest: self.request_digest,
            offsets: self.offsets.0..self.offsets.1,
            records: self.records,
            started: self.started,
            ended: self.ended,
            ended_at: self.ended_at,
            end: self.end,
            epoch: self.epoch,
            lease_until: self.lease_until,
            lineage: self.lineage,
            compacted: self.compacted,
        }
    }
}

/// The bytes of a row and their checksum.
pub(super) fn encode(row: &impl Serialize) -> (Vec<u8>, u32) {
    let body = serde_json::to_vec(row).expect("rows have no maps with odd keys");
    let crc = crc32c::crc32c(&body);
    (body, crc)
}

pub(super) fn decode<T: DeserializeOwned>(
    table: &'static str,
    body: &[u8],
    crc: u32,
) -> Result<T, CatalogueError> {
    if crc32c::crc32c(body) != crc {
        return Err(CatalogueError::Row(table));
    }
    serde_json::from_slice(body).ok().ok_or(CatalogueError::Row(table))
}
