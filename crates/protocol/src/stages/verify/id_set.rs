//! A set of ids that knows their order.

use crate::json::Text;
use std::collections::BTreeMap;

/// Ids in the order in which they were added.
///
/// Few are open at a time, so that the trees are small and faster than hashing. They are no slower than they must be when a
/// producer opens a million.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct IdSet {
    places: BTreeMap<Text<'static>, u64>,
    in_order: BTreeMap<u64, Text<'static>>,
    added: u64,
}

impl IdSet {
    pub(super) fn contains(&self, id: &Text<'_>) -> bool {
        self.places.contains_key(id.wtf8())
    }

    /// Adds an id at the end, unless it is there.
    pub(super) fn add(&mut self, id: &Text<'_>) {
        if !self.contains(id) {
            let id = id.clone().into_owned();
            self.places.insert(id.clone(), self.added);
            self.in_order.insert(self.added, id);
            self.added += 1;
        }
    }

    pub(super) fn remove(&mut self, id: &Text<'_>) {
        if let Some(place) = self.places.remove(id.wtf8()) {
            self.in_order.remove(&place);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Text<'static>> {
        self.in_order.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_in_the_order_in_which_they_were_added() {
        let mut ids = IdSet::default();
        for id in ["b", "a", "c", "b"] {
            ids.add(&id.into());
        }
        ids.remove(&"b".into());
        ids.remove(&"x".into());
        ids.add(&"b".into());
        assert_eq!(ids.iter().map(Text::to_str).collect::<Vec<_>>(), ["a", "c", "b"]);
        assert!(ids.contains(&"a".into()) && !ids.contains(&"x".into()));
        assert_eq!((ids.len(), ids.is_empty()), (3, false));
    }
}
