//! Events as they arrive: exact bytes and typed view side by side.

use super::{Event, EventType, UnknownEvent};
use crate::json::{Kind, Reader, Text, Which};
use crate::schema::{Context, Departure, ReadError};
use std::borrow::Cow;

/// An event as it arrived: its exact JSON, what it means, and where it departs from the protocol.
///
/// ```
/// use threadline_protocol::{Event, Received};
///
/// let json = r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"h\u0069","vendor":1.50}"#;
/// let received = Received::read(json)?;
/// assert_eq!(received.json(), json);
/// assert_eq!(received.departures()[0].pointer, "/vendor");
/// let Event::TextMessageContent(content) = received.event() else { panic!() };
/// assert_eq!(content.delta, "hi");
/// # Ok::<(), threadline_protocol::ReadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received<'a> {
    json: Cow<'a, str>,
    event: Event<'a>,
    departures: Vec<Departure>,
}

impl<'a> Received<'a> {
    /// Reads an event. Strings are borrowed from `json` where they hold no escapes, opaque values always.
    ///
    /// # Errors
    /// If the text is no JSON object with a type ([`ReadError::is_unreadable`]), or a field that 1.0 describes is
    /// malformed.
    pub fn read(json: &'a str) -> Result<Self, ReadError> {
        let mut reader = Reader::new(json);
        let mut context = Context::default();
        let start = reader;
        // Nearly always this is all. An event is large, so that it is passed on at once rather than by way of a result.
        let mut error = match first_type(json, &mut reader)? {
            Some(event_type) => match Event::read_typed(event_type, &mut reader, &mut context, false) {
                Ok(event) => return Self::whole(json, event, &mut reader, context),
                Err(error) => error,
            },
            None => ReadError::retagged(0),
        };
        // Of several types the last one counts. Looking no further than the first saves passing the event twice.
        if error.is_retagged() {
            reader = start;
            context = Context::default();
            let last = reader.peek_member("type", Which::Last)?.filter(|name| !name.is_empty());
            let name = last.ok_or_else(|| no_type(start.offset()))?;
            let read = match name.as_str().and_then(EventType::from_name) {
                Some(event_type) => Event::read_typed(event_type, &mut reader, &mut context, true),
                None => UnknownEvent::read(name, &mut reader, &mut context).map(Event::Unknown),
            };
            match read {
                Ok(event) => return Self::whole(json, event, &mut reader, context),
                Err(other) => error = other,
            }
        }
        // What is cut off or followed by rubbish is no event, whatever its fields hold.
        if !error.is_unreadable() {
            let mut whole = start;
            whole.value()?;
            whole.end()?;
        }
        Err(error)
    }

    /// An event that was read and is all that the text holds.
    fn whole(
        json: &'a str,
        event: Event<'a>,
        reader: &mut Reader<'_>,
        context: Context,
    ) -> Result<Self, ReadError> {
        reader.end()?;
        Ok(Self { json: Cow::Borrowed(json), event, departures: context.into_departures() })
    }

    /// Reads an event from bytes.
    ///
    /// # Errors
    /// As [`read`](Self::read), and if the bytes are no UTF-8.
    pub fn read_bytes(json: &'a [u8]) -> Result<Self, ReadError> {
        Self::read(utf8(json)?)
    }

    /// Reads an event and keeps its text.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_owned(json: String) -> Result<Received<'static>, ReadError> {
        let Received { event, departures, .. } = Received::read(&json)?;
        let event = event.into_owned();
        Ok(Received { json: Cow::Owned(json), event, departures })
    }

    /// Writes an event that departs from nothing and takes that as its text.
    pub(crate) fn made(event: Event<'a>) -> Self {
        Self::from_parts(Cow::Owned(event.to_json()), event, Vec::new())
    }

    /// The exact text that was read.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }

    /// What it means.
    #[must_use]
    pub const fn event(&self) -> &Event<'a> {
        &self.event
    }

    /// Where it departs from 1.0.
    #[must_use]
    pub fn departures(&self) -> &[Departure] {
        &self.departures
    }

    /// What it means, without the text.
    #[must_use]
    pub fn into_event(self) -> Event<'a> {
        self.event
    }

    pub(crate) fn into_parts(self) -> (Cow<'a, str>, Event<'a>, Vec<Departure>) {
        (self.json, self.event, self.departures)
    }

    /// An event that a stage has looked at. The text must be that of the event.
    pub(crate) const fn from_parts(json: Cow<'a, str>, event: Event<'a>, departures: Vec<Departure>) -> Self {
        Self { json, event, departures }
    }

    /// The same, borrowing nothing.
    #[must_use]
    pub fn into_owned(self) -> Received<'static> {
        Received {
            json: Cow::Owned(self.json.into_owned()),
            event: self.event.into_owned(),
            departures: self.departures,
        }
    }
}

/// What a relay needs to know of an event: that it is one, and its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope<'a> {
    type_name: Text<'a>,
}

impl<'a> Envelope<'a> {
    /// Checks that the text is a JSON object with a type, and looks no further.
    ///
    /// # Errors
    /// If it is not.
    pub fn read(json: &'a str) -> Result<Self, ReadError> {
        let mut reader = Reader::new(json);
        expect_object(&mut reader)?;
        let start = reader.offset();
        reader.open();
        let mut type_name = None;
        let mut first = true;
        while let Some(key) = reader.next_key(&mut first)? {
            if key == "type" {
                type_name = if reader.kind()? == Kind::String { Some(reader.string()?) } else { None };
                if type_name.is_some() {
                    continue;
                }
            }
            reader.value()?;
        }
        reader.end()?;
        let type_name = type_name.filter(|name| !name.is_empty()).ok_or_else(|| no_type(start))?;
        Ok(Self { type_name })
    }

    /// Reads an envelope from bytes.
    ///
    /// # Errors
    /// As [`read`](Self::read), and if the bytes are no UTF-8.
    pub fn read_bytes(json: &'a [u8]) -> Result<Self, ReadError> {
        Self::read(utf8(json)?)
    }

    /// The type as it is written, known or not.
    #[must_use]
    pub const fn type_name(&self) -> &Text<'a> {
        &self.type_name
    }

    /// The type, if 1.0 has it.
    #[must_use]
    pub fn event_type(&self) -> Option<EventType> {
        self.type_name.as_str().and_then(EventType::from_name)
    }
}

/// The first type that an object names, if 1.0 has it.
fn first_type(json: &str, reader: &mut Reader<'_>) -> Result<Option<EventType>, ReadError> {
    // Where nearly every producer writes it.
    let name = json.strip_prefix(r#"{"type":""#).and_then(|rest| rest.split_once('"'));
    if let Some(event_type) = name.and_then(|(name, _)| EventType::from_name(name)) {
        return Ok(Some(event_type));
    }
    expect_object(reader)?;
    let name = reader.peek_member("type", Which::First)?;
    Ok(name.and_then(|name| EventType::from_name(name.as_str()?)))
}

fn utf8(bytes: &[u8]) -> Result<&str, ReadError> {
    std::str::from_utf8(bytes).map_err(|error| ReadError::utf8(error.valid_up_to()))
}

fn expect_object(reader: &mut Reader<'_>) -> Result<(), ReadError> {
    match reader.kind()? {
        Kind::Object => Ok(()),
        _ => {
            let start = reader.offset();
            reader.value()?;
            reader.end()?;
            Err(ReadError::not_an_event("no JSON object", start))
        }
    }
}

fn no_type(offset: usize) -> ReadError {
    ReadError::not_an_event("no type", offset)
}
