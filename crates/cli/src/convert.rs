//! `threadline convert`: the same events in another format.

use crate::args::{ConvertArgs, OutputFormat};
use crate::events::{self, Parsed};
use crate::report::{Failure, Report, Severity};
use crate::sink::{JsonSink, Layout, ProtoSink};
use threadline_protocol::Envelope;
use threadline_protocol::codec::Place;
use threadline_protocol::proto;

pub(crate) fn run(options: &ConvertArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    match options.to {
        OutputFormat::Jsonl => to_json(options, report, Layout::Lines),
        OutputFormat::Json => to_json(options, report, Layout::Array),
        OutputFormat::Sse => to_json(options, report, Layout::Sse),
        OutputFormat::Proto => to_proto(options, report),
    }
}

fn to_json(options: &ConvertArgs, report: &mut Report<'_>, layout: Layout) -> Result<(), Failure> {
    let mut sink = JsonSink::new(layout);
    let result =
        events::for_each(&options.common, report, |json, place, report| match Envelope::read(json) {
            Ok(_) => sink.event(json),
            Err(error) => {
                report.say(Severity::Unreadable, "not_an_event", place, None, "", &error.to_string())
            }
        });
    sink.finish()?;
    result
}

fn to_proto(options: &ConvertArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let mut sink = ProtoSink::new();
    let result = events::for_each(&options.common, report, |json, place, report| {
        event_to_proto(json, place, report, &mut sink)
    });
    sink.finish()?;
    result
}

fn event_to_proto(
    json: &str,
    place: Place,
    report: &mut Report<'_>,
    sink: &mut ProtoSink,
) -> Result<(), Failure> {
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
            sink.event(&encoded.bytes)?;
            for path in &encoded.lost {
                let message = format!("protobuf cannot carry this, left out. path={path}");
                report.say(Severity::Finding, "lost", place, Some(&event_type), path, &message)?;
            }
            Ok(())
        }
        Err(error) => {
            report.say(Severity::Finding, "not_encodable", place, Some(&event_type), "", &error.to_string())
        }
    }
}
