//! `threadline expand`: chunks as starts, contents and ends.

use crate::args::CommonArgs;
use crate::events::{self, Command, Parsed};
use crate::report::{Entry, Failure, Report};
use crate::sink::{JsonSink, Layout};
use threadline_protocol::codec::Place;
use threadline_protocol::stages::expand::Expander;

pub(crate) fn run(options: &CommonArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let expand = Expand { expander: Expander::new(), sink: JsonSink::new(Layout::Lines) };
    events::run(&options.source, report, expand)
}

struct Expand {
    expander: Expander,
    sink: JsonSink,
}

impl Command for Expand {
    fn event(&mut self, json: &str, place: Place, report: &mut Report<'_>) -> Result<(), Failure> {
        let received = match events::parse(json, place, report)? {
            Some(Parsed::Event(received)) => received,
            // No chunk that could be read, so nothing to expand.
            Some(Parsed::Malformed { event_type, error }) => {
                self.sink.event(json)?;
                let message = format!("malformed, left as it is: {error}");
                return report
                    .say(place, &Entry::finding("malformed", &event_type, error.pointer(), &message));
            }
            None => return Ok(()),
        };
        let event = received.event();
        let expanded = match self.expander.expand(event) {
            Ok(expanded) => expanded,
            Err(error) => {
                let event_type = event.type_name();
                let message = format!("left out: {error}");
                return report
                    .say(place, &Entry::finding(error.rule.name(), &event_type.to_str(), "", &message));
            }
        };
        self.sink.output(expanded.output(), json)
    }

    fn idle(&mut self) -> Result<(), Failure> {
        self.sink.flush()
    }

    fn finish(self, _report: &mut Report<'_>) -> Result<(), Failure> {
        self.sink.finish()
    }
}
