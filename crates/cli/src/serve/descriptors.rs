//! How many files and connections the process may have open.

/// What the store and everything else may need that is no connection.
const RESERVED: u64 = 128;

/// Takes as many as can be had, and gives how many connections that is enough for, if there is a limit. What most systems give
/// to begin with is for programs that cannot count beyond 1024.
pub(super) fn take_all() -> Option<usize> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        // If it cannot be had, it is as it was.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
        getrlimit(Resource::Nofile).current.map(connections)
    }
    #[cfg(not(unix))]
    None
}

/// A client may come with a run, and that needs a connection to its agent. Who lets in more has none left for the store, which
/// then takes no more writes.
fn connections(descriptors: u64) -> usize {
    usize::try_from(descriptors.saturating_sub(RESERVED) / 2).unwrap_or(usize::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::connections;

    #[test]
    fn there_is_room_for_the_store_and_for_agents() {
        assert_eq!(connections(20_000), 9_936);
        assert_eq!(connections(1_024), 448);
        assert_eq!(connections(16), 1);
    }
}
