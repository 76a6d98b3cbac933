//! How much of the processors threads have when there is not enough of them for all.

/// A tenth of the share that others have: what waits to be done must not grow without end.
#[cfg(target_os = "linux")]
const BACKGROUND_NICE: i32 = 10;

/// For work behind the writers, every some hundred microseconds: whoever waits for this processor goes first. A low priority is not
/// enough. Whoever runs may go on for milliseconds before another is looked at, and that may be the committer, or the kernel's thread
/// that ends its sync and can do so on this processor alone.
pub(crate) fn give_way() {
    std::thread::yield_now();
}

/// For a thread whose work hardly anybody waits for: whoever wakes up meanwhile goes first. On Linux priorities are those of threads.
pub(crate) fn let_others_go_first() {
    #[cfg(target_os = "linux")]
    {
        // Where it may not be, it goes on as it is.
        let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), BACKGROUND_NICE);
    }
}
