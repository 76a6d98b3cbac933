//! The stages of a consumer, one after the other.

use super::enforce::{Verdict, enforce};
use super::era::PeerVersion;
use super::expand::Expander;
use super::fold::Fold;
use super::translate::Translator;
use super::verify::{Options, Verifier};
use crate::event::{Envelope, Event, EventType, Received};
use crate::schema::UnknownWords;
use std::borrow::Cow;

const UNREADABLE: &str = "unreadable";
const AFTER_ITS_TIME: &str = "the peer's release knows no subagents, dropped";

/// Translates, enforces, expands, verifies and folds a stream of events, as the reference client does.
///
/// ```
/// use threadline_protocol::stages::consumer::Consumer;
/// use threadline_protocol::stages::fold::Fold;
///
/// let mut consumer = Consumer::new(Fold::new());
/// for json in [
///     r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
///     r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"Hello"}"#,
///     r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#,
/// ] {
///     consumer.push(json, |_| {})?;
/// }
/// let message = consumer.fold().messages().next().expect("there is one");
/// assert_eq!(message.to_json(), r#"{"role":"assistant","id":"m","content":"Hello"}"#);
/// # Ok::<(), threadline_protocol::stages::consumer::Stop>(())
/// ```
#[derive(Clone, Debug)]
pub struct Consumer {
    translator: Translator,
    expander: Expander,
    verifier: Verifier,
    fold: Fold,
    peer: Option<PeerVersion>,
    position: u64,
    notices: Vec<Notice>,
}

/// Something about an event that did not keep it, or all of it, from being delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Which event of the stream, from 0.
    pub position: u64,
    /// Where in the event, as a JSON pointer; empty for the event as a whole.
    pub path: String,
    /// What.
    pub message: String,
}

/// Why the reference client would end the stream. A consumer that goes on has skipped the event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}. rule={rule}, event={position}")]
pub struct Stop {
    /// A stable word for the rule: that of the verifier, of the expander, or `unreadable`, `malformed` or `refused`.
    pub rule: &'static str,
    /// The same for people.
    pub message: String,
    /// Which event of the stream, from 0.
    pub position: u64,
}

impl Stop {
    /// Whether the text is no event at all.
    #[must_use]
    pub fn is_unreadable(&self) -> bool {
        self.rule == UNREADABLE
    }
}

impl Consumer {
    /// Begins with what a client holds.
    #[must_use]
    pub fn new(fold: Fold) -> Self {
        Self {
            translator: Translator::new(),
            expander: Expander::new(),
            verifier: Verifier::new(Options::new()),
            fold,
            peer: None,
            position: 0,
            notices: Vec::new(),
        }
    }

    /// Reads the stream as one of a peer that is known to be of this release.
    #[must_use]
    pub const fn with_peer_version(mut self, peer: PeerVersion) -> Self {
        self.peer = Some(peer);
        self
    }

    /// What a client holds after the events so far.
    #[must_use]
    pub const fn fold(&self) -> &Fold {
        &self.fold
    }

    /// What a client holds when the stream is over. Another stream begins with it.
    #[must_use]
    pub fn into_fold(self) -> Fold {
        self.fold
    }

    /// What a client holds, to add to it what no event tells of.
    pub const fn fold_mut(&mut self) -> &mut Fold {
        &mut self.fold
    }

    /// What was noticed since it was last taken, for who does not want it kept.
    #[must_use]
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// What was noticed so far.
    #[must_use]
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Takes the next event, and shows `each` what is delivered of it.
    ///
    /// # Errors
    /// If the reference client would end the stream here.
    pub fn push(&mut self, json: &str, each: impl FnMut(&Event<'_>)) -> Result<(), Stop> {
        let result = self.deliver(json, each);
        self.position += 1;
        result
    }

    fn deliver(&mut self, json: &str, mut each: impl FnMut(&Event<'_>)) -> Result<(), Stop> {
        let position = self.position;
        let stop = |rule, message: String| Stop { rule, message, position };
        let read = match Received::read(json) {
            Ok(read) => read,
            Err(error) if error.is_unreadable() => return Err(stop(UNREADABLE, error.to_string())),
            Err(_) if self.is_dropped(json) => {
                self.notice("", AFTER_ITS_TIME.to_owned());
                return Ok(());
            }
            Err(error) => return Err(stop("malformed", error.to_string())),
        };
        let mut translated =
            self.translator.translate(read).map_err(|error| stop("malformed", error.to_string()))?;
        if let Some(peer) = self.peer {
            match peer.bound(translated.event) {
                Some(bound) => translated.event = bound,
                None => {
                    self.notice("", AFTER_ITS_TIME.to_owned());
                    return Ok(());
                }
            }
        }
        for change in translated.changes {
            // That an old shape was understood is nothing to warn of.
            if change.is_loss() {
                self.notice(&change.pointer, change.to_string());
            }
        }
        // Known names need no copy, and nearly all are known.
        let type_name = match translated.event.event() {
            Event::Unknown(unknown) => Cow::Owned(unknown.event_type().to_string()),
            known => Cow::Borrowed(known.event_type().map_or("", EventType::as_str)),
        };
        let event = match enforce(translated.event, UnknownWords::Refuse) {
            Verdict::Kept { event, removed } => {
                for path in removed {
                    self.notice(&path, format!("unknown, stripped. path={path}"));
                }
                event.into_event()
            }
            Verdict::Dropped => {
                self.notice("", format!("unknown event, dropped. type={type_name}"));
                return Ok(());
            }
            Verdict::Refused(departure) => return Err(stop("refused", departure.to_string())),
        };
        let expanded =
            self.expander.expand(&event).map_err(|error| stop(error.rule.name(), error.to_string()))?;
        for event in expanded.iter() {
            for violation in self.verifier.check(event) {
                if violation.is_error() {
                    return Err(stop(violation.rule.name(), violation.to_string()));
                }
                self.notices.push(Notice { position, path: String::new(), message: violation.to_string() });
            }
            each(event);
            if let Err(warning) = self.fold.apply(event) {
                self.notices.push(Notice { position, path: String::new(), message: warning.to_string() });
            }
        }
        Ok(())
    }

    /// Whether an event that cannot be read means nothing from this peer.
    fn is_dropped(&self, json: &str) -> bool {
        let event_type = Envelope::read(json).ok().and_then(|envelope| envelope.event_type());
        self.peer.zip(event_type).is_some_and(|(peer, event_type)| peer.drops(event_type))
    }

    fn notice(&mut self, path: &str, message: String) {
        self.notices.push(Notice { position: self.position, path: path.to_owned(), message });
    }
}
