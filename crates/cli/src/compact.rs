//! `threadline compact`: an equivalent, shorter stream.

use crate::args::CompactArgs;
use crate::events::{self, Command, Parsed};
use crate::report::{Entry, Failure, Report};
use crate::sink::{JsonSink, Layout};
use threadline_protocol::codec::Place;
use threadline_protocol::stages::compact::{Compactor, Form};
use threadline_protocol::stages::translate::{Change, Translator};
use threadline_protocol::{Event, Json};

pub(crate) fn run(options: &CompactArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let base = match &options.base_state {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| Failure::read(path, error))?;
            let json = Json::parse(&text).map_err(|error| Failure::invalid(path, &error))?;
            Some(json.into_owned())
        }
        None => None,
    };
    let compactor = Compactor::new(options.form(), base.as_ref());
    events::run(
        &options.common.source,
        report,
        Compact {
            translator: Translator::new(),
            compactor,
            form: options.form(),
            sink: JsonSink::new(Layout::Lines),
        },
    )
}

struct Compact {
    translator: Translator,
    compactor: Compactor<'static>,
    form: Form,
    sink: JsonSink,
}

impl Command for Compact {
    fn event(&mut self, json: &str, place: Place, report: &mut Report<'_>) -> Result<(), Failure> {
        // Chunks of 1.0 end where thoughts of 0.x begin, so that both must speak the same language.
        let received = match events::parse(json, place, report)? {
            Some(Parsed::Event(received)) => received,
            Some(Parsed::Malformed { event_type, error }) => {
                return events::left_out(&event_type, &error, place, report);
            }
            None => return Ok(()),
        };
        let read = (received, json);
        let translated = events::translated(read, &mut self.translator, Change::is_loss, place, report)?;
        let Some(received) = translated else { return Ok(()) };
        match self.compactor.push_borrowed(received.event()) {
            Ok(settled) => write(&mut self.sink, settled, self.form),
            Err(error) => {
                let event_type = received.event().type_name();
                let message = format!("left out: {error}");
                report.say(place, &Entry::finding(error.rule.name(), &event_type.to_str(), "", &message))
            }
        }
    }

    fn idle(&mut self) -> Result<(), Failure> {
        self.sink.flush()
    }

    fn finish(mut self, _report: &mut Report<'_>) -> Result<(), Failure> {
        write(&mut self.sink, self.compactor.finish(), self.form)?;
        self.sink.finish()
    }
}

fn write(sink: &mut JsonSink, events: Vec<Event<'_>>, form: Form) -> Result<(), Failure> {
    events.into_iter().try_for_each(|mut event| {
        // In this form the messages are restated, and the snapshot is nobody's but ours.
        if let (Event::MessagesSnapshot(snapshot), Form::Snapshot) = (&mut event, form) {
            snapshot.mark_synthesised();
        }
        sink.event(&event.to_json())
    })
}
