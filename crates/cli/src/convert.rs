//! `threadline convert`: the same events in another format.

use crate::args::{ConvertArgs, OutputFormat};
use crate::events::{self, Command, Parsed};
use crate::report::{Entry, Failure, Report};
use crate::sink::{FrameSink, JsonSink, Layout};
use threadline_protocol::codec::{Place, encode_prefixed};
use threadline_protocol::proto;
use threadline_protocol::{Envelope, Limits};

pub(crate) fn run(options: &ConvertArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let layout = match options.to {
        OutputFormat::Jsonl => Layout::Lines,
        OutputFormat::Json => Layout::Array,
        OutputFormat::Sse => Layout::Sse,
        OutputFormat::Proto => return events::run(&options.common.source, report, ToProto(FrameSink::new())),
    };
    events::run(&options.common.source, report, ToJson(JsonSink::new(layout)))
}

struct ToJson(JsonSink);

impl Command for ToJson {
    fn event(&mut self, json: &str, place: Place, report: &mut Report<'_>) -> Result<(), Failure> {
        match Envelope::read(json) {
            Ok(_) => self.0.event(json),
            Err(error) => report.say(place, &Entry::unreadable("not_an_event", &error)),
        }
    }

    fn idle(&mut self) -> Result<(), Failure> {
        self.0.flush()
    }

    fn finish(self, _report: &mut Report<'_>) -> Result<(), Failure> {
        self.0.finish()
    }
}

struct ToProto(FrameSink);

impl Command for ToProto {
    fn event(&mut self, json: &str, place: Place, report: &mut Report<'_>) -> Result<(), Failure> {
        let received = match events::parse(json, place, report)? {
            Some(Parsed::Event(received)) => received,
            Some(Parsed::Malformed { event_type, error }) => {
                let message = format!("left out: {error}");
                return report
                    .say(place, &Entry::finding("malformed", &event_type, error.pointer(), &message));
            }
            None => return Ok(()),
        };
        let event_type = received.event().type_name();
        let event_type = event_type.to_str();
        let left_out =
            |error: String| Entry::finding("not_encodable", &event_type, "", &format!("left out: {error}"));
        let encoded = match proto::encode(received.event()) {
            Ok(encoded) => encoded,
            Err(error) => return report.say(place, &left_out(error.to_string())),
        };
        let mut frame = Vec::with_capacity(encoded.bytes.len() + 4);
        if let Err(error) = encode_prefixed(&mut frame, &encoded.bytes, &Limits::default()) {
            return report.say(place, &left_out(error.to_string()));
        }
        self.0.frame(&frame)?;
        for path in &encoded.lost {
            let message = format!("protobuf cannot carry this, left out. path={path}");
            report.say(place, &Entry::finding("lost", &event_type, path, &message))?;
        }
        Ok(())
    }

    fn idle(&mut self) -> Result<(), Failure> {
        self.0.flush()
    }

    fn finish(mut self, _report: &mut Report<'_>) -> Result<(), Failure> {
        self.0.flush()
    }
}
