//! `threadline translate`: events of 0.x in the words of 1.0.

use crate::args::CommonArgs;
use crate::events::{self, Parsed};
use crate::report::{Failure, Report, Severity};
use crate::sink::{JsonSink, Layout};
use threadline_protocol::codec::Place;
use threadline_protocol::stages::translate::{Change, ChangeKind, Translator};

pub(crate) fn run(options: &CommonArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let mut sink = JsonSink::new(Layout::Lines);
    let mut translator = Translator::new();
    let result = events::for_each(options, report, |json, place, report| {
        let (event_type, error) = match events::parse(json, place, report)? {
            Some(Parsed::Event(received)) => {
                let event_type = received.event().type_name().to_string();
                match translator.translate(received) {
                    Ok(translated) => {
                        sink.event(translated.event.json())?;
                        return say_changes(&translated.changes, place, &event_type, report);
                    }
                    Err(error) => (event_type, error),
                }
            }
            Some(Parsed::Malformed { event_type, error }) => (event_type, error),
            None => return Ok(()),
        };
        // Whether it may be seen is for enforce to say.
        sink.event(json)?;
        let message = format!("malformed, left as it is: {error}");
        report.say(Severity::Finding, "malformed", place, Some(&event_type), error.pointer(), &message)
    });
    sink.finish()?;
    result
}

fn say_changes(
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
        report.say(severity, code, place, Some(event_type), &change.pointer, &change.to_string())?;
    }
    Ok(())
}
