//! `threadline translate`: events of 0.x in the words of 1.0.

use crate::args::CommonArgs;
use crate::events::{self, Command, Parsed};
use crate::report::{Entry, Failure, Report, Severity};
use crate::sink::{JsonSink, Layout};
use threadline_protocol::codec::Place;
use threadline_protocol::stages::translate::{Change, ChangeKind, Translator};

pub(crate) fn run(options: &CommonArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let translate = Translate { translator: Translator::new(), sink: JsonSink::new(Layout::Lines) };
    events::run(&options.source, report, translate)
}

struct Translate {
    translator: Translator,
    sink: JsonSink,
}

impl Command for Translate {
    fn event(&mut self, json: &str, place: Place, report: &mut Report<'_>) -> Result<(), Failure> {
        let (event_type, error) = match events::parse(json, place, report)? {
            Some(Parsed::Event(received)) => {
                let event_type = received.event().type_name().to_string();
                match self.translator.translate(received) {
                    Ok(translated) => {
                        self.sink.event(translated.event.json())?;
                        return say_changes(&translated.changes, place, &event_type, report);
                    }
                    Err(error) => (event_type, error),
                }
            }
            Some(Parsed::Malformed { event_type, error }) => (event_type, error),
            None => return Ok(()),
        };
        // Whether it may be seen is for enforce to say.
        self.sink.event(json)?;
        let message = format!("malformed, left as it is: {error}");
        report.say(place, &Entry::finding("malformed", &event_type, error.pointer(), &message))
    }

    fn idle(&mut self) -> Result<(), Failure> {
        self.sink.flush()
    }

    fn finish(self, _report: &mut Report<'_>) -> Result<(), Failure> {
        self.sink.finish()
    }
}

pub(crate) fn say_changes(
    changes: &[Change],
    place: Place,
    event_type: &str,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    for change in changes {
        let (severity, code) = match change.kind {
            ChangeKind::Lost => (Severity::Finding, "lost"),
            ChangeKind::Orphaned => (Severity::Finding, "orphaned"),
            _ => (Severity::Note, "translated"),
        };
        let (path, message) = (change.pointer.as_str(), change.to_string());
        report.say(place, &Entry { severity, code, event_type: Some(event_type), path, message })?;
    }
    Ok(())
}
