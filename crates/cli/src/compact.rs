//! `threadline compact`: an equivalent, shorter stream.

use crate::args::CompactArgs;
use crate::events::{self, Command, Parsed};
use crate::report::{Entry, Failure, Report};
use crate::sink::{JsonSink, Layout};
use std::io;
use threadline_protocol::codec::Place;
use threadline_protocol::stages::compact::compact;
use threadline_protocol::stages::expand::Expander;
use threadline_protocol::{Event, Json};

pub(crate) fn run(options: &CompactArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let base = match &options.base_state {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| Failure::read(path, error))?;
            let json = Json::parse(&text).map(Json::into_owned);
            Some(
                json.map_err(|error| Failure::read(path, io::Error::new(io::ErrorKind::InvalidData, error)))?,
            )
        }
        None => None,
    };
    events::run(&options.common, report, Compact { base, expander: Expander::new(), events: Vec::new() })
}

struct Compact {
    base: Option<Json<'static>>,
    expander: Expander,
    events: Vec<Event<'static>>,
}

impl Command for Compact {
    fn event(&mut self, json: &str, place: Place, report: &mut Report<'_>) -> Result<(), Failure> {
        let event = match events::parse(json, place, report)? {
            Some(Parsed::Event(received)) => received.into_event(),
            Some(Parsed::Malformed { event_type, error }) => {
                let message = format!("left out: {error}");
                return report
                    .say(place, &Entry::finding("malformed", &event_type, error.pointer(), &message));
            }
            None => return Ok(()),
        };
        match self.expander.expand(&event) {
            Ok(expanded) => {
                self.events.extend(expanded.iter().cloned().map(Event::into_owned));
                Ok(())
            }
            Err(error) => {
                let event_type = event.type_name();
                let message = format!("left out: {error}");
                report.say(place, &Entry::finding(error.rule.name(), &event_type.to_str(), "", &message))
            }
        }
    }

    fn idle(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn finish(self, _report: &mut Report<'_>) -> Result<(), Failure> {
        let mut sink = JsonSink::new(Layout::Lines);
        // Whatever could not be expanded was left out, so that this cannot fail.
        for event in compact(&self.events, self.base.as_ref()).unwrap_or_default() {
            sink.event(&event.to_json())?;
        }
        sink.finish()
    }
}
