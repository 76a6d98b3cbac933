//! Where a page of threads has ended.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;
use threadline_log::thread::{ThreadCursor, ThreadInfo};
use threadline_log::{Scope, ThreadId, ThreadKey, Timestamp};

/// The last thread of a page. Clients give it back as it is, to whoever serves their own scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageMark {
    updated: Timestamp,
    thread: ThreadId,
}

/// A text that is no mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not the end of a page of this server")]
pub(crate) struct NotAMark;

impl PageMark {
    pub(crate) fn behind(thread: &ThreadInfo) -> Self {
        Self { updated: thread.updated, thread: thread.key.thread.clone() }
    }

    pub(crate) fn in_scope(self, scope: &Scope) -> ThreadCursor {
        ThreadCursor { updated: self.updated, key: ThreadKey::new(scope.clone(), self.thread) }
    }
}

/// Nothing that a query would have to escape.
impl fmt::Display for PageMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.", self.updated.0)?;
        self.thread.as_str().bytes().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for PageMark {
    type Err = NotAMark;

    fn from_str(text: &str) -> Result<Self, NotAMark> {
        let read = || {
            let (updated, thread) = text.split_once('.')?;
            let byte = |digits: &[u8]| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok();
            let bytes: Option<Vec<u8>> = thread.as_bytes().chunks(2).map(byte).collect();
            let thread = ThreadId::new(String::from_utf8(bytes?).ok()?).ok()?;
            Some(Self { updated: Timestamp(updated.parse().ok()?), thread })
        };
        // One spelling each, so that what we take is what we gave.
        read().filter(|mark| mark.to_string() == text).ok_or(NotAMark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_mark_comes_back(updated: i64, thread in "\\PC{0,64}") {
            let mark = PageMark { updated: Timestamp(updated), thread: ThreadId::new(thread).unwrap() };
            prop_assert_eq!(mark.to_string().parse(), Ok(mark));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", ".", "1", "1.6", "1.6g", "1.+1", "01.61", "1.61.", "1.FF", "1.ff", "1.C3"] {
            assert_eq!(text.parse::<PageMark>(), Err(NotAMark), "{text}");
        }
        assert!("1.".parse::<PageMark>().is_ok(), "an id may be empty");
    }
}
