//! The era rules: what a stream means whose producer is known to be of an older release.
//!
//! The reference applies them to peers that are pinned by configuration. Of its rules for streams, one is left: releases up
//! to 0.0.57 know no subagents, so that what looks like one is something else. [`translate`](super::translate) does the rest
//! for every peer.

use super::subagents;
use crate::event::{Event, EventType, Received};
use crate::schema::{Departure, DepartureKind};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The last release that knows no subagents.
const WITHOUT_SUBAGENTS: PeerVersion = PeerVersion([0, 0, 57]);

/// The version of a peer: two or three numbers, such as `0.0.57` or `1.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerVersion([u32; 3]);

/// A text that is no version.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("a version is two or three numbers, such as 0.0.57 or 1.0. version={0}")]
pub struct NotAVersion(String);

impl FromStr for PeerVersion {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        let error = || NotAVersion(text.to_owned());
        let mut numbers = [0; 3];
        let mut parts = 0;
        for part in text.split('.') {
            let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            let number = part.parse().ok().filter(|_| is_number).ok_or_else(error)?;
            *numbers.get_mut(parts).ok_or_else(error)? = number;
            parts += 1;
        }
        if parts < 2 { Err(error()) } else { Ok(Self(numbers)) }
    }
}

impl fmt::Display for PeerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

impl PeerVersion {
    /// Whether an event of this type means nothing from this peer, whatever is in it.
    #[must_use]
    pub fn drops(self, event_type: EventType) -> bool {
        self <= WITHOUT_SUBAGENTS
            && matches!(
                event_type,
                EventType::SubagentStarted | EventType::SubagentFinished | EventType::SubagentError
            )
    }

    /// An event as this peer can have meant it, between translation and enforcement. `None` if it means nothing.
    #[must_use]
    pub fn bound(self, received: Received<'_>) -> Option<Received<'_>> {
        if self > WITHOUT_SUBAGENTS {
            return Some(received);
        }
        if subagents::is_lifecycle(received.event()) {
            return None;
        }
        // Where a tag may be, null stands for none. Elsewhere the word is as unknown as any other.
        let is_null_tag = |departure: &Departure| {
            departure.kind == DepartureKind::NullOptional && departure.pointer.ends_with("/subagentRunId")
        };
        let has_null = received.departures().iter().any(is_null_tag);
        let mut event: Event<'_> = received.event().clone();
        if !subagents::remove_tags(&mut event) && !has_null {
            return Some(received);
        }
        let (_, _, mut departures) = received.into_parts();
        departures.retain(|departure| !is_null_tag(departure));
        Some(Received::from_parts(event.to_json().into(), event, departures))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(peer: &str, json: &str) -> Option<String> {
        let peer: PeerVersion = peer.parse().unwrap();
        peer.bound(Received::read(json).unwrap()).map(|received| received.json().to_owned())
    }

    #[test]
    fn versions_are_numbers() {
        for (text, shown) in [("0.0.57", "0.0.57"), ("1.0", "1.0.0"), ("01.10.2", "1.10.2")] {
            assert_eq!(text.parse::<PeerVersion>().unwrap().to_string(), shown);
        }
        for text in ["", "1", "1.", ".1", "1.0.0.0", "1.x", "+1.0", "1.99999999999", "v1.0"] {
            assert_eq!(text.parse::<PeerVersion>(), Err(NotAVersion(text.to_owned())));
        }
        assert!("0.0.9".parse::<PeerVersion>().unwrap() < "0.0.57".parse().unwrap());
    }

    #[test]
    fn an_old_peer_has_no_subagents() {
        let start = r#"{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n"}"#;
        assert_eq!(bound("0.0.57", start), None);
        assert_eq!(bound("0.0.58", start).as_deref(), Some(start));
        let tagged = r#"{ "type":"CUSTOM","name":"n","value":1,"subagentRunId":"s","vendor":2}"#;
        let untagged = r#"{"type":"CUSTOM","name":"n","value":1,"vendor":2}"#;
        assert_eq!(bound("0.0.39", tagged).as_deref(), Some(untagged));
        assert_eq!(bound("1.0", tagged).as_deref(), Some(tagged));
        let plain = r#" {"type":"CUSTOM","name":"n","value":1}"#;
        assert_eq!(bound("0.0.57", plain).as_deref(), Some(plain));
    }

    #[test]
    fn tags_inside_and_nulls_go_as_well() {
        let json = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"x","subagentRunId":"s"}]}}"#;
        assert!(!bound("0.0.57", json).unwrap().contains("subagentRunId"));
        let json = r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"user","content":"","subagentRunId":null}]}"#;
        let peer: PeerVersion = "0.0.57".parse().unwrap();
        let received = peer.bound(Received::read(json).unwrap()).unwrap();
        assert_eq!(received.departures(), []);
        assert!(!received.json().contains("subagentRunId"));
    }
}
