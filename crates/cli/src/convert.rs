//! `threadline convert`: the same events in another format.

use crate::args::{ConvertArgs, OutputFormat};
use crate::events::{self, Command, Parsed};
use crate::report::{Failure, Report, Severity};
use crate::sink::{JsonSink, Layout, ProtoSink};
use threadline_protocol::Envelope;
use threadline_protocol::codec::Place;
use threadline_protocol::proto;

pub(crate) fn run(options: &ConvertArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let layout = match options.to {
        OutputFormat::Jsonl => Layout::Lines,
        OutputFormat::Json => Layout::Array,
        OutputFormat::Sse => Layout::Sse,
        OutputFormat::Proto => return events::run(&options.common, report, ToProto(ProtoSink::new())),
    };
    events::run(&options.common, report, ToJson(JsonSink::new(layout)))
}

struct ToJson(JsonSink);

impl Command for ToJson {
    fn event(&mut self, json: &str, place: Place, report: &mut Report<'_>) -> Result<(), Failure> {
        match Envelope::read(json) {
            Ok(_) => self.0.event(json),
            Err(error) => {
                report.say(Severity::Unreadable, "not_an_event", place, None, "", &error.to_string())
            }
        }
    }

    fn idle(&mut self) -> Result<(), Failure> {
        self.0.flush()
    }

    fn finish(self) -> Result<(), Failure> {
        self.0.finish()
    }
}

struct ToProto(ProtoSink);

impl Command for ToProto {
    fn event(&mut self, json: &str, place: Place, report: &mut Report<'_>) -> Result<(), Failure> {
        let received = match events::parse(json, place, report)? {
            Some(Parsed::Event(received)) => received,
            Some(Parsed::Malformed { event_type, error }) => {
                let message = format!("left out: {error}");
                return report.say(
                    Severity::Finding,
                    "malformed",
                    place,
                    Some(&event_type),
                    error.pointer(),
                    &message,
                );
            }
            None => return Ok(()),
        };
        let event_type = received.event().type_name();
        let event_type = event_type.to_str();
        match proto::encode(received.event()) {
            Ok(encoded) => {
                self.0.event(&encoded.bytes)?;
                for path in &encoded.lost {
                    let message = format!("protobuf cannot carry this, left out. path={path}");
                    report.say(Severity::Finding, "lost", place, Some(&event_type), path, &message)?;
                }
                Ok(())
            }
            Err(error) => report.say(
                Severity::Finding,
                "not_encodable",
                place,
                Some(&event_type),
                "",
                &error.to_string(),
            ),
        }
    }

    fn idle(&mut self) -> Result<(), Failure> {
        self.0.flush()
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.0.flush()
    }
}
