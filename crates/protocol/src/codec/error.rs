//! Why input was refused, and why output was.

use super::Place;

/// A part of the input that is no event.
///
/// After most of these, decoding goes on with the next event: see [`is_final`](Self::is_final).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// An event of a text format exceeds the limit. It is skipped.
    #[error("event too large. limit={limit}, at {place}")]
    EventTooLarge {
        /// The limit it exceeds, in bytes.
        limit: usize,
        /// Where the event began.
        place: Place,
    },
    /// A line of an SSE stream exceeds the limit. The frame that holds it is skipped.
    #[error("line too long. limit={limit}, at {place}")]
    LineTooLong {
        /// The limit it exceeds, in bytes.
        limit: usize,
        /// Where the line began.
        place: Place,
    },
    /// The input is one JSON document, and exceeds the limit.
    #[error("document too large. limit={limit}, at {place}")]
    DocumentTooLarge {
        /// The limit it exceeds, in bytes.
        limit: usize,
        /// Where the document began.
        place: Place,
    },
    /// A length prefix announces more than the limit.
    #[error("frame too large. size={size}, limit={limit}, at {place}")]
    FrameTooLarge {
        /// The announced size of the frame, in bytes, prefix included.
        size: u64,
        /// The limit it exceeds, in bytes.
        limit: usize,
        /// Where the frame began.
        place: Place,
    },
    /// The input ended inside a length-prefixed frame.
    #[error("input ends inside a frame. received={received}, at {place}")]
    TruncatedFrame {
        /// How many bytes of the frame arrived, prefix included.
        received: usize,
        /// Where the frame began.
        place: Place,
    },
    /// The input should be a JSON array and does not begin like one.
    #[error("input is not a json array. at {place}")]
    NotAnArray {
        /// The first byte that is not whitespace.
        place: Place,
    },
    /// An element of the array is followed by neither a comma nor the closing bracket.
    #[error("comma missing between array elements. at {place}")]
    MissingComma {
        /// Where the comma should be.
        place: Place,
    },
    /// A comma of the array has no element before it.
    #[error("array element missing before a comma. at {place}")]
    MissingElement {
        /// The comma.
        place: Place,
    },
    /// The array's last comma has no element after it.
    #[error("comma before the end of the array. at {place}")]
    TrailingComma {
        /// The closing bracket.
        place: Place,
    },
    /// The input ended inside the array.
    #[error("array is not closed. at {place}")]
    UnclosedArray {
        /// The beginning of the element that was cut off, or else the end of the input.
        place: Place,
    },
    /// Something other than whitespace follows the array.
    #[error("unexpected data after the array. at {place}")]
    TrailingData {
        /// Where it begins.
        place: Place,
    },
}

impl DecodeError {
    /// Where it was found.
    #[must_use]
    pub fn place(&self) -> Place {
        match *self {
            Self::EventTooLarge { place, .. }
            | Self::LineTooLong { place, .. }
            | Self::DocumentTooLarge { place, .. }
            | Self::FrameTooLarge { place, .. }
            | Self::TruncatedFrame { place, .. }
            | Self::NotAnArray { place }
            | Self::MissingComma { place }
            | Self::MissingElement { place }
            | Self::TrailingComma { place }
            | Self::UnclosedArray { place }
            | Self::TrailingData { place } => place,
        }
    }

    /// Whether decoding stops here: no event follows, whatever input does.
    #[must_use]
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::EventTooLarge { .. } | Self::LineTooLong { .. })
    }
}

/// An event that cannot be framed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The reference client would refuse the frame on sight of its prefix.
    #[error("frame too large. size={size}, limit={limit}")]
    FrameTooLarge {
        /// The size of the frame, in bytes, prefix included.
        size: usize,
        /// The limit it exceeds, in bytes.
        limit: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_put_values_last() {
        let place = Place { line: Some(7), event: 2, offset: 90 };
        let error = DecodeError::EventTooLarge { limit: 10_485_760, place };
        assert_eq!(error.to_string(), "event too large. limit=10485760, at line 7");
        assert!(!error.is_final());

        let error = DecodeError::MissingComma { place: Place { line: None, ..place } };
        assert_eq!(error.to_string(), "comma missing between array elements. at event 2 (byte 90)");
        assert!(error.is_final());
        assert_eq!(error.place().offset, 90);
    }
}
