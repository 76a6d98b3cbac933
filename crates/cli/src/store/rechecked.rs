//! Whether the records of a store are those that were chained at the ends of runs.

use super::opened::Opened;
use crate::report::{Failure, printable};
use serde_json::{Value, json};
use std::io::{self, Write};
use threadline_log::ThreadKey;
use threadline_log::chain::Broken;

/// What came of it, of all threads.
#[derive(Debug, Default)]
pub(crate) struct Rechecked {
    values: u64,
    records: u64,
    not_checked: u64,
    pub(crate) broken: Vec<(ThreadKey, Broken)>,
}

impl Rechecked {
    /// Reads all records of a store that is whole.
    pub(crate) fn of(opened: &Opened) -> Result<Self, Failure> {
        let mut whole = Self::default();
        for thread in opened.all_threads()? {
            let one = opened.wait(opened.engine.recheck(&thread))?;
            whole.values += one.values;
            whole.records += one.records;
            whole.not_checked += one.not_checked;
            whole.broken.extend(one.broken.into_iter().map(|broken| (thread.clone(), broken)));
        }
        Ok(whole)
    }

    pub(crate) fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        for (thread, Broken { from, at, expected, actual, .. }) in &self.broken {
            let line = format!(
                "rewritten: {thread}: offsets {from}..{at} are not what was chained. expected={expected}, actual={actual}"
            );
            writeln!(out, "{}", printable(&line))?;
        }
        let Self { values, records, not_checked, broken } = self;
        let holds = if broken.is_empty() { "the records are those that were chained" } else { "rewritten" };
        let gone = match not_checked {
            0 => String::new(),
            count => format!(", values whose records are gone: {count}"),
        };
        writeln!(out, "chain values: {values}, over records: {records}{gone}: {holds}")
    }

    pub(crate) fn as_json(&self) -> Value {
        let broken = self.broken.iter().map(|(thread, broken)| {
            let scope = &thread.scope;
            json!({"app": scope.app.as_str(), "user": scope.user.as_str(), "thread": thread.thread.as_str(),
                "run": broken.run.0, "first": broken.from, "tail": broken.at,
                "expected": broken.expected, "actual": broken.actual})
        });
        let broken: Vec<Value> = broken.collect();
        json!({"values": self.values, "records": self.records, "notChecked": self.not_checked, "broken": broken})
    }
}
