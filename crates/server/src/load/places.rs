//! Places for what goes on at the same time.

use crate::error::{Code, Refusal};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use threadline_log::Scope;

/// As many places as there may be at once. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// What takes them, for people.
    what: &'static str,
    max: usize,
    per_scope_max: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_scope: HashMap<Scope, usize>,
}

/// A place, which is free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    inner: Arc<Inner>,
    scope: Scope,
}

impl Places {
    pub(crate) fn new(what: &'static str, max: usize, per_scope_max: usize) -> Self {
        Self { inner: Arc::new(Inner { what, max, per_scope_max, taken: Mutex::default() }) }
    }

    /// Whether there is a place for anybody, so that who would be refused can be told before anything else is done.
    ///
    /// # Errors
    /// If all are taken.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if self.taken() >= self.inner.max { Err(self.inner.full()) } else { Ok(()) }
    }

    /// Takes a place for a scope.
    ///
    /// # Errors
    /// If all are taken, or the scope has as many as it may have.
    pub(crate) fn take(&self, scope: &Scope) -> Result<Place, Refusal> {
        let Inner { what, max, per_scope_max, .. } = &*self.inner;
        let mut taken = self.inner.taken();
        let of_scope = taken.by_scope.get(scope).copied().unwrap_or_default();
        if of_scope >= *per_scope_max {
            let message = format!("too many {what} of one user at once. max={per_scope_max}");
            return Err(Refusal::new(Code::TooMany, message));
        }
        if taken.all >= *max {
            return Err(self.inner.full());
        }
        taken.all += 1;
        taken.by_scope.insert(scope.clone(), of_scope + 1);
        drop(taken);
        Ok(Place { inner: Arc::clone(&self.inner), scope: scope.clone() })
    }

    /// How many are taken.
    pub(crate) fn taken(&self) -> usize {
        self.inner.taken().all
    }
}

impl Inner {
    fn full(&self) -> Refusal {
        let Self { what, max, .. } = self;
        Refusal::new(Code::Overloaded, format!("too many {what} at once. max={max}"))
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.inner.taken();
        taken.all -= 1;
        if let Entry::Occupied(mut of_scope) = taken.by_scope.entry(self.scope.clone()) {
            *of_scope.get_mut() -= 1;
            if *of_scope.get() == 0 {
                of_scope.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadline_log::names::Owner;

    fn scope(user: &str) -> Scope {
        Scope { app: Owner::new("app").unwrap(), user: Owner::new(user).unwrap() }
    }

    #[test]
    fn one_scope_cannot_take_all_and_all_cannot_take_more() {
        let places = Places::new("things", 3, 2);
        let (ann, bob) = (scope("ann"), scope("bob"));
        let held = [places.take(&ann).unwrap(), places.take(&ann).unwrap()];
        assert_eq!(places.take(&ann).unwrap_err().code, Code::TooMany);
        let of_bob = places.take(&bob).unwrap();
        assert_eq!(places.take(&bob).unwrap_err().code, Code::Overloaded);
        assert_eq!(places.taken(), 3);
        drop(of_bob);
        assert!(places.take(&bob).is_ok());
        drop(held);
        assert_eq!((places.taken(), places.inner.taken().by_scope.len()), (0, 0));
    }
}
