//! One client's view of a run: records in, frames out.

use super::alias::Alias;
use super::encoding::Encoding;
use crate::cursor::{Cursor, Frame};
use threadline_log::delivery::Delivery;
use threadline_log::{Incarnation, Record, RunNo};
use threadline_protocol::codec::SseId;
use threadline_protocol::event::RunError;
use threadline_protocol::stages::downgrade::Downgrader;
use threadline_protocol::{Event, Limits};

/// What a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// How events are written.
    pub(crate) encoding: Encoding,
    /// Whether the client is of a time before 1.0.
    pub(crate) is_legacy: bool,
}

/// Shows a run to one client.
#[derive(Debug)]
pub(crate) struct View {
    incarnation: Incarnation,
    run: RunNo,
    encoding: Encoding,
    delivery: Delivery,
    downgrader: Option<Downgrader>,
    /// Changes the events of RUN_* for who reads under another id.
    alias: Option<Alias>,
}

impl View {
    /// Of a run, whose records so far went through `delivery`.
    #[must_use]
    pub(crate) fn new(dialect: Dialect, incarnation: Incarnation, run: RunNo, delivery: Delivery) -> Self {
        let downgrader = dialect.is_legacy.then(Downgrader::new);
        Self { incarnation, run, encoding: dialect.encoding, delivery, downgrader, alias: None }
    }

    /// Under the ids of a request.
    #[must_use]
    pub(crate) fn with_alias(mut self, alias: Alias) -> Self {
        self.alias = Some(alias);
        self
    }

    /// Which thread of its name it is of.
    #[must_use]
    pub(crate) const fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// The run that is shown.
    #[must_use]
    pub(crate) const fn run(&self) -> RunNo {
        self.run
    }

    /// How it is written.
    #[must_use]
    pub(crate) const fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Appends events that are not of the log: a prelude for a client that arrives after `offset`, whose last one is a place to come
    /// back to; or what is not stored yet, which is none. True if the client can be told no more.
    pub(crate) fn show_events(
        &mut self,
        out: &mut Vec<u8>,
        events: Vec<Event<'static>>,
        offset: Option<u64>,
    ) -> bool {
        let shown = self.in_dialect(events);
        let cursor = offset.and_then(|offset| self.cursor(offset, Frame::Whole));
        for (place, event) in shown.iter().enumerate() {
            let is_last = place + 1 == shown.len();
            if !self.write(out, event, cursor.as_ref().filter(|_| is_last)) {
                return true;
            }
        }
        false
    }

    /// Appends what the client sees of a record, but for the first `skip` events of it. True if the run ends with it, or the client can
    /// be told no more.
    pub(crate) fn show(&mut self, out: &mut Vec<u8>, record: &Record, skip: u32) -> bool {
        let delivered = self.delivery.push(record.kind, &record.bytes);
        let is_end = has_end(&delivered);
        let shown = self.in_dialect(delivered);
        for (count, event) in (1..).zip(&shown).skip(skip as usize) {
            let cursor = self.cursor(record.offset, Frame::Events(count));
            if !self.write(out, event, cursor.as_ref()) {
                return true;
            }
        }
        is_end
    }

    /// Appends an event. False if it has no form that the client would read: without it the client would hold something wrong, so that
    /// its stream ends with an error. The run goes on.
    fn write(&self, out: &mut Vec<u8>, event: &Event<'_>, id: Option<&SseId>) -> bool {
        if self.encoding.write(out, event, id).is_ok() {
            return true;
        }
        if let Event::RunStarted(started) = event
            && started.input.is_some()
        {
            let mut started = started.clone();
            started.input = None;
            return self.write(out, &started.into(), id);
        }
        let message = format!(
            "an event has no form in protobuf that can be read: ask for text/event-stream. type={}",
            event.type_name()
        );
        let error = Event::from(RunError::new(message).with_code("not_in_protobuf"));
        // It is short.
        let _ = self.encoding.write(out, &error, None);
        false
    }

    /// Goes past a record that the client has seen. True if the run ends with it.
    pub(crate) fn skip(&mut self, record: &Record) -> bool {
        let delivered = self.delivery.push(record.kind, &record.bytes);
        let is_end = has_end(&delivered);
        self.in_dialect(delivered);
        is_end
    }

    /// A frame that only SSE has a place for.
    fn cursor(&self, offset: u64, frame: Frame) -> Option<SseId> {
        let cursor = Cursor { incarnation: self.incarnation, run: Some(self.run), offset, frame };
        (self.encoding == Encoding::Sse && self.alias.is_none()).then(|| cursor.into())
    }

    fn in_dialect(&mut self, mut events: Vec<Event<'static>>) -> Vec<Event<'static>> {
        events.iter_mut().for_each(leave_out_large_input);
        if let Some(alias) = &self.alias {
            events.iter_mut().for_each(|event| alias.apply(event));
        }
        let Some(downgrader) = &mut self.downgrader else { return events };
        let downgraded = events.iter().filter_map(|event| {
            // What is delivered is legal, so that its chunks can be expanded.
            let output = downgrader.downgrade(event).ok()?.output;
            Some(output.iter().cloned().collect::<Vec<_>>())
        });
        downgraded.flatten().collect()
    }
}

/// A start goes without the request that it repeats, if it were larger than an event may be: readers give up on those, and
/// who sent the request has it.
fn leave_out_large_input(event: &mut Event<'static>) {
    let repeats = matches!(event, Event::RunStarted(started) if started.input.is_some());
    let is_large = repeats && event.to_json().len() > Limits::default().event_bytes_max;
    if let Event::RunStarted(started) = event
        && is_large
    {
        started.input = None;
    }
}

fn has_end(events: &[Event<'_>]) -> bool {
    events.iter().any(|event| matches!(event, Event::RunFinished(_) | Event::RunError(_)))
}
