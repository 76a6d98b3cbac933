//! `threadline fold`: what a client holds after a stream.

use crate::args::FoldArgs;
use crate::events::{self, Command};
use crate::report::{Entry, Failure, Report, Severity};
use serde::Serialize;
use serde_json::value::RawValue;
use std::io::{self, Write};
use threadline_protocol::codec::Place;
use threadline_protocol::stages::consumer::{Consumer, Stop};
use threadline_protocol::stages::fold::Fold as Held;
use threadline_protocol::{EventType, RunAgentInput, Text};

pub(crate) fn run(options: &FoldArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let held = match &options.input_file {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| Failure::read(path, error))?;
            let (input, _) =
                RunAgentInput::read_json(&text).map_err(|error| Failure::invalid(path, &error))?;
            Held::from_input(&input)
        }
        None => Held::new(),
    };
    let mut consumer = Consumer::new(held);
    if let Some(peer) = options.peer_version {
        consumer = consumer.with_peer_version(peer);
    }
    let fold = Fold { consumer, types: Vec::new(), stop: None, lenient: options.lenient };
    events::run(&options.common.source, report, fold)
}

struct Fold {
    consumer: Consumer,
    types: Vec<EventType>,
    stop: Option<Stop>,
    lenient: bool,
}

impl Command for Fold {
    const PRINTS_AT_THE_END: bool = true;

    fn event(&mut self, json: &str, place: Place, report: &mut Report<'_>) -> Result<(), Failure> {
        // The reference client has hung up.
        if self.stop.is_some() && !self.lenient {
            return Ok(());
        }
        let types = &mut self.types;
        let Err(stop) = self.consumer.push(json, |event| types.extend(event.event_type())) else {
            return Ok(());
        };
        let message = stop.message.clone();
        let severity = match stop.is_unreadable() && !self.lenient {
            true => Severity::Unreadable,
            false => Severity::Finding,
        };
        let entry = Entry { severity, code: stop.rule, event_type: None, path: "", message };
        self.stop.get_or_insert(stop);
        report.say(place, &entry)
    }

    fn idle(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn finish(self, _report: &mut Report<'_>) -> Result<(), Failure> {
        let result = Folded::new(&self).map_err(io::Error::from).map_err(Failure::write)?;
        let mut out = io::stdout().lock();
        serde_json::to_writer_pretty(&mut out, &result).map_err(io::Error::from).map_err(Failure::write)?;
        out.write_all(b"\n").map_err(Failure::write)
    }
}

/// What is printed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Folded {
    /// How the reference client would end: "completed" or "failed".
    outcome: &'static str,
    error: Option<Error>,
    messages: Vec<Box<RawValue>>,
    state: Box<RawValue>,
    interrupts: Vec<Box<RawValue>>,
    pending_tool_calls: Vec<Box<RawValue>>,
    usage: Vec<Box<RawValue>>,
    runs: Vec<Box<RawValue>>,
    event_types: Vec<&'static str>,
    warnings: Vec<Warning>,
}

#[derive(Serialize)]
struct Error {
    rule: &'static str,
    message: String,
    position: u64,
}

#[derive(Serialize)]
struct Warning {
    position: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    path: String,
    message: String,
}

impl Folded {
    fn new(fold: &Fold) -> serde_json::Result<Self> {
        let held = fold.consumer.fold();
        let raw = RawValue::from_string;
        let pending = held.pending_tool_calls();
        let notices = fold.consumer.notices().iter().cloned();
        Ok(Self {
            outcome: if fold.stop.is_some() { "failed" } else { "completed" },
            error: fold.stop.clone().map(|Stop { rule, message, position }| Error {
                rule,
                message,
                position,
            }),
            messages: held.messages().map(|message| raw(message.to_json())).collect::<Result<_, _>>()?,
            state: raw(held.state().as_str().to_owned())?,
            interrupts: held
                .interrupts()
                .iter()
                .map(|interrupt| raw(interrupt.to_json()))
                .collect::<Result<_, _>>()?,
            pending_tool_calls: pending.iter().map(Text::to_json).map(raw).collect::<Result<_, _>>()?,
            usage: held.usage().iter().map(|usage| raw(usage.to_json())).collect::<Result<_, _>>()?,
            runs: held.runs().iter().map(|run| raw(run.to_json())).collect::<Result<_, _>>()?,
            event_types: fold.types.iter().map(|event_type| event_type.as_str()).collect(),
            warnings: notices
                .map(|notice| Warning {
                    position: notice.position,
                    path: notice.path,
                    message: notice.message,
                })
                .collect(),
        })
    }
}
