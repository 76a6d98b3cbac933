//! What rows about threads and runs hold, with a checksum, because what they say decides about writes.
//!
//! There is a row for each thread and each run, however short: so they are numbers, not JSON. Nobody else reads them, and rows of
//! another version are made anew with the whole catalogue.

use super::CatalogueError;
use super::packed::{Packed, Unpacked};
use threadline_log::names::Owner;
use threadline_log::run::{BaseState, RunEnd, RunInfo, RunLineage, RunStatus};
use threadline_log::store::Ack;
use threadline_log::thread::{Metadata, ThreadInfo};
use threadline_log::{AppendKey, Epoch, Incarnation, RunId, RunNo, Scope, ThreadId, ThreadKey, Timestamp};

/// Statuses by their numbers.
const STATUSES: [RunStatus; 6] = [
    RunStatus::Running,
    RunStatus::Finished,
    RunStatus::Interrupted,
    RunStatus::Cancelled,
    RunStatus::Failed,
    RunStatus::Abandoned,
];

/// How most runs end.
const SUCCESS: &str = r#"{"type":"success"}"#;

/// The bytes of a row and their checksum.
type Row = (Vec<u8>, u32);

/// The checksum of a row: of numbers in its columns, and of a text or a body.
pub(super) fn checksum(numbers: &[u64], body: &[u8]) -> u32 {
    let crc = numbers.iter().fold(0, |crc, number| crc32c::crc32c_append(crc, &number.to_le_bytes()));
    crc32c::crc32c_append(crc, body)
}

/// Another way to find a thread by its name.
pub(super) fn name_crc(key: &ThreadKey) -> u32 {
    let names = [key.scope.app.as_str(), key.scope.user.as_str(), key.thread.as_str()];
    names.iter().fold(0, |crc, name| checksum(&[crc.into(), name.len() as u64], name.as_bytes()))
}

/// The keys of a thread, all together. They are rows of their own, and a row that is missing would not be missed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct KeysSum {
    count: u64,
    sum: u32,
}

impl KeysSum {
    pub(crate) fn of<'a>(keys: impl Iterator<Item = (RunNo, &'a AppendKey, &'a Ack)>) -> Self {
        keys.fold(Self::default(), |Self { count, sum }, (run, key, ack)| {
            let numbers = [run.0.into(), ack.first, ack.count, ack.time.0.cast_unsigned()];
            Self { count: count + 1, sum: sum.wrapping_add(checksum(&numbers, key.as_str().as_bytes())) }
        })
    }
}

pub(super) fn encode_thread(no: u64, info: &ThreadInfo, keys: KeysSum) -> Row {
    let mut row = Packed::default();
    for name in [info.key.scope.app.as_str(), info.key.scope.user.as_str(), info.key.thread.as_str()] {
        row.text(name);
    }
    row.number(info.incarnation.0);
    row.number(info.offsets.start);
    row.number(info.offsets.end.wrapping_sub(info.offsets.start));
    row.signed(info.created.0);
    row.signed(info.updated.0.wrapping_sub(info.created.0));
    row.number(info.runs.into());
    row.option(info.last_run, |row, (no, status)| {
        row.number(no.0.into());
        row.number(status_code(status));
    });
    row.number(info.bytes);
    row.option(Some(&info.metadata).filter(|metadata| **metadata != Metadata::default()), Packed::json);
    row.number(keys.count);
    row.number(keys.sum.into());
    finish(row, &[no])
}

pub(super) fn decode_thread(no: u64, body: &[u8], crc: u32) -> Result<(ThreadInfo, KeysSum), CatalogueError> {
    verified(&[no], body, crc).and_then(take_thread).ok_or(CatalogueError::Row("threads"))
}

fn take_thread(mut row: Unpacked<'_>) -> Option<(ThreadInfo, KeysSum)> {
    let [app, user] = [row.text()?, row.text()?].map(|name| Owner::new(name).ok());
    let key = ThreadKey::new(Scope { app: app?, user: user? }, ThreadId::new(row.text()?).ok()?);
    let incarnation = Incarnation(row.number()?);
    let start = row.number()?;
    let offsets = start..start.wrapping_add(row.number()?);
    let created = row.signed()?;
    let info = ThreadInfo {
        key,
        incarnation,
        offsets,
        created: Timestamp(created),
        updated: Timestamp(created.wrapping_add(row.signed()?)),
        runs: row.small()?,
        last_run: row.option(|row| Some((RunNo(row.small()?), status(row.number()?)?)))?,
        bytes: row.number()?,
        metadata: row.option(Unpacked::json)?.unwrap_or_default(),
    };
    let keys = KeysSum { count: row.number()?, sum: row.small()? };
    row.is_empty().then_some((info, keys))
}

/// Of a run that was compacted the tail at that time is in another column.
pub(super) fn encode_run(thread: u64, run: &RunInfo, compacted: Option<u64>) -> Row {
    let mut row = Packed::default();
    row.number(run.no.0.into());
    row.text(run.id.as_str());
    row.option(run.parent, |row, parent| row.number(parent.0.into()));
    row.option(run.spawned_by.as_deref(), Packed::text);
    row.number(u64::from(run.base_state == BaseState::Input));
    row.text(&run.request_digest);
    row.number(run.offsets.start);
    row.number(run.offsets.end.wrapping_sub(run.offsets.start));
    row.number(run.records);
    row.signed(run.started.0);
    row.option(run.ended, |row, ended| row.signed(ended.0.wrapping_sub(run.started.0)));
    row.option(run.ended_at, Packed::number);
    row.option(run.end.as_ref(), put_end);
    row.number(run.epoch.0.into());
    row.signed(run.lease_until.0.wrapping_sub(run.started.0));
    row.option(run.lineage.as_ref(), |row, lineage| {
        row.number(lineage.said);
        row.hash(lineage.hash);
        row.number(lineage.ids.len() as u64);
        lineage.ids.iter().for_each(|id| row.hash(*id));
    });
    row.number(run.compacted.into());
    finish(row, &of_run(thread, compacted))
}

/// What is there of a run beside its body.
fn of_run(thread: u64, compacted: Option<u64>) -> [u64; 3] {
    [thread, compacted.is_some().into(), compacted.unwrap_or_default()]
}

pub(super) fn decode_run(
    thread: u64,
    body: &[u8],
    crc: u32,
    compacted: Option<u64>,
) -> Result<RunInfo, CatalogueError> {
    verified(&of_run(thread, compacted), body, crc).and_then(take_run).ok_or(CatalogueError::Row("runs"))
}

fn take_run(mut row: Unpacked<'_>) -> Option<RunInfo> {
    let (no, id) = (RunNo(row.small()?), RunId::new(row.text()?).ok()?);
    let parent = row.option(|row| row.small().map(RunNo))?;
    let spawned_by = row.option(Unpacked::text)?;
    let base_state = if row.number()? == 0 { BaseState::Branch } else { BaseState::Input };
    let request_digest = row.text()?;
    let start = row.number()?;
    let offsets = start..start.wrapping_add(row.number()?);
    let records = row.number()?;
    let started = row.signed()?;
    let after_start = |row: &mut Unpacked<'_>| Some(Timestamp(started.wrapping_add(row.signed()?)));
    let run = RunInfo {
        no,
        id,
        parent,
        spawned_by,
        base_state,
        request_digest,
        offsets,
        records,
        started: Timestamp(started),
        ended: row.option(after_start)?,
        ended_at: row.option(Unpacked::number)?,
        end: row.option(take_end)?,
        epoch: Epoch(row.small()?),
        lease_until: after_start(&mut row)?,
        lineage: row.option(take_lineage)?,
        compacted: row.number()? != 0,
    };
    row.is_empty().then_some(run)
}

fn take_lineage(row: &mut Unpacked<'_>) -> Option<RunLineage> {
    let (said, hash, count) = (row.number()?, row.hash()?, row.number()?);
    let ids = (0..count).map(|_| row.hash()).collect::<Option<_>>()?;
    Some(RunLineage { said, hash, ids })
}

/// A status, and 1 if it is all but that it was a success, or else 0 and everything.
fn put_end(row: &mut Packed, end: &RunEnd) {
    let success = success(end.status);
    row.number(status_code(end.status));
    row.option(Some(end).filter(|end| Some(*end) != success.as_ref()), Packed::json);
}

fn take_end(row: &mut Unpacked<'_>) -> Option<RunEnd> {
    let status = status(row.number()?)?;
    match row.option(Unpacked::json)? {
        Some(end) => Some(end),
        None => success(status),
    }
}

fn success(status: RunStatus) -> Option<RunEnd> {
    let outcome = serde_json::from_str(SUCCESS).ok();
    Some(RunEnd { status, outcome, error_code: None, usage: None, interrupts: Vec::new() })
}

fn status_code(status: RunStatus) -> u64 {
    STATUSES.iter().position(|one| *one == status).expect("all are in the list") as u64
}

fn status(code: u64) -> Option<RunStatus> {
    STATUSES.get(usize::try_from(code).ok()?).copied()
}

fn finish(row: Packed, columns: &[u64]) -> Row {
    let body = row.into_bytes();
    let crc = checksum(columns, &body);
    (body, crc)
}

fn verified<'a>(columns: &[u64], body: &'a [u8], crc: u32) -> Option<Unpacked<'a>> {
    (checksum(columns, body) == crc).then(|| Unpacked::new(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> RunInfo {
        RunInfo {
            no: RunNo(3),
            id: RunId::new("0198c0de-7a3f-4b7c-80d8-e07830a17560").unwrap(),
            parent: Some(RunNo(2)),
            spawned_by: Some("somebody".to_owned()),
            base_state: BaseState::Input,
            request_digest: "6f1a9c432314ad5394507ceb3bb06fcf572794656979e568bbd895cc7b682a49".to_owned(),
            offsets: 7..90,
            records: 80,
            started: Timestamp(1_790_000_000_000),
            ended: Some(Timestamp(1_790_000_000_400)),
            ended_at: Some(88),
            end: success(RunStatus::Finished),
            epoch: Epoch(4),
            lease_until: Timestamp(1_790_000_030_000),
            lineage: Some(RunLineage { said: 2, hash: u64::MAX, ids: vec![1, u64::MAX] }),
            compacted: true,
        }
    }

    fn thread() -> ThreadInfo {
        let owner = |name| Owner::new(name).unwrap();
        let scope = Scope { app: owner("app"), user: owner("user") };
        ThreadInfo {
            key: ThreadKey::new(scope, ThreadId::new("t").unwrap()),
            incarnation: Incarnation(u64::MAX),
            offsets: 5..90,
            metadata: Metadata { name: Some("a name".to_owned()), ..Metadata::default() },
            created: Timestamp(1_790_000_000_000),
            updated: Timestamp(1_790_000_000_900),
            runs: 4,
            last_run: Some((RunNo(3), RunStatus::Abandoned)),
            bytes: 1 << 40,
        }
    }

    fn check_every_bit<T>(
        (body, crc): &Row,
        columns: &[u64],
        decode: impl Fn(&[u8], u32) -> Result<T, CatalogueError>,
    ) {
        for bit in 0..body.len() * 8 {
            let mut flipped = body.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&flipped, *crc).is_err(), "bit {bit}");
            // Whatever the bytes are, nothing but an error comes of it.
            _ = decode(&flipped, checksum(columns, &flipped));
        }
        for length in 0..body.len() {
            assert!(decode(&body[..length], checksum(columns, &body[..length])).is_err(), "length {length}");
        }
    }

    #[test]
    fn runs_come_back_as_they_went_and_no_bit_may_change() {
        let failed = RunEnd { error_code: Some("odd".to_owned()), ..success(RunStatus::Failed).unwrap() };
        let ends = [None, Some(failed), success(RunStatus::Cancelled)];
        let bare = |end: &Option<RunEnd>| RunInfo {
            end: end.clone(),
            parent: None,
            spawned_by: None,
            ended: None,
            ended_at: None,
            lineage: None,
            ..run()
        };
        for run in ends.iter().map(bare).chain([run()]) {
            let row = encode_run(7, &run, Some(4));
            assert_eq!(decode_run(7, &row.0, row.1, Some(4)).unwrap(), run);
            check_every_bit(&row, &of_run(7, Some(4)), |body, crc| decode_run(7, body, crc, Some(4)));
            for (thread, compacted) in [(6, Some(4)), (7, Some(5)), (7, None)] {
                assert!(decode_run(thread, &row.0, row.1, compacted).is_err(), "{thread}, {compacted:?}");
            }
        }
        let bytes = encode_run(7, &run(), None).0.len();
        assert!(bytes < 120, "{bytes}");
    }

    #[test]
    fn threads_come_back_as_they_went_and_no_bit_may_change() {
        let bare = ThreadInfo { metadata: Metadata::default(), last_run: None, ..thread() };
        for thread in [bare, thread()] {
            let keys = KeysSum { count: 300, sum: u32::MAX };
            let row = encode_thread(7, &thread, keys);
            assert_eq!(decode_thread(7, &row.0, row.1).unwrap(), (thread, keys));
            check_every_bit(&row, &[7], |body, crc| decode_thread(7, body, crc));
            assert!(decode_thread(6, &row.0, row.1).is_err());
        }
    }

    #[test]
    fn keys_are_summed_up_in_any_order_and_each_counts() {
        let key = |text| AppendKey::new(text).unwrap();
        let ack = |first| Ack { first, count: 1, time: Timestamp(5), repeated: false };
        let (one, other) = ((RunNo(0), key("one"), ack(3)), (RunNo(1), key("other"), ack(4)));
        let sum = |keys: &[&(RunNo, AppendKey, Ack)]| {
            KeysSum::of(keys.iter().map(|(run, key, ack)| (*run, key, ack)))
        };
        assert_eq!(sum(&[&one, &other]), sum(&[&other, &one]));
        let sums = [sum(&[]), sum(&[&one]), sum(&[&other]), sum(&[&one, &other])];
        for (at, one) in sums.iter().enumerate() {
            assert!(!sums[..at].contains(one), "{sums:?}");
        }
    }
}
