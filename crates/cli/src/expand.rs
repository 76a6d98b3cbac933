//! `threadline expand`: chunks as starts, contents and ends.

use crate::args::CommonArgs;
use crate::events::{self, Command};
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
        // One that is malformed is no chunk that could be read, so nothing to expand.
        let Some(received) = events::parse_or_pass(json, &mut self.sink, place, report)? else {
            return Ok(());
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
