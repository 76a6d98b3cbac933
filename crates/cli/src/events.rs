//! Events from wherever they are.

use crate::args::{CommonArgs, InputFormat};
use crate::report::{Failure, Report, Severity};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use threadline_protocol::codec::{Format, InputDecoder, Payload, Place};
use threadline_protocol::proto::{self, DecodeError, Decoded};
use threadline_protocol::{Envelope, Limits, ReadError, Received};

/// How much is read at a time.
const CHUNK_BYTES: usize = 64 * 1024;

/// What a command does with events.
pub(crate) trait Command {
    /// Takes the next event. That the text is one is for the command to see.
    fn event(&mut self, json: &str, place: Place, report: &mut Report<'_>) -> Result<(), Failure>;

    /// Everything that has arrived was taken, and what follows may take its time: whoever waits should see the results.
    fn idle(&mut self) -> Result<(), Failure>;

    /// There are no more events, or none that can be read.
    fn finish(self) -> Result<(), Failure>;
}

/// Hands every event of the input to the command, in order.
pub(crate) fn run(
    options: &CommonArgs,
    report: &mut Report<'_>,
    mut command: impl Command,
) -> Result<(), Failure> {
    let result = feed(options, report, &mut command);
    command.finish()?;
    result
}

/// What is no UTF-8 or no protobuf is reported here.
fn feed(options: &CommonArgs, report: &mut Report<'_>, command: &mut impl Command) -> Result<(), Failure> {
    let mut input = open(options)?;
    let mut decoder = match options.from.and_then(InputFormat::settled) {
        Some(format) => InputDecoder::with_format(format, Limits::default()),
        None => InputDecoder::new(Limits::default()),
    };
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let len = input.read(&mut chunk).map_err(|error| Failure::read(&options.input, error))?;
        if len == 0 {
            decoder.finish();
        } else {
            decoder.push(&chunk[..len]);
        }
        let format = decoder.format();
        while let Some(payload) = decoder.next_event() {
            match payload {
                Ok(payload) => {
                    if let Some(json) = json_of(payload, format, report)? {
                        command.event(&json, payload.place, report)?;
                    }
                }
                Err(error) => {
                    report.say(
                        Severity::Unreadable,
                        "undecodable",
                        error.place(),
                        None,
                        "",
                        &error.to_string(),
                    )?;
                }
            }
        }
        if len == 0 {
            return Ok(());
        }
        command.idle()?;
    }
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
    match (Received::read(json), Envelope::read(json)) {
        (Ok(received), _) => Ok(Some(Parsed::Event(received))),
        (Err(error), Ok(envelope)) => {
            Ok(Some(Parsed::Malformed { event_type: envelope.type_name().to_string(), error }))
        }
        (Err(error), Err(_)) => {
            report.say(Severity::Unreadable, "not_an_event", place, None, "", &error.to_string())?;
            Ok(None)
        }
    }
}

fn open(options: &CommonArgs) -> Result<Box<dyn Read>, Failure> {
    if options.input.as_os_str() == "-" {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            writeln!(io::stderr().lock(), "threadline: reading events from the terminal, Ctrl-D ends them")
                .map_err(Failure::write)?;
        }
        return Ok(Box::new(stdin.lock()));
    }
    let file = File::open(&options.input).map_err(|error| Failure::read(&options.input, error))?;
    Ok(Box::new(file))
}

fn json_of<'a>(
    payload: Payload<'a>,
    format: Option<Format>,
    report: &mut Report<'_>,
) -> Result<Option<Cow<'a, str>>, Failure> {
    let Payload { bytes, place } = payload;
    if format == Some(Format::Proto) {
        return json_of_proto(bytes, place, report).map(|json| json.map(Cow::Owned));
    }
    match std::str::from_utf8(bytes) {
        Ok(json) => Ok(Some(Cow::Borrowed(json))),
        Err(error) => {
            let message = format!("not UTF-8. byte={}", error.valid_up_to());
            report.say(Severity::Unreadable, "not_utf8", place, None, "", &message)?;
            Ok(None)
        }
    }
}

fn json_of_proto(bytes: &[u8], place: Place, report: &mut Report<'_>) -> Result<Option<String>, Failure> {
    match proto::decode(bytes) {
        Ok(Decoded::Event { event, dropped }) => {
            let event_type = event.event().type_name();
            for path in &dropped {
                let message = format!("content part of an unknown kind, left out. path={path}");
                report.say(Severity::Finding, "lost", place, Some(&event_type.to_str()), path, &message)?;
            }
            Ok(Some(event.json().to_owned()))
        }
        Ok(Decoded::UnknownArm) => {
            let message = "event of a type that has no name in protobuf, skipped";
            report.say(Severity::Finding, "unknown_event", place, None, "", message)?;
            Ok(None)
        }
        Err(DecodeError::Field(error)) => {
            report.say(Severity::Finding, "malformed", place, None, error.pointer(), &error.to_string())?;
            Ok(None)
        }
        Err(error) => {
            report.say(Severity::Unreadable, "not_protobuf", place, None, "", &error.to_string())?;
            Ok(None)
        }
    }
}
