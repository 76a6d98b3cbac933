//! `threadline import --server`: threads that are sent to a server.

use super::args::ImportArgs;
use super::import::{Unread, say, say_kept};
use super::remote::{Refused, Remote, Upload, escaped, failure};
use crate::events::{self, Command};
use crate::report::{Entry, Failure, Report};
use serde::Deserialize;
use std::io::Read;
use threadline_log::names::Owner;
use threadline_log::transfer::{Imported, LINE_BYTES_MAX, begins_export};
use threadline_log::{Scope, ThreadId, ThreadKey};
use threadline_protocol::codec::Place;
use threadline_protocol::{Limits, Received};

/// How many bytes of lines are sent at once.
const PIECE_BYTES: usize = 64 * 1024;

pub(super) fn run(
    args: &ImportArgs,
    input: impl Read,
    remote: &Remote,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let query = args.thread.as_ref().map(|id| format!("?thread={}", escaped(id.as_str())));
    let upload = remote.upload(format!("/v1/import{}", query.unwrap_or_default()));
    let (waiting, unread) = (Vec::new(), Unread::default());
    let lines = Lines { remote, upload, waiting, sent: 0, unread, is_export: false, is_damaged: false };
    events::run_opened(input, &args.source, report, lines)
}

/// What the server has taken in.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    app: Owner,
    user: Owner,
    thread_ids: Vec<ThreadId>,
    runs: u64,
    records: u64,
}

struct Lines<'a> {
    remote: &'a Remote,
    upload: Upload,
    waiting: Vec<u8>,
    /// How many lines that is so far.
    sent: u64,
    unread: Unread,
    /// Whether the input is an export, of which no line may be missing.
    is_export: bool,
    /// Some of the input could not be read.
    is_damaged: bool,
}

impl Lines<'_> {
    fn send(&mut self) -> Result<(), Failure> {
        let piece = std::mem::take(&mut self.waiting);
        // Why it wants no more is what it answers.
        if piece.is_empty() || self.upload.send(piece) { Ok(()) } else { Err(Failure::Unreadable) }
    }
}

impl Command for Lines<'_> {
    const PRINTS_AT_THE_END: bool = true;

    /// Lines of exports hold more than an event.
    fn limits() -> Limits {
        Limits { event_bytes_max: LINE_BYTES_MAX, line_bytes_max: LINE_BYTES_MAX }
    }

    fn event(&mut self, json: &str, place: Place, report: &mut Report<'_>) -> Result<(), Failure> {
        self.is_export |= begins_export(json);
        if !self.is_export
            && let Err(error) = Received::read(json)
        {
            self.unread.say(place, &error, report)?;
        }
        // So that what the server says of a line is about that line of the input.
        while place.line.is_some_and(|line| self.sent + 1 < line) {
            self.waiting.push(b'\n');
            self.sent += 1;
        }
        self.sent += 1;
        // Line breaks stand only between tokens, where a space means the same.
        let spaced = |byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte };
        self.waiting.extend(json.bytes().map(spaced));
        self.waiting.push(b'\n');
        if self.waiting.len() >= PIECE_BYTES { self.send() } else { Ok(()) }
    }

    fn no_event(&mut self, place: Place, entry: &Entry<'_>, report: &mut Report<'_>) -> Result<(), Failure> {
        self.is_damaged = true;
        report.say(place, entry)
    }

    fn idle(&mut self) -> Result<(), Failure> {
        self.send()
    }

    fn finish(mut self, report: &mut Report<'_>) -> Result<(), Failure> {
        // A thread of which something is missing must not look like a whole one.
        if self.is_damaged && self.is_export {
            self.upload.cut();
            return Ok(());
        }
        // If it cannot be sent, the answer says why.
        let _ = self.send();
        let told: Told = match self.remote.answer(self.upload)? {
            Ok(told) => told,
            Err(error) => {
                let details = Refused::of(&error).map(|refused| refused.details).unwrap_or_default();
                let kept = details["threadIds"].as_array().into_iter().flatten();
                let kept: Vec<String> = kept.filter_map(|id| id.as_str().map(str::to_owned)).collect();
                say_kept(&kept, report);
                return Err(failure(&error));
            }
        };
        let scope = Scope { app: told.app, user: told.user };
        let threads = told.thread_ids.into_iter().map(|id| ThreadKey::new(scope.clone(), id)).collect();
        let unreadable = self.unread.count;
        say(&Imported { threads, runs: told.runs, records: told.records, unreadable })
    }
}
