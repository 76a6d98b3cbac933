//! Names: of scopes, threads and runs.

use crate::error::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

/// The longest name in bytes. AG-UI allows any string, even an empty one.
pub const NAME_BYTES_MAX: usize = 256;

macro_rules! name {
    ($(#[$meta:meta])* $name:ident, $what:literal) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes a name.
            ///
            /// # Errors
            /// If it is longer than [`NAME_BYTES_MAX`].
            pub fn new(name: impl AsRef<str>) -> Result<Self, Error> {
                let name = name.as_ref();
                if name.len() > NAME_BYTES_MAX {
                    return Err(Error::NameTooLong { what: $what, bytes: name.len() });
                }
                Ok(Self(name.into()))
            }

            /// The name.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = Error;

            fn from_str(name: &str) -> Result<Self, Error> {
                Self::new(name)
            }
        }

        impl TryFrom<String> for $name {
            type Error = Error;

            fn try_from(name: String) -> Result<Self, Error> {
                Self::new(name)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.as_str().to_owned()
            }
        }
    };
}

name! {
    /// The application or the user of a [`Scope`].
    Owner, "scope"
}
name! {
    /// AG-UI's `threadId`.
    ThreadId, "thread id"
}
name! {
    /// AG-UI's `runId`, unique within its thread.
    RunId, "run id"
}
name! {
    /// What makes a repeated append recognisable, unique within its run.
    AppendKey, "append key"
}

/// Whose threads: those of one user of one application.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Scope {
    /// The application.
    pub app: Owner,
    /// The user.
    pub user: Owner,
}

/// The parts of the full name of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ThreadName {
    /// Whose it is.
    pub scope: Scope,
    /// Its id there.
    pub thread: ThreadId,
}

/// The full name of a thread. Every append is told one and looks it up, so that clones share it and its hash is known.
#[derive(Clone)]
pub struct ThreadKey(Arc<Hashed>);

struct Hashed {
    name: ThreadName,
    hash: u64,
}

/// Whoever chooses names must not know how they are hashed.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

impl ThreadKey {
    /// The thread of this id in a scope.
    #[must_use]
    pub fn new(scope: Scope, thread: ThreadId) -> Self {
        ThreadName { scope, thread }.into()
    }
}

impl From<ThreadName> for ThreadKey {
    fn from(name: ThreadName) -> Self {
        Self(Arc::new(Hashed { hash: HASHER.hash_one(&name), name }))
    }
}

impl Deref for ThreadKey {
    type Target = ThreadName;

    fn deref(&self) -> &ThreadName {
        &self.0.name
    }
}

impl Hash for ThreadKey {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.0.hash);
    }
}

impl PartialEq for ThreadKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.0.hash == other.0.hash && self.0.name == other.0.name)
    }
}

impl Eq for ThreadKey {}

impl PartialOrd for ThreadKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ThreadKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.name.cmp(&other.0.name)
    }
}

impl fmt::Debug for ThreadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.name.fmt(f)
    }
}

impl Serialize for ThreadKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.name.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ThreadKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ThreadName::deserialize(deserializer).map(Self::from)
    }
}

impl fmt::Display for ThreadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.scope.app, self.scope.user, self.thread)
    }
}

/// Tells a thread from an earlier one of the same name that was deleted. No two threads of a store have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Incarnation(pub u64);

/// A run's place among the runs of its thread, in the order they were opened: 0, 1, 2, ...
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunNo(pub u32);

impl RunNo {
    /// As a place in a list.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Milliseconds since 1970. A label, never an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

/// The generation of a run's writer. A stale one is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub u32);

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn key(user: &str, thread: &str) -> ThreadKey {
        let scope = Scope { app: Owner::new("app").unwrap(), user: Owner::new(user).unwrap() };
        ThreadKey::new(scope, ThreadId::new(thread).unwrap())
    }

    #[test]
    fn keys_are_the_same_if_their_names_are_whoever_made_them() {
        let known = HashMap::from([(key("u", "t"), 1), (key("ut", ""), 2), (key("", "ut"), 3)]);
        assert_eq!(known.len(), 3);
        assert_eq!((known.get(&key("u", "t")), known.get(&key("u", "T"))), (Some(&1), None));
        assert!(key("a", "z") < key("b", "a") && key("a", "a") < key("a", "b"));
        let json = serde_json::to_string(&key("u", "t")).unwrap();
        assert_eq!(json, r#"{"scope":{"app":"app","user":"u"},"thread":"t"}"#);
        assert_eq!(serde_json::from_str::<ThreadKey>(&json).unwrap(), key("u", "t"));
    }
}
