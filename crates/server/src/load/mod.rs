//! How much at once, how fast, and how much in all: for everybody together, and for each scope.

mod places;
mod quota;
mod rates;

pub(crate) use places::{Place, Places};
pub(crate) use quota::Quota;
pub(crate) use rates::Rates;

use crate::metrics::Lag;
use crate::settings::LimitSettings;

/// What is taken, and how much may be.
#[derive(Debug)]
pub(crate) struct Load {
    /// Runs that are executed.
    pub(crate) runs: Places,
    /// Streams that are open.
    pub(crate) streams: Places,
    /// Requests.
    pub(crate) requests: Rates,
    /// What is kept.
    pub(crate) quota: Quota,
}

/// One reader of a stream, for as long as it reads.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) _place: Place,
    pub(crate) lag: Lag,
}

impl Load {
    pub(crate) fn new(limits: &LimitSettings) -> Self {
        Self {
            runs: Places::new("runs", limits.runs_max, limits.runs_per_scope_max),
            streams: Places::new("streams", limits.streams_max, limits.streams_per_scope_max),
            requests: Rates::new(limits.requests_per_second, limits.requests_per_scope_per_second),
            quota: Quota::new(limits.threads_per_scope_max, limits.bytes_per_scope_max),
        }
    }
}
