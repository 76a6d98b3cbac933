//! What is not kept for ever.

use crate::duration::parse;
use serde::{Deserialize, Deserializer, de};
use std::time::Duration;
use threadline_log::retention::{KeepRaw, Retention};

/// How anything is kept for ever.
const FOREVER: &str = "forever";

/// What is not kept for ever. By default everything is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionSettings {
    /// For how long after its end the records of a run are kept as they came; then its compaction takes their place. None is for ever.
    #[serde(deserialize_with = "forever_or")]
    pub keep_raw: Option<Duration>,
    /// After how long a thread to which nothing happens is deleted; none is never.
    #[serde(deserialize_with = "forever_or_some_time")]
    pub thread_age_max: Option<Duration>,
    /// Of more threads in a scope, those that were updated first are deleted; 0 is as many as there are.
    pub threads_per_scope_max: usize,
    /// How often it is looked for what need not be kept.
    #[serde(deserialize_with = "some_time")]
    pub every: Duration,
}

impl Default for RetentionSettings {
    fn default() -> Self {
        Self {
            keep_raw: None,
            thread_age_max: None,
            threads_per_scope_max: 0,
            every: Duration::from_hours(1),
        }
    }
}

impl RetentionSettings {
    /// What the engine is to keep. None if that is everything.
    #[must_use]
    pub fn retention(&self) -> Option<Retention> {
        let millis = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        let retention = Retention {
            keep_raw: self.keep_raw.map_or(KeepRaw::Forever, |time| KeepRaw::For(millis(time))),
            thread_age_ms_max: self.thread_age_max.map(millis),
            threads_max: Some(self.threads_per_scope_max).filter(|max| *max > 0),
        };
        Some(retention).filter(|retention| *retention != Retention::default())
    }
}

fn forever_or<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    match String::deserialize(deserializer)?.as_str() {
        FOREVER => Ok(None),
        text => parse(text).map(Some).map_err(|error| de::Error::custom(format!("{error}, or {FOREVER}"))),
    }
}

/// Threads of no age at all would be deleted as soon as their runs end.
fn forever_or_some_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    forever_or(deserializer)?.map(not_zero).transpose()
}

fn some_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    not_zero(crate::duration::deserialize(deserializer)?)
}

fn not_zero<E: de::Error>(time: Duration) -> Result<Duration, E> {
    if time.is_zero() { Err(E::custom("expected more than 0")) } else { Ok(time) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<RetentionSettings, toml::de::Error> {
        text.parse::<toml::Table>().unwrap().try_into()
    }

    #[test]
    fn everything_is_kept_unless_it_is_said() {
        let all = "keep_raw = \"forever\"\nthread_age_max = \"forever\"\nthreads_per_scope_max = 0";
        assert_eq!(read(all).unwrap().retention(), None);
        assert_eq!(RetentionSettings::default().retention(), None);
        let some = "keep_raw = \"30d\"\nthread_age_max = \"365d\"\nthreads_per_scope_max = 7";
        let day = 24 * 60 * 60 * 1_000;
        let expected = Retention {
            keep_raw: KeepRaw::For(30 * day),
            thread_age_ms_max: Some(365 * day),
            threads_max: Some(7),
        };
        assert_eq!(read(some).unwrap().retention(), Some(expected));
        let not_at_all = Retention { keep_raw: KeepRaw::For(0), ..Retention::default() };
        assert_eq!(read("keep_raw = \"0\"").unwrap().retention(), Some(not_at_all));
    }

    #[test]
    fn what_would_delete_at_once_is_refused() {
        for wrong in
            ["thread_age_max = \"0\"", "every = \"0s\"", "keep_raw = \"never\"", "threads_per_scope_max = -1"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
