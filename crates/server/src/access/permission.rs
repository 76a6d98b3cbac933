//! What a caller may do.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a caller may do, each with what comes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Look at threads, and follow their runs.
    Read,
    /// Start and cancel runs, append to threads, name them, clone them.
    Run,
    /// Delete and import threads.
    Admin,
}

impl Permission {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Run => "run",
            Self::Admin => "admin",
        }
    }

    /// By its word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Read, Self::Run, Self::Admin].into_iter().find(|permission| permission.name() == name)
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}
