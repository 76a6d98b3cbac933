//! `threadline repair`: a stream that breaks rules, made legal.

use crate::args::CommonArgs;
use crate::events::{self, Command};
use crate::report::{Entry, Failure, Report};
use crate::sink::{JsonSink, Layout};
use threadline_protocol::EventType;
use threadline_protocol::codec::Place;
use threadline_protocol::stages::repair::{Change, Repairer, without_refusals};
use threadline_protocol::stages::translate::Translator;

pub(crate) fn run(options: &CommonArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let translator = Translator::new();
    let repair =
        Repair { translator, repairer: Repairer::new(), sink: JsonSink::new(Layout::Lines), last: None };
    events::run(&options.source, report, repair)
}

struct Repair {
    /// Thoughts of 0.x are out of order as easily as those of 1.0.
    translator: Translator,
    repairer: Repairer,
    sink: JsonSink,
    /// Where the last event was.
    last: Option<Place>,
}

impl Command for Repair {
    fn event(&mut self, json: &str, place: Place, report: &mut Report<'_>) -> Result<(), Failure> {
        self.last = Some(place);
        let translated = events::parse_translated(json, &mut self.translator, place, report)?;
        let Some(received) = translated else { return Ok(()) };
        let event_type = received.event().type_name().to_string();
        let (received, refused) = without_refusals(received);
        let action = if received.is_some() { "altered" } else { "dropped" };
        for departure in &refused {
            let message = format!("{action}: {departure}");
            report.say(place, &Entry::finding("refused", &event_type, &departure.pointer, &message))?;
        }
        let Some(received) = received else { return Ok(()) };
        let repaired = self.repairer.repair(received.event());
        self.sink.output(&repaired.output, received.json())?;
        repaired.changes.iter().try_for_each(|change| say(change, place, report))
    }

    fn idle(&mut self) -> Result<(), Failure> {
        self.sink.flush()
    }

    fn finish(mut self, report: &mut Report<'_>) -> Result<(), Failure> {
        let (events, changes) = self.repairer.finish();
        for event in &events {
            self.sink.event(&event.to_json())?;
        }
        if let Some(last) = self.last {
            changes.iter().try_for_each(|change| say(change, last, report))?;
        }
        self.sink.finish()
    }
}

fn say(change: &Change, place: Place, report: &mut Report<'_>) -> Result<(), Failure> {
    let event_type = change.event_type.map_or("event", EventType::as_str);
    let message = format!("{}: {}", change.action.name(), change.reason);
    report.say(place, &Entry::finding(change.rule, event_type, "", &message))
}
