//! Merging pieces of text, of reasoning and of arguments that follow one another.

use super::aggregator::Aggregator;
use crate::names::RunNo;
use crate::record::{Kind, NewRecord};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use threadline_protocol::{Event, Received, Text};

/// A piece of so many bytes is not added to, so that records stay small enough to be read one by one.
const PIECE_BYTES_MAX: usize = 64 * 1024;

/// Merges adjacent TEXT_MESSAGE_CONTENT, REASONING_MESSAGE_CONTENT and TOOL_CALL_ARGS of the same id and the same subagent. The
/// merged one has the last timestamp, as in compaction; it is [`Kind::Transcoded`], since its bytes are ours.
///
/// A piece with metadata, a `rawEvent` or anything that AG-UI 1.0 does not know is left as it came.
#[derive(Debug, Default)]
pub struct Merging {
    open: Mutex<HashMap<RunNo, Piece>>,
}

/// Merges nothing: every event is kept as it came.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unmerged;

/// A record that the next one may be merged with.
#[derive(Debug)]
struct Piece {
    /// As it came, unless something was merged with it.
    record: NewRecord,
    event: Event<'static>,
    is_merged: bool,
}

impl Merging {
    fn lock(&self) -> MutexGuard<'_, HashMap<RunNo, Piece>> {
        // Nothing here panics half way.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Aggregator for Merging {
    fn push(&self, run: RunNo, record: NewRecord) -> Vec<NewRecord> {
        let event = piece_of(&record);
        let mut open = self.lock();
        let Some(event) = event else {
            return open.remove(&run).map(Piece::into_record).into_iter().chain([record]).collect();
        };
        if let Some(piece) = open.get_mut(&run)
            && absorb(&mut piece.event, &event)
        {
            piece.is_merged = true;
            return Vec::new();
        }
        let next = Piece { record, event: event.into_owned(), is_merged: false };
        open.insert(run, next).map(Piece::into_record).into_iter().collect()
    }

    fn flush(&self, run: RunNo) -> Vec<NewRecord> {
        self.lock().remove(&run).map(Piece::into_record).into_iter().collect()
    }
}

impl Aggregator for Unmerged {
    fn push(&self, _run: RunNo, record: NewRecord) -> Vec<NewRecord> {
        vec![record]
    }

    fn flush(&self, _run: RunNo) -> Vec<NewRecord> {
        Vec::new()
    }
}

impl Piece {
    fn into_record(self) -> NewRecord {
        match self.is_merged {
            true => NewRecord { kind: Kind::Transcoded, bytes: self.event.to_json().into_bytes().into() },
            false => self.record,
        }
    }
}

/// The event of a record that others may be merged with.
fn piece_of(record: &NewRecord) -> Option<Event<'static>> {
    if !matches!(record.kind, Kind::Event | Kind::Transcoded) {
        return None;
    }
    let received = Received::read_bytes(&record.bytes).ok()?;
    if !received.departures().is_empty() {
        return None;
    }
    let event = received.into_event();
    let is_plain = match &event {
        Event::TextMessageContent(piece) => piece.metadata.is_none() && piece.raw_event.is_none(),
        Event::ReasoningMessageContent(piece) => piece.metadata.is_none() && piece.raw_event.is_none(),
        Event::ToolCallArgs(piece) => piece.metadata.is_none() && piece.raw_event.is_none(),
        _ => false,
    };
    is_plain.then(|| event.into_owned())
}

/// Puts a piece into an earlier one, if it goes there.
fn absorb(earlier: &mut Event<'static>, later: &Event<'_>) -> bool {
    macro_rules! absorb {
        ($earlier:ident, $later:ident, $id:ident) => {{
            let is_same = $earlier.$id == $later.$id && $earlier.subagent_run_id == $later.subagent_run_id;
            is_same && add(&mut $earlier.delta, &$later.delta) && {
                $earlier.timestamp = $later.timestamp.or($earlier.timestamp);
                true
            }
        }};
    }
    match (earlier, later) {
        (Event::TextMessageContent(earlier), Event::TextMessageContent(later)) => {
            absorb!(earlier, later, message_id)
        }
        (Event::ReasoningMessageContent(earlier), Event::ReasoningMessageContent(later)) => {
            absorb!(earlier, later, message_id)
        }
        (Event::ToolCallArgs(earlier), Event::ToolCallArgs(later)) => absorb!(earlier, later, tool_call_id),
        _ => false,
    }
}

fn add(earlier: &mut Text<'static>, later: &Text<'_>) -> bool {
    let has_room = earlier.wtf8().len() + later.wtf8().len() <= PIECE_BYTES_MAX;
    if has_room {
        earlier.push(later);
    }
    has_room
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{RunId, ThreadId, Timestamp};
    use crate::run::RunInfo;
    use crate::run_fold::RunFold;
    use proptest::prelude::*;
    use threadline_protocol::stages::fold::Fold;
    use threadline_testkit::random::Random;
    use threadline_testkit::streams;

    /// What is stored of these events, where each of the last ones of a flush says so.
    fn stored(events: impl IntoIterator<Item = (NewRecord, bool)>) -> Vec<NewRecord> {
        let merging = Merging::default();
        let mut stored = Vec::new();
        for (record, is_flushed) in events {
            // Another run of the thread says the same at the same time.
            merging.push(RunNo(7), record.clone());
            stored.extend(merging.push(RunNo(0), record));
            if is_flushed {
                stored.extend(merging.flush(RunNo(0)));
            }
        }
        stored.extend(merging.flush(RunNo(0)));
        assert_eq!(merging.flush(RunNo(0)), []);
        stored
    }

    fn texts(events: &[&str]) -> Vec<(Kind, String)> {
        let events = events.iter().map(|event| (NewRecord::event((*event).to_owned()), false));
        let text = |record: NewRecord| (record.kind, String::from_utf8(record.bytes.to_vec()).unwrap());
        stored(events).into_iter().map(text).collect()
    }

    /// What clients hold after these records.
    fn held(records: &[NewRecord]) -> String {
        let (thread, run) = (ThreadId::new("t").unwrap(), RunId::new("r").unwrap());
        let info = RunInfo::unknown(RunNo(0), run, 0, Timestamp(0));
        let mut fold = RunFold::new(&thread, &info, Fold::new());
        for record in records {
            fold.push(record.kind, &record.bytes);
        }
        fold.fold().checkpoint().to_json()
    }

    proptest! {
        #[test]
        fn what_is_stored_means_what_was_delivered(seed: u64, shape in 0_u8..4, flushes: u64) {
            let random = &mut Random::new(seed);
            let events = match shape {
                0 => streams::valid(random),
                1 => streams::old(random),
                2 => streams::breaching(random),
                _ => streams::malformed(random),
            };
            let mut records: Vec<NewRecord> = Vec::new();
            for event in &events {
                // Pieces of pieces, so that there is something to merge.
                let delta = event["delta"].as_str().filter(|delta| delta.is_char_boundary(delta.len() / 2));
                let pieces = delta.map_or(vec![event.clone()], |delta| {
                    let (one, two) = delta.split_at(delta.len() / 2);
                    [one, two].map(|half| {
                        let mut event = event.clone();
                        event["delta"] = half.into();
                        event
                    }).into()
                });
                records.extend(pieces.iter().map(|piece| NewRecord::event(piece.to_string())));
            }
            let flushed = |place: usize| flushes >> (place % 64) & 1 == 1;
            let stored = stored(records.iter().cloned().enumerate().map(|(place, one)| (one, flushed(place))));
            prop_assert!(stored.len() <= records.len());
            prop_assert_eq!(held(&stored), held(&records));
        }
    }

    #[test]
    fn pieces_in_a_row_become_one() {
        let text = |delta: &str, more: &str| {
            format!(r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":{delta}{more}}}"#)
        };
        let merged = texts(&[
            &text(r#""a""#, r#","timestamp":1"#),
            &text(r#""""#, ""),
            &text(r#""b""#, r#","timestamp":3"#),
        ]);
        let [(Kind::Transcoded, merged)] = &merged[..] else { panic!("{merged:?}") };
        assert_eq!(merged, r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"ab","timestamp":3}"#);
        // Two halves of a character that a source cut apart are whole again.
        let merged = texts(&[&text(r#""\ud83d""#, ""), &text(r#""\ude00""#, "")]);
        assert!(merged[0].1.contains('😀'), "{merged:?}");
    }

    #[test]
    fn what_stands_alone_stays_as_it_came() {
        let spelled = r#"{ "delta" : "\u0061", "type":"TOOL_CALL_ARGS","toolCallId":"c" }"#;
        let other = r#"{"type":"TOOL_CALL_ARGS","toolCallId":"d","delta":"x"}"#;
        let events = [spelled, other, spelled, r#"{"type":"TOOL_CALL_END","toolCallId":"c"}"#, other];
        let expected = events.map(|event| (Kind::Event, event.to_owned()));
        assert_eq!(texts(&events), expected);
    }

    #[test]
    fn what_says_more_than_its_delta_is_not_merged() {
        let with = |more: &str| {
            format!(r#"{{"type":"REASONING_MESSAGE_CONTENT","messageId":"m","delta":"x"{more}}}"#)
        };
        let plain = with("");
        for more in
            [r#","metadata":{"a":1}"#, r#","rawEvent":{}"#, r#","vendor":1"#, r#","subagentRunId":"s""#]
        {
            let special = with(more);
            let events = [plain.as_str(), &special, &plain];
            assert_eq!(texts(&events), events.map(|event| (Kind::Event, event.to_owned())), "{more}");
        }
        assert_eq!(texts(&[&plain, &plain]).len(), 1);
        let owned = with(r#","subagentRunId":"s""#);
        assert_eq!(texts(&[&owned, &owned]).len(), 1);
    }

    #[test]
    fn a_piece_does_not_grow_without_end() {
        let event = format!(
            r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"{}"}}"#,
            "x".repeat(PIECE_BYTES_MAX / 2)
        );
        assert_eq!(texts(&[event.as_str(); 5]).len(), 3);
    }

    /// Runs of a thread that overlap share one, and neither loses, doubles or mixes anything.
    #[test]
    fn several_runs_may_be_merged_at_once() {
        let merging = Merging::default();
        let stored = std::thread::scope(|scope| {
            let runs = [0, 1, 2, 3].map(|run| {
                let merging = &merging;
                scope.spawn(move || {
                    let mut stored = Vec::new();
                    for piece in 0..1_000 {
                        let event = format!(
                            r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"{run}:{piece},"}}"#
                        );
                        stored.extend(merging.push(RunNo(run), NewRecord::event(event)));
                        if piece % 100 == 99 {
                            stored.extend(merging.flush(RunNo(run)));
                        }
                    }
                    stored
                })
            });
            runs.map(|run| run.join().unwrap())
        });
        for (run, stored) in stored.iter().enumerate() {
            assert_eq!(stored.len(), 10);
            let deltas: String = stored
                .iter()
                .map(|record| match Received::read_bytes(&record.bytes).unwrap().into_event() {
                    Event::TextMessageContent(piece) => piece.delta.to_string(),
                    other => panic!("{other:?}"),
                })
                .collect();
            let said: String = (0..1_000).map(|piece| format!("{run}:{piece},")).collect();
            assert_eq!(deltas, said);
        }
    }
}
