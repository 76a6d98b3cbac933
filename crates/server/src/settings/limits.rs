//! How much at once, how fast, and how much in all.

use serde::Deserialize;

/// How much at once, how fast, and how much in all. A scope is an app and a user.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitSettings {
    /// The most runs that are executed at once.
    pub runs_max: usize,
    /// The most of one scope.
    pub runs_per_scope_max: usize,
    /// The most streams that are open at once.
    pub streams_max: usize,
    /// The most of one scope.
    pub streams_per_scope_max: usize,
    /// The most requests in a second, on average; 0 is as many as come.
    pub requests_per_second: u32,
    /// The most of one scope.
    pub requests_per_scope_per_second: u32,
    /// The most threads that one scope may have; 0 is as many as it makes.
    pub threads_per_scope_max: u64,
    /// The most bytes that the records of one scope's threads may have, as they came; 0 is as many as come.
    pub bytes_per_scope_max: u64,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            runs_max: 5_000,
            runs_per_scope_max: 5_000,
            streams_max: 20_000,
            streams_per_scope_max: 20_000,
            requests_per_second: 0,
            requests_per_scope_per_second: 0,
            threads_per_scope_max: 0,
            bytes_per_scope_max: 0,
        }
    }
}
