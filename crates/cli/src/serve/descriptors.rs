//! How many files and connections the process may have open.

/// What the store and everything else may need that is no connection.
const RESERVED: u64 = 128;

/// Takes as many as can be had, and gives how many connections that is enough for beside so many runs, if there is a limit. What
/// most systems give to begin with is for programs that cannot count beyond 1024.
pub(super) fn take_all(runs_max: usize) -> Option<usize> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        // If it cannot be had, it is as it was.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
        getrlimit(Resource::Nofile).current.map(|descriptors| connections(descriptors, runs_max))
    }
    #[cfg(not(unix))]
    None
}

/// Each run needs a connection to its agent, and there are no more runs than there may be, or than there are clients. Who lets in
/// more has none left for the store, which then takes no more writes.
fn connections(descriptors: u64, runs_max: usize) -> usize {
    let free = usize::try_from(descriptors.saturating_sub(RESERVED)).unwrap_or(usize::MAX);
    (free - runs_max.min(free / 2)).max(1)
}

#[cfg(test)]
mod tests {
    use super::connections;

    #[test]
    fn there_is_room_for_the_store_and_for_agents() {
        assert_eq!(connections(20_000, 5_000), 14_872);
        assert_eq!(connections(20_000, 50_000), 9_936);
        assert_eq!(connections(1_024, 5_000), 448);
        assert_eq!(connections(1_024, 10), 886);
        assert_eq!(connections(16, 5_000), 1);
    }
}
