//! Names as PostgreSQL has them: its texts cannot hold U+0000, which names may.
//!
//! Persisted, so must be kept stable. U+0000 becomes U+0001 and `1`, U+0001 becomes U+0001 and `2`: the order of the bytes stays what it was.

use sha2::{Digest, Sha256};
use std::borrow::Cow;
use threadline_log::names::{NAME_BYTES_MAX, Owner};
use threadline_log::{Error, RunId, Scope, ThreadId, ThreadKey};

/// A name as the database has it.
pub(crate) fn escaped(name: &str) -> Cow<'_, str> {
    if !name.contains(['\0', '\u{1}']) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.replace('\u{1}', "\u{1}2").replace('\0', "\u{1}1"))
}

/// A name that the database had.
pub(crate) fn unescaped(stored: &str) -> Cow<'_, str> {
    if !stored.contains('\u{1}') {
        return Cow::Borrowed(stored);
    }
    Cow::Owned(stored.replace("\u{1}1", "\0").replace("\u{1}2", "\u{1}"))
}

/// What an interrupt is found by: its id, or the digest of one that no index would take.
pub(crate) fn interrupt_key(id: &str) -> Cow<'_, str> {
    if id.len() <= NAME_BYTES_MAX {
        return escaped(id);
    }
    let digest = Sha256::digest(id.as_bytes());
    // No name is escaped like this.
    Cow::Owned(digest.iter().fold("\u{1}3".to_owned(), |text, byte| format!("{text}{byte:02x}")))
}

/// The full name of a thread as the database has it.
#[derive(Clone, Debug)]
pub(crate) struct Key<'a> {
    pub(crate) app: Cow<'a, str>,
    pub(crate) owner: Cow<'a, str>,
    pub(crate) name: Cow<'a, str>,
}

impl<'a> Key<'a> {
    pub(crate) fn of(key: &'a ThreadKey) -> Self {
        let (app, owner) = scope(&key.scope);
        Self { app, owner, name: escaped(key.thread.as_str()) }
    }
}

/// The application and the user as the database has them.
pub(crate) fn scope(scope: &Scope) -> (Cow<'_, str>, Cow<'_, str>) {
    (escaped(scope.app.as_str()), escaped(scope.user.as_str()))
}

/// The full name of a thread that the database had.
pub(crate) fn thread_key(app: &str, owner: &str, name: &str) -> Result<ThreadKey, Error> {
    let scope = Scope { app: Owner::new(unescaped(app))?, user: Owner::new(unescaped(owner))? };
    Ok(ThreadKey::new(scope, ThreadId::new(unescaped(name))?))
}

/// The id of a run that the database had.
pub(crate) fn run_id(stored: &str) -> Result<RunId, Error> {
    RunId::new(unescaped(stored))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_name() -> impl Strategy<Value = String> {
        let parts = prop_oneof!["\0", "\u{1}", "\u{2}", "1", "2", "a", "é", any::<String>()];
        proptest::collection::vec(parts, 0..6).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn names_come_back_exactly_and_keep_their_order(a in any_name(), b in any_name()) {
            let (stored_a, stored_b) = (escaped(&a), escaped(&b));
            prop_assert!(!stored_a.contains('\0'));
            prop_assert_eq!(unescaped(&stored_a), a.as_str());
            prop_assert_eq!(stored_a.as_bytes().cmp(stored_b.as_bytes()), a.as_bytes().cmp(b.as_bytes()));
        }
    }
}
