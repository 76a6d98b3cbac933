//! Runs with the time between their events.

use crate::talk::AFTER;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;
use threadline_log::delivery::Delivery;
use threadline_log::record::Kind;
use threadline_log::{Error, RunId, ThreadId};
use threadline_protocol::codec::{Format, InputDecoder};
use threadline_protocol::proto::{self, Decoded};
use threadline_protocol::{Event, Limits, Received};

/// The time between events of which nobody says it.
const UNKNOWN: Duration = Duration::from_millis(20);

/// An event, and how long it came after the one before it in its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) json: String,
    pub(crate) after: Duration,
}

/// One run, or what stands before the first one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecordedRun {
    pub(crate) id: Option<String>,
    pub(crate) moments: Vec<Moment>,
}

/// Reads a file of events.
pub(crate) fn of_events(bytes: &[u8], format: Option<Format>) -> Result<Vec<RecordedRun>, String> {
    let limits = Limits::default();
    let mut decoder =
        format.map_or_else(|| InputDecoder::new(limits), |format| InputDecoder::with_format(format, limits));
    let mut waits = written_waits(bytes);
    let mut runs: Vec<RecordedRun> = Vec::new();
    let mut last_timestamp = None;
    decoder.push(bytes);
    decoder.finish();
    loop {
        let format = decoder.format();
        let Some(payload) = decoder.next_event() else { return Ok(runs) };
        let payload = payload.map_err(|error| error.to_string())?;
        let (json, place) = (json_of(payload.bytes, format)?, payload.place);
        let received = Received::read(&json).map_err(|error| format!("{place}: {error}"))?;
        let event = received.event();
        if let Event::RunStarted(started) = event {
            runs.push(RecordedRun { id: Some(started.run_id.to_string()), moments: Vec::new() });
        } else if runs.is_empty() {
            runs.push(RecordedRun::default());
        }
        // Of the comments before an event, the last one counts.
        let line = place.line.unwrap_or(0);
        let later = waits.split_off(&line);
        let written = std::mem::replace(&mut waits, later).into_values().next_back();
        let timestamp = event.timestamp().map(i64::from);
        let between = timestamp.zip(last_timestamp).map(|(now, last): (i64, i64)| {
            Duration::from_millis(now.saturating_sub(last).max(0).unsigned_abs())
        });
        last_timestamp = timestamp.or(last_timestamp);
        let after = written.or(between).unwrap_or(UNKNOWN);
        let run = runs.last_mut().ok_or("no run")?;
        run.moments.push(Moment { json: json.clone(), after });
    }
}

/// What `threadline run --record` wrote down beside the events, by the number of its line.
fn written_waits(bytes: &[u8]) -> BTreeMap<u64, Duration> {
    let wait = |line: &[u8]| {
        let text = str::from_utf8(line).ok()?.strip_prefix(": ")?.strip_prefix(AFTER)?;
        text.trim_end().parse().ok().map(Duration::from_millis)
    };
    let lines = bytes.split(|byte| *byte == b'\n');
    (1..).zip(lines).filter_map(|(number, line)| Some((number, wait(line)?))).collect()
}

fn json_of(bytes: &[u8], format: Option<Format>) -> Result<String, String> {
    if format == Some(Format::Proto) {
        return match proto::decode(bytes) {
            Ok(Decoded::Event { event, .. }) => Ok(event.json().to_owned()),
            Ok(Decoded::UnknownArm) => Err("an event of an unknown type".to_owned()),
            Err(error) => Err(error.to_string()),
        };
    }
    String::from_utf8(bytes.to_vec()).map_err(|error| error.to_string())
}

/// A line of a thread's export, as far as it is a record.
#[derive(Deserialize)]
struct Line<'a> {
    time: i64,
    run: String,
    kind: String,
    #[serde(borrow)]
    event: Option<&'a RawValue>,
}

/// Reads the raw export of a thread: what its clients were sent, run by run, in the order in which they began.
pub(crate) fn of_export(thread: &ThreadId, lines: &[u8]) -> Result<Vec<RecordedRun>, Error> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut runs: Vec<(RecordedRun, Delivery, i64)> = Vec::new();
    for line in lines.split(|byte| *byte == b'\n') {
        // Other lines say what the thread is, and what was asked for.
        let Ok(Line { time, run, kind, event: Some(event) }) = serde_json::from_slice(line) else { continue };
        let kind = match kind.as_str() {
            "event" => Kind::Event,
            "made" => Kind::Made,
            _ => continue,
        };
        let at = match places.get(&run) {
            Some(at) => *at,
            None => {
                let delivery = Delivery::new(thread, &RunId::new(run.clone())?);
                runs.push((RecordedRun { id: Some(run.clone()), moments: Vec::new() }, delivery, time));
                places.insert(run, runs.len() - 1);
                runs.len() - 1
            }
        };
        let Some((recorded, delivery, last)) = runs.get_mut(at) else { continue };
        for delivered in delivery.push(kind, event.get().as_bytes()) {
            let after = Duration::from_millis(time.saturating_sub(*last).max(0).unsigned_abs());
            recorded.moments.push(Moment { json: delivered.to_json(), after });
            *last = time;
        }
    }
    Ok(runs.into_iter().map(|(run, ..)| run).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(run: &RecordedRun) -> Vec<u128> {
        run.moments.iter().map(|moment| moment.after.as_millis()).collect()
    }

    #[test]
    fn waits_are_those_that_were_written_down() {
        let text = concat!(
            ": after 0\ndata: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r1\"}\n\n",
            ": ping\n\n: after 150\nid: 7\ndata: {\"type\":\"CUSTOM\",\"name\":\"a\",\"value\":1}\n\n",
            "data: {\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r1\"}\n\n",
            ": after 1\ndata: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r2\"}\n\n",
        );
        let runs = of_events(text.as_bytes(), None).unwrap();
        assert_eq!(runs.iter().map(|run| run.id.as_deref().unwrap()).collect::<Vec<_>>(), ["r1", "r2"]);
        assert_eq!((waits(&runs[0]), waits(&runs[1])), (vec![0, 150, 20], vec![1]));
    }

    #[test]
    fn else_they_are_between_timestamps() {
        let text = concat!(
            "{\"type\":\"CUSTOM\",\"name\":\"a\",\"value\":1,\"timestamp\":1000}\n",
            "{\"type\":\"CUSTOM\",\"name\":\"b\",\"value\":1,\"timestamp\":1300}\n",
            "{\"type\":\"CUSTOM\",\"name\":\"c\",\"value\":1}\n",
            "{\"type\":\"CUSTOM\",\"name\":\"d\",\"value\":1,\"timestamp\":1200}\n",
        );
        let runs = of_events(text.as_bytes(), None).unwrap();
        assert_eq!(waits(&runs[0]), [20, 300, 20, 0]);
        assert!(of_events(b"{\"type\":1}\n", None).is_err());
    }

    #[test]
    fn exports_are_delivered_run_by_run() {
        let lines = concat!(
            "{\"threadline\":1}\n",
            "{\"offset\":0,\"time\":100,\"run\":\"a\",\"kind\":\"made\",\"event\":{\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"a\"}}\n",
            "{\"offset\":1,\"time\":110,\"run\":\"a\",\"kind\":\"event\",\"event\":{\"type\":\"RUN_STARTED\",\"threadId\":\"x\",\"runId\":\"y\"}}\n",
            "{\"offset\":2,\"time\":120,\"run\":\"b\",\"kind\":\"made\",\"event\":{\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"b\"}}\n",
            "{\"offset\":3,\"time\":130,\"run\":\"a\",\"kind\":\"rejected\",\"event\":{\"type\":\"CUSTOM\",\"name\":\"a\",\"value\":1}}\n",
            "{\"offset\":4,\"time\":140,\"run\":\"a\",\"kind\":\"event\",\"event\":{\"type\":\"CUSTOM\",\"name\":\"a\",\"value\":1}}\n",
        );
        let runs = of_export(&ThreadId::new("t").unwrap(), lines.as_bytes()).unwrap();
        assert_eq!(runs.iter().map(waits).collect::<Vec<_>>(), [vec![0, 40], vec![0]]);
        assert_eq!(runs[0].moments[1].json, r#"{"type":"CUSTOM","name":"a","value":1}"#);
    }
}
