//! Names: of scopes, threads and runs.

use crate::error::Error;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

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

/// The full name of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ThreadKey {
    /// Whose it is.
    pub scope: Scope,
    /// Its id there.
    pub thread: ThreadId,
}

impl ThreadKey {
    /// The thread of this id in a scope.
    #[must_use]
    pub const fn new(scope: Scope, thread: ThreadId) -> Self {
        Self { scope, thread }
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
