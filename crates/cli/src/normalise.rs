//! `threadline normalise`: runs without the messages that the runs before them hold.

use crate::args::CommonArgs;
use crate::events::{self, Command};
use crate::report::{Entry, Failure, Report, Severity};
use crate::sink::{JsonSink, Layout};
use threadline_protocol::codec::Place;
use threadline_protocol::stages::normalise::Normaliser;

pub(crate) fn run(options: &CommonArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let normalise = Normalise { normaliser: Normaliser::new(), sink: JsonSink::new(Layout::Lines) };
    events::run(&options.source, report, normalise)
}

struct Normalise {
    normaliser: Normaliser,
    sink: JsonSink,
}

impl Command for Normalise {
    fn event(&mut self, json: &str, place: Place, report: &mut Report<'_>) -> Result<(), Failure> {
        let Some(received) = events::parse_or_pass(json, &mut self.sink, place, report)? else {
            return Ok(());
        };
        let normalised = self.normaliser.normalise(received.event());
        self.sink.output(&normalised.output, json)?;
        if normalised.removed.is_empty() {
            return Ok(());
        }
        let message = format!("messages removed that its ancestors hold: {}", normalised.removed.len());
        let (severity, code, path) = (Severity::Note, "normalised", "/input/messages");
        report.say(place, &Entry { severity, code, event_type: Some("RUN_STARTED"), path, message })
    }

    fn idle(&mut self) -> Result<(), Failure> {
        self.sink.flush()
    }

    fn finish(self, _report: &mut Report<'_>) -> Result<(), Failure> {
        self.sink.finish()
    }
}
