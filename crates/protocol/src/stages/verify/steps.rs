//! The steps that are open.

use super::owners::Owner;
use crate::json::Text;
use std::collections::{BTreeMap, BTreeSet};

/// Steps, which are told apart by name and owner: a subagent often runs through the same steps as its parent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Steps {
    /// No set is empty.
    owners: BTreeMap<Text<'static>, BTreeSet<Owner<'static>>>,
    open: usize,
}

impl Steps {
    pub(super) fn is_open(&self, name: &Text<'_>, owner: &Owner<'_>) -> bool {
        self.owners.get(name.wtf8()).is_some_and(|owners| owners.contains(owner))
    }

    /// Somebody who has a step of that name open.
    pub(super) fn any_owner(&self, name: &Text<'_>) -> Option<&Owner<'static>> {
        self.owners.get(name.wtf8()).and_then(BTreeSet::first)
    }

    /// Opens a step that is not open.
    pub(super) fn open(&mut self, name: &Text<'_>, owner: &Owner<'_>) {
        let owner = owner.clone().map(Text::into_owned);
        self.owners.entry(name.clone().into_owned()).or_default().insert(owner);
        self.open += 1;
    }

    /// Closes a step that is open.
    pub(super) fn close(&mut self, name: &Text<'_>, owner: &Owner<'_>) {
        let Some(owners) = self.owners.get_mut(name.wtf8()) else { return };
        owners.remove(&owner.clone().map(Text::into_owned));
        if owners.is_empty() {
            self.owners.remove(name.wtf8());
        }
        self.open -= 1;
    }

    pub(super) const fn len(&self) -> usize {
        self.open
    }

    /// All steps that are open, by name and owner.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Text<'static>, &Owner<'static>)> {
        self.owners.iter().flat_map(|(name, owners)| owners.iter().map(move |owner| (name, owner)))
    }

    /// The names of all steps that are open.
    pub(super) fn names(&self) -> impl Iterator<Item = &Text<'static>> {
        self.iter().map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_closed_leaves_nothing_behind() {
        let mut steps = Steps::default();
        let (name, owner) = (Text::from("x"), Some(Text::from("s")));
        steps.open(&name, &None);
        steps.open(&name, &owner);
        assert_eq!((steps.len(), steps.names().count()), (2, 2));
        steps.close(&name, &None);
        assert_eq!(steps.any_owner(&name), Some(&owner));
        steps.close(&name, &owner);
        assert_eq!(steps, Steps::default());
    }
}
