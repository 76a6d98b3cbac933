//! `threadline enforce`: what a 1.0 reader may see.

use crate::args::EnforceArgs;
use crate::events::{self, Command, Parsed};
use crate::report::{Entry, Failure, Report};
use crate::sink::{JsonSink, Layout};
use threadline_protocol::UnknownWords;
use threadline_protocol::codec::Place;
use threadline_protocol::stages::enforce::{Verdict, enforce};

pub(crate) fn run(options: &EnforceArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let enforce = Enforce { words: options.unknown_words(), sink: JsonSink::new(Layout::Lines) };
    events::run(&options.common.source, report, enforce)
}

struct Enforce {
    words: UnknownWords,
    sink: JsonSink,
}

impl Command for Enforce {
    fn event(&mut self, json: &str, place: Place, report: &mut Report<'_>) -> Result<(), Failure> {
        let received = match events::parse(json, place, report)? {
            Some(Parsed::Event(received)) => received,
            Some(Parsed::Malformed { event_type, error }) => {
                let message = format!("refused: {error}");
                return report.say(place, &Entry::finding("refused", &event_type, error.pointer(), &message));
            }
            None => return Ok(()),
        };
        let event_type = received.event().type_name().to_str().into_owned();
        match enforce(received, self.words) {
            Verdict::Kept { event, removed } => {
                self.sink.event(event.json())?;
                for path in &removed {
                    let message = format!("unknown, stripped. path={path}");
                    report.say(place, &Entry::finding("stripped", &event_type, path, &message))?;
                }
                Ok(())
            }
            Verdict::Dropped => {
                report.say(place, &Entry::finding("dropped", &event_type, "", &"unknown, dropped"))
            }
            Verdict::Refused(departure) => {
                let message = format!("refused: {departure}");
                report.say(place, &Entry::finding("refused", &event_type, &departure.pointer, &message))
            }
        }
    }

    fn idle(&mut self) -> Result<(), Failure> {
        self.sink.flush()
    }

    fn finish(self, _report: &mut Report<'_>) -> Result<(), Failure> {
        self.sink.finish()
    }
}
