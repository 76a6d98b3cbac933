//! Cursors: where a reader of a run is.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;
use threadline_log::{Incarnation, RunNo};
use threadline_protocol::codec::SseId;

/// A place behind something that a client has seen, in a thread that may go on and may have been made anew. Clients give
/// it back as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// Which thread of its name.
    pub(crate) incarnation: Incarnation,
    /// The run that is read; none for a reader of all runs.
    pub(crate) run: Option<RunNo>,
    /// The last record that was seen.
    pub(crate) offset: u64,
    /// How much of it.
    pub(crate) frame: Frame,
}

/// How much of a record was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// So many of the events that it was delivered as.
    Events(u32),
    /// All of it.
    Whole,
}

/// A text that is no cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no cursor of this server")]
pub(crate) struct NotACursor;

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}.", self.incarnation.0)?;
        if let Some(run) = self.run {
            write!(f, "{}", run.0)?;
        }
        write!(f, ".{}", self.offset)?;
        match self.frame {
            Frame::Events(count) => write!(f, ".{count}"),
            Frame::Whole => Ok(()),
        }
    }
}

impl FromStr for Cursor {
    type Err = NotACursor;

    fn from_str(text: &str) -> Result<Self, NotACursor> {
        let mut parts = text.split('.');
        let mut part = || parts.next().ok_or(NotACursor);
        let incarnation = u64::from_str_radix(part()?, 16).map_err(|_not_a_number| NotACursor)?;
        let run = part()?;
        let run = if run.is_empty() { None } else { Some(RunNo(number(run)?)) };
        let offset = number(part()?)?;
        let frame = match parts.next() {
            Some(count) => Frame::Events(number(count)?),
            None => Frame::Whole,
        };
        let cursor = Self { incarnation: Incarnation(incarnation), run, offset, frame };
        // One spelling each, so that what we take is what we gave.
        if parts.next().is_none() && cursor.to_string() == text { Ok(cursor) } else { Err(NotACursor) }
    }
}

fn number<N: FromStr>(text: &str) -> Result<N, NotACursor> {
    text.parse().map_err(|_not_a_number| NotACursor)
}

impl From<Cursor> for SseId {
    fn from(cursor: Cursor) -> Self {
        Self::new(cursor.to_string()).expect("a cursor is digits and dots")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_cursor_comes_back(incarnation: u64, run: Option<u32>, offset: u64, frame: Option<u32>) {
            let frame = frame.map_or(Frame::Whole, Frame::Events);
            let cursor = Cursor { incarnation: Incarnation(incarnation), run: run.map(RunNo), offset, frame };
            prop_assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }

        #[test]
        fn anything_else_is_refused(text in "[0-9a-f.+ -]{0,24}") {
            if let Ok(cursor) = text.parse::<Cursor>() {
                prop_assert_eq!(cursor.to_string(), text);
            }
        }
    }

    #[test]
    fn what_was_never_given_is_refused() {
        for text in ["", ".", "1", "1.2", "1..", "g.0.0", "1.0.0.0.0", "01.0.0", "1.0.+1", "1.0.0."] {
            assert_eq!(text.parse::<Cursor>(), Err(NotACursor), "{text}");
        }
    }
}
