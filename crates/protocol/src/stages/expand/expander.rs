//! The stage itself.

use super::chunk::Chunk;
use super::error::ExpandError;
use super::lanes::{Lanes, Saved};
use super::stream::{Kind, Stream};
use crate::event::Event;
use crate::json::Text;
use crate::stages::Output;

/// Expands the chunks of one stream, in order.
///
/// Nothing ends when the stream does: what is still open then was cut off, and an end would say that it is complete.
///
/// ```
/// use threadline_protocol::Event;
/// use threadline_protocol::event::{RunFinished, TextMessageChunk};
/// use threadline_protocol::stages::expand::Expander;
///
/// let chunks = [
///     Event::from(TextMessageChunk::new().with_message_id("m1").with_delta("Hel")),
///     TextMessageChunk::new().with_delta("lo").into(),
///     RunFinished::new("t1", "r1").into(),
/// ];
/// let mut expander = Expander::new();
/// let mut types = Vec::new();
/// for event in &chunks {
///     types.extend(expander.expand(event)?.iter().map(|event| event.type_name().to_string()));
/// }
/// assert_eq!(
///     types,
///     ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"]
/// );
/// # Ok::<(), threadline_protocol::stages::expand::ExpandError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expander {
    lanes: Lanes,
}

impl Expander {
    /// At the start of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Expands the next event. One that is no chunk comes last and as it is, after the ends that it brings about.
    ///
    /// # Errors
    /// If it is a chunk that cannot be expanded. It is then as if it had not been there.
    pub fn expand<'e, 'a>(&mut self, event: &'e Event<'a>) -> Result<Expanded<'e, 'a>, ExpandError> {
        let Some(chunk) = Chunk::of(event) else {
            let before = self.lanes.closed_by(event);
            return Ok(Expanded { output: Output::passed(event).after(before), overruled: None });
        };
        let stream = match chunk.id {
            Some(id) => match self.lanes.holding(chunk.kind(), id) {
                Some(stream) => stream,
                None => return self.open(id, &chunk),
            },
            None => {
                self.lanes.implied(chunk.kind(), chunk.tag).map_err(|(rule, ids)| chunk.error(rule, ids))?
            }
        };
        let output = chunk.continuation(stream)?.map_or_else(Output::nothing, Output::made);
        Ok(Expanded { output, overruled: None })
    }

    /// Whether the next event is no chunk and ends nothing, so that it passes as it is. This is cheaper to ask than to
    /// expand it, and nearly all events do.
    pub(in crate::stages) fn passes(&self, event: &Event<'_>) -> bool {
        Chunk::of(event).is_none() && !self.lanes.may_be_closed_by(event)
    }

    /// What chunks have opened, in that order.
    pub(in crate::stages) fn open_chunks(&self) -> impl Iterator<Item = &Stream> {
        self.lanes.iter()
    }

    /// What chunks have opened under an id.
    pub(in crate::stages) fn open_chunk(&self, kind: Kind, id: &Text<'_>) -> Option<&Stream> {
        self.lanes.holding(kind, id)
    }

    /// What the next event may change, for whoever may want to take it back.
    pub(in crate::stages) fn saved(&self, event: &Event<'_>) -> Saved {
        match Chunk::of(event) {
            Some(chunk) => match chunk.id {
                Some(id) if self.lanes.holding(chunk.kind(), id).is_none() => {
                    self.lanes.saved_lane(chunk.tag)
                }
                _ => Saved::Nothing,
            },
            None => self.lanes.saved_for(event),
        }
    }

    /// Puts back what an event has changed.
    pub(in crate::stages) fn restore(&mut self, saved: Saved) {
        self.lanes.restore(saved);
    }

    /// Opens what a chunk names, in the lane of the chunk's tag. Whatever is open there ends.
    fn open<'e, 'a>(
        &mut self,
        id: &Text<'a>,
        chunk: &Chunk<'e, 'a>,
    ) -> Result<Expanded<'e, 'a>, ExpandError> {
        let opened = chunk.opened(id)?;
        let mut before: Vec<Event<'a>> = self.lanes.close(chunk.tag).into_iter().collect();
        self.lanes.open(opened.stream);
        let last = match opened.content {
            Some(content) => {
                before.push(opened.start);
                content
            }
            None => opened.start,
        };
        Ok(Expanded { output: Output::made(last).after(before), overruled: opened.overruled })
    }
}

/// What an event became: one that is no chunk comes last and as it was, after the ends that it brings about.
#[derive(Clone, Debug)]
pub struct Expanded<'e, 'a> {
    output: Output<'e, 'a>,
    overruled: Option<&'static str>,
}

impl<'e, 'a> Expanded<'e, 'a> {
    /// The events, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Event<'a>> {
        self.output.iter()
    }

    /// The same as a value.
    #[must_use]
    pub const fn output(&self) -> &Output<'e, 'a> {
        &self.output
    }

    /// A member of the chunk that is lost, because 1.0 does not describe it for chunks, but for the start that it would
    /// have been carried on, whose own value stands. Only the `role` of a reasoning chunk can be one.
    #[must_use]
    pub const fn overruled(&self) -> Option<&'static str> {
        self.overruled
    }
}
