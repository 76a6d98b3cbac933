//! Events from wherever they are.

use crate::args::{InputFormat, SourceArgs};
use crate::progress::Progress;
use crate::report::{Entry, Failure, Report, Severity};
use crate::sink::JsonSink;
use crate::translate;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use threadline_protocol::codec::{self, Format, InputDecoder, Payload, Place};
use threadline_protocol::proto::{self, Decoded};
use threadline_protocol::stages::translate::{Change, Translated, Translator};
use threadline_protocol::{Envelope, Limits, ReadError, Received};

/// How much is read at a time.
const CHUNK_BYTES: usize = 64 * 1024;

/// What a command does with events.
pub(crate) trait Command {
    /// Whether it writes nothing before the last event was taken, so that a terminal is free for something else.
    const PRINTS_AT_THE_END: bool = false;

    /// How large a line and an event may be.
    fn limits() -> Limits {
        Limits::default()
    }

    /// Takes the next event. That the text is one is for the command to see.
    fn event(&mut self, json: &str, place: Place, report: &mut Report<'_>) -> Result<(), Failure>;

    /// Takes a part of the input that holds no event, or not all of one.
    fn no_event(&mut self, place: Place, entry: &Entry<'_>, report: &mut Report<'_>) -> Result<(), Failure> {
        report.say(place, entry)
    }

    /// Takes note that the next event came as protobuf, so that its text is ours.
    fn transcoded(&mut self) {}

    /// Takes note of the first event that a client would not tell from the one before. Comes after all events.
    fn joined(&mut self, _place: Place) {}

    /// Everything that has arrived was taken, and what follows may take its time: whoever waits should see the results.
    fn idle(&mut self) -> Result<(), Failure>;

    /// There are no more events, or none that can be read.
    fn finish(self, report: &mut Report<'_>) -> Result<(), Failure>;
}

/// Hands every event of the input to the command, in order.
pub(crate) fn run(
    options: &SourceArgs,
    report: &mut Report<'_>,
    command: impl Command,
) -> Result<(), Failure> {
    run_opened(open(options)?, options, report, command)
}

/// The same with an input that was opened, for who has to know first that it is there.
pub(crate) fn run_opened(
    mut input: impl Read,
    options: &SourceArgs,
    report: &mut Report<'_>,
    mut command: impl Command,
) -> Result<(), Failure> {
    let result = feed(&mut input, options, report, &mut command);
    let finished = command.finish(report);
    match (result, finished) {
        // That results could not be written matters more than that some could not be made.
        (Err(Failure::Unreadable), Err(failure)) => Err(failure),
        (result, finished) => result.and(finished),
    }
}

fn feed<C: Command>(
    input: &mut impl Read,
    options: &SourceArgs,
    report: &mut Report<'_>,
    command: &mut C,
) -> Result<(), Failure> {
    let mut progress = Progress::of(options, C::PRINTS_AT_THE_END);
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut read = || {
        input
            .read(&mut chunk)
            .map(|len| chunk[..len].to_vec())
            .map_err(|error| Failure::read(&options.input, error))
    };
    let mut bytes = read()?;
    let mut decoder = match options.from {
        Some(InputFormat::Json) => {
            // Whitespace may come first, and any amount of it.
            while bytes.iter().all(u8::is_ascii_whitespace) {
                let more = read()?;
                if more.is_empty() {
                    break;
                }
                bytes = more;
            }
            let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes).trim_ascii_start();
            let format = if text.starts_with(b"[") { Format::JsonArray } else { Format::JsonDocument };
            InputDecoder::with_format(format, C::limits())
        }
        Some(InputFormat::Jsonl) => InputDecoder::with_format(Format::Jsonl, C::limits()),
        Some(InputFormat::Sse) => InputDecoder::with_format(Format::Sse, C::limits()),
        Some(InputFormat::Proto) => InputDecoder::with_format(Format::Proto, C::limits()),
        None => InputDecoder::new(C::limits()),
    };
    loop {
        if bytes.is_empty() {
            decoder.finish();
        } else {
            decoder.push(&bytes);
        }
        let format = decoder.format();
        while let Some(payload) = decoder.next_event() {
            match payload {
                Ok(payload) => {
                    if let Some(json) = json_of(payload, format, command, report)? {
                        command.event(&json, payload.place, report)?;
                    }
                }
                Err(error) => {
                    let entry = Entry::unreadable("undecodable", &reason(&error));
                    command.no_event(error.place(), &entry, report)?;
                }
            }
        }
        if bytes.is_empty() {
            if let Some(place) = decoder.joined() {
                command.joined(place);
            }
            return Ok(());
        }
        command.idle()?;
        report.flush();
        if let Some(line) = progress.as_mut().and_then(|progress| progress.advance(bytes.len())) {
            report.show_progress(&line);
        }
        bytes = read()?;
    }
}

/// What is wrong, without the place, which the report says.
fn reason(error: &codec::DecodeError) -> String {
    let message = error.to_string();
    let reason = message.strip_suffix(&format!("at {}", error.place())).unwrap_or(&message);
    reason.trim_end_matches([',', '.', ' ']).to_owned()
}

/// An event as far as it could be read.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "the large variant is the usual one")]
pub(crate) enum Parsed<'a> {
    Event(Received<'a>),
    /// A known field is malformed.
    Malformed {
        event_type: String,
        error: ReadError,
    },
}

/// Reads an event. A text that is none is reported, and nothing is given.
pub(crate) fn parse<'a>(
    json: &'a str,
    place: Place,
    report: &mut Report<'_>,
) -> Result<Option<Parsed<'a>>, Failure> {
    let error = match Received::read(json) {
        Ok(received) => return Ok(Some(Parsed::Event(received))),
        Err(error) => error,
    };
    match Envelope::read(json) {
        Ok(envelope) => Ok(Some(Parsed::Malformed { event_type: envelope.type_name().to_string(), error })),
        Err(error) => {
            report.say(place, &Entry::unreadable("not_an_event", &error))?;
            Ok(None)
        }
    }
}

/// Reads an event. One that is malformed is reported and goes to the output as it is.
pub(crate) fn parse_or_pass<'a>(
    json: &'a str,
    sink: &mut JsonSink,
    place: Place,
    report: &mut Report<'_>,
) -> Result<Option<Received<'a>>, Failure> {
    match parse(json, place, report)? {
        Some(Parsed::Event(received)) => Ok(Some(received)),
        Some(Parsed::Malformed { event_type, error }) => {
            sink.event(json)?;
            let message = format!("malformed, left as it is: {error}");
            report.say(place, &Entry::finding("malformed", &event_type, error.pointer(), &message))?;
            Ok(None)
        }
        None => Ok(None),
    }
}

/// Puts an event into the words of 1.0, and reports those of the changes that `matter`. One that is malformed in these words
/// is reported and left out.
pub(crate) fn translated<'a>(
    (received, json): (Received<'a>, &str),
    translator: &mut Translator,
    matter: fn(&Change) -> bool,
    place: Place,
    report: &mut Report<'_>,
) -> Result<Option<Received<'a>>, Failure> {
    match translator.translate(received) {
        Ok(Translated { event, mut changes }) => {
            changes.retain(matter);
            if !changes.is_empty() {
                translate::say_changes(&changes, place, &type_of(json), report)?;
            }
            Ok(Some(event))
        }
        Err(error) => left_out(&type_of(json), &error, place, report).map(|()| None),
    }
}

/// Reports an event that is malformed and goes nowhere.
pub(crate) fn left_out(
    event_type: &str,
    error: &ReadError,
    place: Place,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let message = format!("malformed, left out: {error}");
    report.say(place, &Entry::finding("malformed", event_type, error.pointer(), &message))
}

/// The type of an event that was read.
fn type_of(json: &str) -> String {
    Envelope::read(json).map(|envelope| envelope.type_name().to_string()).unwrap_or_default()
}

/// Opens the input.
pub(crate) fn open(options: &SourceArgs) -> Result<Box<dyn Read>, Failure> {
    if options.input.as_os_str() == "-" {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            writeln!(io::stderr().lock(), "threadline: reading events from the terminal, Ctrl-D ends them")
                .map_err(Failure::write)?;
        }
        return Ok(Box::new(stdin.lock()));
    }
    let failed = |error| Failure::read(&options.input, error);
    let file = File::open(&options.input).map_err(failed)?;
    // A directory can be opened, and not read.
    match file.metadata().map_err(failed)?.is_dir() {
        true => Err(failed(io::ErrorKind::IsADirectory.into())),
        false => Ok(Box::new(file)),
    }
}

fn json_of<'a>(
    payload: Payload<'a>,
    format: Option<Format>,
    command: &mut impl Command,
    report: &mut Report<'_>,
) -> Result<Option<Cow<'a, str>>, Failure> {
    let Payload { bytes, place } = payload;
    if format == Some(Format::Proto) {
        command.transcoded();
        return json_of_proto(bytes, place, command, report).map(|json| json.map(Cow::Owned));
    }
    match std::str::from_utf8(bytes) {
        Ok(json) => Ok(Some(Cow::Borrowed(json))),
        Err(error) => {
            let message = format!("not UTF-8. byte={}", error.valid_up_to());
            command.no_event(place, &Entry::unreadable("not_utf8", &message), report)?;
            Ok(None)
        }
    }
}

fn json_of_proto(
    bytes: &[u8],
    place: Place,
    command: &mut impl Command,
    report: &mut Report<'_>,
) -> Result<Option<String>, Failure> {
    match proto::decode(bytes) {
        Ok(Decoded::Event { event, dropped }) => {
            let event_type = event.event().type_name().to_string();
            for path in &dropped {
                let message = format!("content part of an unknown kind, left out. path={path}");
                let entry = Entry::finding("lost", &event_type, path, &message);
                command.no_event(place, &entry, report)?;
            }
            Ok(Some(event.json().to_owned()))
        }
        Ok(Decoded::UnknownArm) => {
            let message = "event of a type that has no name in protobuf, skipped".to_owned();
            let entry = Entry {
                severity: Severity::Finding,
                code: "unknown_event",
                event_type: None,
                path: "",
                message,
            };
            command.no_event(place, &entry, report)?;
            Ok(None)
        }
        Err(proto::DecodeError::Field(error)) => {
            let (severity, path, message) = (Severity::Finding, error.pointer(), error.to_string());
            let entry = Entry { severity, code: "malformed", event_type: None, path, message };
            command.no_event(place, &entry, report)?;
            Ok(None)
        }
        Err(error) => {
            command.no_event(place, &Entry::unreadable("not_protobuf", &error), report)?;
            Ok(None)
        }
    }
}
