//! `threadline translate`: events of 0.x in the words of 1.0.

use crate::args::CommonArgs;
use crate::report::{Failure, Report, Severity};
use crate::sink::{JsonSink, Layout};
use threadline_protocol::Received;
use threadline_protocol::stages::translate::{ChangeKind, Translator};

pub(crate) fn run(options: &CommonArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let mut sink = JsonSink::new(Layout::Lines);
    let mut translator = Translator::new();
    let result = crate::events::for_each(options, report, |json, place, report| {
        let read = Received::read(json);
        let event_type =
            read.as_ref().map(|received| received.event().type_name().to_str().into_owned()).ok();
        match read.and_then(|received| translator.translate(received)) {
            Ok(translated) => {
                sink.event(translated.event.json())?;
                for change in &translated.changes {
                    let (severity, code) = match change.kind {
                        ChangeKind::Lost => (Severity::Finding, "lost"),
                        ChangeKind::Orphaned => (Severity::Finding, "orphaned"),
                        _ => (Severity::Note, "translated"),
                    };
                    report.say(
                        severity,
                        code,
                        place,
                        event_type.as_deref(),
                        &change.pointer,
                        &change.to_string(),
                    )?;
                }
                Ok(())
            }
            Err(error) if error.is_unreadable() => {
                report.say(Severity::Unreadable, "not_an_event", place, None, "", &error.to_string())
            }
            // Whether it may be seen is for enforce to say.
            Err(error) => {
                sink.event(json)?;
                let message = format!("malformed, left as it is: {error}");
                report.say(
                    Severity::Finding,
                    "malformed",
                    place,
                    event_type.as_deref(),
                    error.pointer(),
                    &message,
                )
            }
        }
    });
    sink.finish()?;
    result
}
