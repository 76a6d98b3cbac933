//! The enforce stage: what a 1.0 reader may see of an event.
//!
//! Unknown events are dropped, unknown members and variants are stripped, malformed fields are refused. It belongs at
//! delivery; stored bytes are never touched.

use crate::event::{Event, Received};
use crate::schema::{Departure, DepartureKind, UnknownWords};
use std::collections::HashSet;

/// What becomes of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "the large variant is the usual one")]
pub enum Verdict<'a> {
    /// It may be seen.
    Kept {
        /// The event: as it was, byte for byte, if nothing was removed.
        event: Received<'a>,
        /// What was removed, as JSON pointers into the event as it came.
        removed: Vec<String>,
    },
    /// It has no place in 1.0 and is left out.
    Dropped,
    /// A field that 1.0 describes holds what 1.0 does not allow. Fatal to the run, for a strict reader.
    Refused(Departure),
}

/// Judges one event. What [`Received::read`] refuses as malformed is refused before it comes here.
#[must_use]
pub fn enforce(received: Received<'_>, words: UnknownWords) -> Verdict<'_> {
    if matches!(received.event(), Event::Unknown(_)) {
        return Verdict::Dropped;
    }
    if received.departures().is_empty() {
        return Verdict::Kept { event: received, removed: Vec::new() };
    }
    let (_, event, departures) = received.into_parts();
    let Some((event, removed)) = event.stripped(words) else { return Verdict::Dropped };
    // Nothing is wrong any more with what is inside of something removed.
    let gone: HashSet<&str> = removed.iter().map(String::as_str).collect();
    let is_gone = |pointer: &str| {
        let ends = pointer.match_indices('/').skip(1).map(|(end, _)| end).chain([pointer.len()]);
        ends.into_iter().any(|end| gone.contains(&pointer[..end]))
    };
    let fatal = departures
        .into_iter()
        .find(|departure| is_fatal(departure.kind, words) && !is_gone(&departure.pointer));
    match fatal {
        Some(departure) => Verdict::Refused(departure),
        None => Verdict::Kept { event: Received::made(event), removed },
    }
}

const fn is_fatal(kind: DepartureKind, words: UnknownWords) -> bool {
    match kind {
        DepartureKind::NullOptional => true,
        DepartureKind::UnknownToken => matches!(words, UnknownWords::Refuse),
        DepartureKind::UnknownMember | DepartureKind::UnknownVariant => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(json: &str, words: UnknownWords) -> Verdict<'_> {
        enforce(Received::read(json).unwrap(), words)
    }

    fn kept(json: &str) -> (String, Vec<String>) {
        match judge(json, UnknownWords::Refuse) {
            Verdict::Kept { event, removed } => (event.json().to_owned(), removed),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_good_event_is_untouched() {
        let json = r#" { "delta":"\u0061", "type" : "TEXT_MESSAGE_CONTENT","timestamp":5.0,"messageId":""} "#;
        assert_eq!(kept(json), (json.to_owned(), vec![]));
    }

    #[test]
    fn unknown_members_and_variants_are_stripped() {
        let (json, removed) = kept(
            r#"{"type":"MESSAGES_SNAPSHOT","x/y":1,"messages":[{"role":"oracle","id":3},{"id":"a"},
            {"id":"u","role":"user","content":[{"type":"hologram"},{"type":"image","id":9,"source":{"type":"beam"}},
            {"type":"text","text":"t","z":null}]}],"subagentRunId":null}"#,
        );
        assert_eq!(
            json,
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"user","id":"u","content":[{"type":"text","text":"t"}]}]}"#
        );
        assert_eq!(
            removed,
            [
                "/messages/0",
                "/messages/1",
                "/messages/2/content/0",
                "/messages/2/content/1",
                "/messages/2/content/2/z",
                "/x~1y",
                "/subagentRunId"
            ]
        );
    }

    #[test]
    fn what_is_inside_of_something_removed_is_no_longer_wrong() {
        let (_, removed) = kept(
            r#"{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c",
            "content":[{"type":"image","metadata":null,"source":{"type":"beam"}}]}"#,
        );
        assert_eq!(removed, ["/content/0"]);
    }

    #[test]
    fn operations_stay_open() {
        let json = r#"{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/a","value":1,"x":null}]}"#;
        assert_eq!(kept(json), (json.to_owned(), vec![]));
        let (json, removed) =
            kept(r#"{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/a","x":1},{"op":3}]}"#);
        assert_eq!(json, r#"{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/a","x":1}]}"#);
        assert_eq!(removed, ["/delta/1"]);
    }

    #[test]
    fn an_unknown_outcome_reads_as_success() {
        let (json, removed) =
            kept(r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"new"}}"#);
        assert_eq!(json, r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#);
        assert_eq!(removed, ["/outcome"]);
    }

    #[test]
    fn nulls_are_refused() {
        let verdict =
            judge(r#"{"type":"TEXT_MESSAGE_END","messageId":"m","metadata":null}"#, UnknownWords::Strip);
        let Verdict::Refused(departure) = verdict else { panic!("{verdict:?}") };
        assert_eq!(departure.pointer, "/metadata");
    }

    #[test]
    fn unknown_words_are_refused_or_stripped() {
        let optional = r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"oracle"}"#;
        assert!(matches!(judge(optional, UnknownWords::Refuse), Verdict::Refused(_)));
        let Verdict::Kept { event, removed } = judge(optional, UnknownWords::Strip) else { panic!() };
        assert_eq!(event.json(), r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#);
        assert_eq!(removed, ["/role"]);

        let required =
            r#"{"type":"REASONING_ENCRYPTED_VALUE","subtype":"x","entityId":"e","encryptedValue":"v"}"#;
        assert!(matches!(judge(required, UnknownWords::Refuse), Verdict::Refused(_)));
        assert_eq!(judge(required, UnknownWords::Strip), Verdict::Dropped);

        let in_a_list = r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"assistant","toolCalls":[
            {"id":"c","type":"macro","function":{"name":"f","arguments":""}}]}]}"#;
        let Verdict::Kept { event, removed } = judge(in_a_list, UnknownWords::Strip) else { panic!() };
        assert_eq!(
            event.json(),
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"assistant","id":"m","toolCalls":[]}]}"#
        );
        assert_eq!(removed, ["/messages/0/toolCalls/0"]);
    }
}
