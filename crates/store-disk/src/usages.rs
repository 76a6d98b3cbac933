//! What scopes keep: counted once for each that is asked about, and from then on with every write.

use std::collections::HashMap;
use threadline_log::Scope;
use threadline_log::thread::Usage;

/// So many scopes are known at once; those that are asked about again are counted anew.
const SCOPES_MAX: usize = 10_000;

/// What scopes keep, of those that were asked about.
#[derive(Debug, Default)]
pub(crate) struct Usages {
    by_scope: HashMap<Scope, Counted>,
}

/// What is known of a scope. Until it is whole, only what has changed since counting began, which may be less than nothing: sums
/// wrap, and are right in the end.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    usage: Usage,
    is_whole: bool,
}

impl Usages {
    /// What a scope keeps, if that is known.
    pub(crate) fn get(&self, scope: &Scope) -> Option<Usage> {
        self.by_scope.get(scope).filter(|counted| counted.is_whole).map(|counted| counted.usage)
    }

    /// From now on changes are noted.
    pub(crate) fn begin(&mut self, scope: &Scope) {
        if self.by_scope.len() >= SCOPES_MAX {
            self.by_scope.clear();
        }
        self.by_scope.insert(scope.clone(), Counted::default());
    }

    /// With what was there when it was begun.
    pub(crate) fn finish(&mut self, scope: &Scope, found: Usage) -> Usage {
        let counted = self.by_scope.entry(scope.clone()).or_default();
        counted.is_whole = true;
        counted.add(found);
        counted.usage
    }

    /// A thread has changed: how many bytes it had, if it was there, and how many it has.
    pub(crate) fn note(&mut self, scope: &Scope, before: Option<u64>, after: Option<u64>) {
        if before != after
            && let Some(counted) = self.by_scope.get_mut(scope)
        {
            counted.add(Usage::of(after));
            counted.take_off(Usage::of(before));
        }
    }
}

impl Counted {
    const fn add(&mut self, Usage { threads, bytes }: Usage) {
        self.usage.threads = self.usage.threads.wrapping_add(threads);
        self.usage.bytes = self.usage.bytes.wrapping_add(bytes);
    }

    const fn take_off(&mut self, Usage { threads, bytes }: Usage) {
        self.usage.threads = self.usage.threads.wrapping_sub(threads);
        self.usage.bytes = self.usage.bytes.wrapping_sub(bytes);
    }
}
