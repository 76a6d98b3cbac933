//! Where a page of messages begins.

use crate::error::Refusal;
use serde::Deserialize;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;
use threadline_log::{At, Engine, Incarnation, Located, RunNo, ThreadKey};

/// The messages before one, as they were when the first page was read. Clients give it back as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct MessageMark {
    incarnation: Incarnation,
    run: RunNo,
    offset: u64,
    /// How many messages come before it.
    pub(super) place: usize,
}

/// A text that is no mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not the beginning of a page of this server")]
pub(super) struct NotAMark;

impl MessageMark {
    pub(super) const fn new(located: &Located, place: usize) -> Self {
        Self { incarnation: located.incarnation, run: located.run.no, offset: located.offset, place }
    }

    /// The point at which the messages were read.
    pub(super) async fn locate(
        &self,
        engine: &Engine,
        thread: &ThreadKey,
    ) -> Result<Option<Located>, Refusal> {
        if engine.store().thread(thread).await?.incarnation != self.incarnation {
            return Err(threadline_log::Error::OtherIncarnation(thread.clone()).into());
        }
        let at = At::RunAndOffset(self.run, self.offset.saturating_sub(1));
        Ok(engine.locate(thread, at).await?)
    }
}

impl fmt::Display for MessageMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { incarnation, run, offset, place } = self;
        write!(f, "m{:x}.{}.{offset}.{place}", incarnation.0, run.0)
    }
}

impl FromStr for MessageMark {
    type Err = NotAMark;

    fn from_str(text: &str) -> Result<Self, NotAMark> {
        let read = || {
            let mut parts = text.strip_prefix('m')?.split('.');
            let incarnation = Incarnation(u64::from_str_radix(parts.next()?, 16).ok()?);
            let run = RunNo(parts.next()?.parse().ok()?);
            let (offset, place) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            Some(Self { incarnation, run, offset, place })
        };
        // One spelling each, so that what we take is what we gave.
        read().filter(|mark| mark.to_string() == text).ok_or(NotAMark)
    }
}

impl TryFrom<String> for MessageMark {
    type Error = NotAMark;

    fn try_from(text: String) -> Result<Self, NotAMark> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_mark_comes_back(incarnation: u64, run: u32, offset: u64, place: usize) {
            let mark =
                MessageMark { incarnation: Incarnation(incarnation), run: RunNo(run), offset, place };
            prop_assert_eq!(mark.to_string().parse(), Ok(mark));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "m", "m1.2.3", "1.2.3.4", "m1.2.3.4.5", "m01.2.3.4", "m1.2.3.+4", "mg.2.3.4"] {
            assert_eq!(text.parse::<MessageMark>(), Err(NotAMark), "{text}");
        }
    }
}
