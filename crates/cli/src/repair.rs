//! `threadline repair`: a stream that breaks rules, made legal.

use crate::args::CommonArgs;
use crate::events::{self, Command, Parsed};
use crate::report::{Entry, Failure, Report};
use crate::sink::{JsonSink, Layout};
use threadline_protocol::codec::Place;
use threadline_protocol::stages::repair::{Change, Repairer, without_malformed, without_refusals};
use threadline_protocol::stages::translate::Translator;
use threadline_protocol::{EventType, Received};

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
        let mended;
        let read = match events::parse(json, place, report)? {
            Some(Parsed::Event(received)) => (received, json),
            Some(Parsed::Malformed { event_type, error }) => {
                let Some((text, errors)) = without_malformed(json) else {
                    return events::left_out(&event_type, &error, place, report);
                };
                for error in errors {
                    let message = format!("altered: {error}");
                    report
                        .say(place, &Entry::finding("malformed", &event_type, error.pointer(), &message))?;
                }
                mended = text;
                match Received::read(&mended) {
                    Ok(received) => (received, mended.as_str()),
                    Err(error) => return events::left_out(&event_type, &error, place, report),
                }
            }
            None => return Ok(()),
        };
        let translated = events::translated(read, &mut self.translator, |_| true, place, report)?;
        let Some(received) = translated else { return Ok(()) };
        let event_type = received.event().event_type();
        let (received, refused) = without_refusals(received);
        let action = if received.is_some() { "altered" } else { "dropped" };
        for departure in &refused {
            let message = format!("{action}: {departure}");
            report.say(place, &Entry::finding("refused", name(event_type), &departure.pointer, &message))?;
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
    let message = format!("{}: {}", change.action.name(), change.reason);
    report.say(place, &Entry::finding(change.rule, name(change.event_type), "", &message))
}

/// The type of an event, of which those that 1.0 does not have are never changed.
fn name(event_type: Option<EventType>) -> &'static str {
    event_type.map_or("event", EventType::as_str)
}
