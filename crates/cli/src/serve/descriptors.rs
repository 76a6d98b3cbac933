//! How many files and connections the process may have open.

/// Takes as many as can be had. What most systems give to begin with is for programs that cannot count beyond 1024, and less
/// than the connections that are let in: who is out of descriptors cannot open a file of the store either.
pub(super) fn take_all() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
            tracing::warn!(%error, files = limit.current, "no more files can be open than these");
        }
    }
}
