//! Where the ids of messages, calls and subagents come from.

use uuid::Uuid;

/// Ids of ours are version 5 UUIDs in this namespace, which was drawn once.
const NAMESPACE: Uuid = Uuid::from_u128(0x5d1f_a6b0_92c7_4e3d_b7d4_0c6e_81f2_a935);

/// Gives the ids of what a run makes. They must be unique in the thread.
///
/// A closure is one: `|thread: &str, run: &str, count: u64| format!("{run}-{count}")`.
pub trait IdSource: Send + Sync {
    /// The id of whatever is the `count`th thing of a run, counted from zero.
    fn id(&self, thread: &str, run: &str, count: u64) -> String;
}

impl<F> IdSource for F
where
    F: Fn(&str, &str, u64) -> String + Send + Sync,
{
    fn id(&self, thread: &str, run: &str, count: u64) -> String {
        self(thread, run, count)
    }
}

/// Derives ids from the thread, the run and the count, so that nothing has to be drawn: since no two runs of a thread
/// have the same id, neither have their messages.
#[derive(Clone, Copy, Debug, Default)]
pub struct DerivedIds;

impl IdSource for DerivedIds {
    fn id(&self, thread: &str, run: &str, count: u64) -> String {
        // The lengths keep ("ab", "c") and ("a", "bc") apart, whatever the ids hold.
        let name = format!("{}:{thread}{}:{run}{count}", thread.len(), run.len());
        Uuid::new_v5(&NAMESPACE, name.as_bytes()).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_the_same_each_time_and_differ_from_each_other() {
        let ids = [
            DerivedIds.id("t", "r", 0),
            DerivedIds.id("t", "r", 1),
            DerivedIds.id("tr", "", 0),
            DerivedIds.id("", "tr", 0),
            DerivedIds.id("t", "r1", 0),
        ];
        for (at, id) in ids.iter().enumerate() {
            assert!(!ids[..at].contains(id));
        }
        assert_eq!(ids[0], DerivedIds.id("t", "r", 0));
    }
}
