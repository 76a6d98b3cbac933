//! The numbers that threads have in the database, as far as they are known: appends need no names then.

use std::collections::HashMap;
use threadline_log::store::Append;
use threadline_log::{Incarnation, ThreadKey};

/// So many are known at most. Those that are written to are learned again soon.
const KNOWN_MAX: usize = 100_000;

/// A thread and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbered {
    pub(crate) incarnation: Incarnation,
    pub(crate) number: i64,
}

/// Numbers of threads. That of one that is gone by now is nobody else's: nothing is found by it.
#[derive(Default)]
pub(crate) struct Numbers(HashMap<ThreadKey, Numbered>);

impl Numbers {
    /// Which number a thread has.
    pub(crate) fn learn(&mut self, thread: &ThreadKey, numbered: Numbered) {
        if self.0.len() >= KNOWN_MAX {
            self.0.clear();
        }
        self.0.insert(thread.clone(), numbered);
    }

    /// The number of the thread that is appended to, if it is known and its head may be enough to decide about it.
    pub(crate) fn head(&self, append: &Append) -> Option<Numbered> {
        let Append { thread, incarnation, records, key, expected_tail, end, .. } = append;
        let is_plain = !records.is_empty() && key.is_none() && expected_tail.is_none() && end.is_none();
        let known = *self.0.get(thread).filter(|_| is_plain)?;
        incarnation.is_none_or(|wanted| wanted == known.incarnation).then_some(known)
    }
}
