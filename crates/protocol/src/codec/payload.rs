//! What the decoders yield, and where in the input it stood.

use std::fmt;

/// Where in the input an event began or an error was found.
///
/// Displayed as `line 7` where the format has lines and as `event 3 (byte 120)` where it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line, counted from 1, in formats made of lines.
    pub line: Option<u64>,
    /// The ordinal among the events of the input, counted from 1; refused events count too.
    pub event: u64,
    /// The number of input bytes before this place.
    pub offset: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}"),
            None => write!(f, "event {} (byte {})", self.event, self.offset),
        }
    }
}

/// One event as it stood in the input: its JSON text or its protobuf message, not yet parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload<'a> {
    /// The exact bytes, without the framing around them.
    pub bytes: &'a [u8],
    /// Where the event began.
    pub place: Place,
}

#[cfg(test)]
mod tests {
    use super::Place;

    #[test]
    fn place_names_the_line_if_there_is_one() {
        let place = Place { line: Some(7), event: 3, offset: 120 };
        assert_eq!(place.to_string(), "line 7");
        assert_eq!(Place { line: None, ..place }.to_string(), "event 3 (byte 120)");
    }
}
