//! A hash chain over a thread's records, by which a record that was rewritten is noticed.
//!
//! Persisted, so must be kept stable. The value after a record is the SHA-256 of the value before it (32 bytes), the record's offset and its
//! length (`u64` each, little-endian), and its bytes. The value before the first record is 32 zeros.
//!
//! A [`Chain`] goes over all records of a thread. [`Chained`] is what is kept of it with the checkpoint of a run that has ended, so that a
//! range can be checked from one value to the next, even when the records before it are gone. Whoever can write the store can write all
//! of these anew: a value proves something to who has kept it elsewhere.

use crate::engine::Engine;
use crate::error::Error;
use crate::hex::{from_hex, to_hex};
use crate::names::{RunNo, ThreadKey};
use crate::record::{Kind, Record};
use crate::run::RunInfo;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// About how many bytes of records are read at once.
const PAGE_BYTES: usize = 1024 * 1024;

/// A value of a chain.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ChainValue(pub [u8; 32]);

/// A text that is no value of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a chain value is 64 hexadecimal digits")]
pub struct NotAChainValue;

impl ChainValue {
    /// The value after one more record.
    #[must_use]
    pub fn then(self, offset: u64, bytes: &[u8]) -> Self {
        let mut hash = Sha256::new();
        hash.update(self.0);
        hash.update(offset.to_le_bytes());
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
        Self(hash.finalize().into())
    }
}

impl fmt::Display for ChainValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_hex(&self.0))
    }
}

impl fmt::Debug for ChainValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ChainValue {
    type Err = NotAChainValue;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        from_hex(text).and_then(|bytes| bytes.try_into().ok()).map(Self).ok_or(NotAChainValue)
    }
}

impl TryFrom<String> for ChainValue {
    type Error = NotAChainValue;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<ChainValue> for String {
    fn from(value: ChainValue) -> Self {
        value.to_string()
    }
}

/// A chain over the records of a thread that lie between two offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    /// Its first record. Not 0 if those before were gone when it was begun.
    pub from: u64,
    /// One past the last.
    pub at: u64,
    /// The value after that one.
    pub value: ChainValue,
}

impl Chain {
    /// A chain without records.
    #[must_use]
    pub fn new(from: u64) -> Self {
        Self { from, at: from, value: ChainValue::default() }
    }

    /// Takes in a record. One that is not the next begins a chain of its own.
    pub fn push(&mut self, record: &Record) {
        if record.offset != self.at {
            *self = Self::new(record.offset);
        }
        self.value = self.value.then(record.offset, &record.bytes);
        self.at = record.offset + 1;
    }
}

/// What is kept of the chain with a run that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chained {
    /// Over the thread's records, up to the last of the run.
    pub thread: Chain,
    /// Over the run's own [events](Kind::Event), each as its source sent it.
    pub events: RunDigest,
}

/// A chain over the events of one run. Records of other kinds and of other runs may lie between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunDigest {
    /// How many.
    pub count: u64,
    /// The value after the last of them.
    pub value: ChainValue,
}

impl RunDigest {
    /// Takes in a record of the run.
    pub fn push(&mut self, record: &Record) {
        if record.kind == Kind::Event {
            self.count += 1;
            self.value = self.value.then(record.offset, &record.bytes);
        }
    }
}

/// The chain of a run that has ended, while its records are read.
#[derive(Debug)]
pub(crate) struct Chaining {
    thread: Option<Chain>,
    /// No other run's records lie between, so that none has to be read for the chain's sake.
    is_alone: bool,
    events: RunDigest,
}

impl Chaining {
    /// Takes in a record of the run.
    pub(crate) fn push(&mut self, record: &Record) {
        self.events.push(record);
        if let Some(chain) = self.thread.as_mut().filter(|_| self.is_alone) {
            chain.push(record);
        }
    }
}

/// What came of looking at a thread's records again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rechecked {
    /// The chain up to the tail, from the last value that was kept.
    pub head: Chain,
    /// How many kept values were come to again.
    pub values: u64,
    /// How many records lie before those.
    pub records: u64,
    /// How many kept values could not be looked at, because records before them are gone.
    pub not_checked: u64,
    /// Where the records give another value than the one that was kept.
    pub broken: Vec<Broken>,
}

/// Records that are not those which were chained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The run at whose end the value was kept.
    pub run: RunNo,
    /// The value before this offset still holds.
    pub from: u64,
    /// One past the last of the records.
    pub at: u64,
    /// The value that was kept.
    pub expected: ChainValue,
    /// That of the records.
    pub actual: ChainValue,
}

impl Engine {
    /// The chain over a thread's records before an offset, or before the tail: from the last value that was kept there.
    ///
    /// # Errors
    /// If there is no such thread, the offset is beyond the tail, or records that are needed are gone.
    pub async fn chain(&self, thread: &ThreadKey, at: Option<u64>) -> Result<Chain, Error> {
        let info = self.store().thread(thread).await?;
        let (at, tail) = (at.unwrap_or(info.offsets.end), info.offsets.end);
        if at > tail {
            return Err(Error::BeyondTail { offset: at, tail });
        }
        let kept = self.last_chained(thread, RunNo(info.runs), at).await?;
        let chain = self.chain_on(thread, kept.unwrap_or(Chain::new(info.offsets.start)), at).await?;
        if chain.at != at {
            self.check_readable(thread, chain.at).await?;
        }
        Ok(chain)
    }

    /// Looks at a thread's records again, from each value of the chain that was kept to the next.
    ///
    /// # Errors
    /// If there is no such thread, or its records cannot be read.
    pub async fn recheck(&self, thread: &ThreadKey) -> Result<Rechecked, Error> {
        let info = self.store().thread(thread).await?;
        let mut kept: Vec<(RunNo, Chain)> = Vec::new();
        for run in 0..info.runs {
            let chained = self.store().checkpoint(thread, RunNo(run)).await?.and_then(|one| one.chained);
            kept.extend(chained.map(|chained| (RunNo(run), chained.thread)));
        }
        kept.sort_by_key(|(run, chain)| (chain.at, *run));
        let mut last = Chain::new(info.offsets.start);
        let mut rechecked =
            Rechecked { head: last, values: 0, records: 0, not_checked: 0, broken: Vec::new() };
        for (run, expected) in kept {
            // A value of another chain says nothing about this one's beginning.
            let from = if last.from == expected.from { last } else { Chain::new(expected.from) };
            let actual = self.chain_on(thread, from, expected.at).await?;
            if (actual.from, actual.at) != (expected.from, expected.at) {
                rechecked.not_checked += 1;
            } else if actual.value == expected.value {
                rechecked.values += 1;
                rechecked.records += expected.at - from.at;
            } else {
                let (expected, actual, at) = (expected.value, actual.value, expected.at);
                rechecked.broken.push(Broken { run, from: from.at, at, expected, actual });
            }
            last = expected;
        }
        rechecked.head = self.chain_on(thread, last, info.offsets.end).await?;
        Ok(rechecked)
    }

    /// Goes on with a chain up to an offset, as far as there are records.
    pub(crate) async fn chain_on(
        &self,
        thread: &ThreadKey,
        mut chain: Chain,
        at: u64,
    ) -> Result<Chain, Error> {
        let mut next = chain.at;
        while next < at {
            let page = self.store().read(thread, next..at, None, PAGE_BYTES).await?;
            page.records.iter().for_each(|record| chain.push(record));
            next = page.next;
        }
        Ok(chain)
    }

    /// At the start of a run that has ended: what lies before its first record is in the chain.
    pub(crate) async fn begin_chaining(&self, thread: &ThreadKey, run: &RunInfo) -> Chaining {
        let (start, end) = (run.offsets.start, run.offsets.end);
        let thread = match self.chain_before(thread, run).await {
            // A record that cannot be read must not keep others from having their checkpoint.
            Err(_) => None,
            Ok(chain) if chain.at != start => Some(Chain::new(start)),
            Ok(chain) => Some(chain),
        };
        Chaining { thread, is_alone: run.records == end - start, events: RunDigest::default() }
    }

    async fn chain_before(&self, thread: &ThreadKey, run: &RunInfo) -> Result<Chain, Error> {
        let first = self.store().thread(thread).await?.offsets.start;
        let kept = self.last_chained(thread, run.no, run.offsets.start).await?;
        self.chain_on(thread, kept.unwrap_or(Chain::new(first)), run.offsets.start).await
    }

    /// At the end of the run, when its records were pushed.
    pub(crate) async fn end_chaining(
        &self,
        thread: &ThreadKey,
        run: &RunInfo,
        chaining: Chaining,
    ) -> Option<Chained> {
        let Chaining { thread: chain, is_alone, events } = chaining;
        let chain = match is_alone {
            true => chain?,
            false => self.chain_on(thread, chain?, run.offsets.end).await.ok()?,
        };
        Some(Chained { thread: chain, events })
    }

    /// The chain that was kept with the last of the runs before this one which ended at an offset or before.
    async fn last_chained(&self, thread: &ThreadKey, run: RunNo, at: u64) -> Result<Option<Chain>, Error> {
        for run in (0..run.0).rev() {
            let checkpoint = self.store().checkpoint(thread, RunNo(run)).await?;
            let chain = checkpoint.and_then(|checkpoint| checkpoint.chained).map(|chained| chained.thread);
            if let Some(chain) = chain.filter(|chain| chain.at <= at) {
                return Ok(Some(chain));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn whatever_changes_shows(
            value: [u8; 32], offset: u64, bytes: Vec<u8>,
            other: u64, cut in any::<prop::sample::Index>(), bit in 0_u8..8,
        ) {
            let value = ChainValue(value);
            let next = value.then(offset, &bytes);
            prop_assert_eq!(next.to_string().parse(), Ok(next));
            prop_assert_eq!(other == offset, value.then(other, &bytes) == next);
            prop_assert_ne!(next.then(offset, &bytes), next);
            let mut longer = bytes.clone();
            longer.push(0);
            prop_assert_ne!(value.then(offset, &longer), next);
            longer[cut.index(bytes.len() + 1)] ^= 1 << bit;
            prop_assert_ne!(value.then(offset, &longer), value.then(offset, &[&bytes[..], &[0]].concat()));
        }
    }

    /// By another implementation: `printf` and `sha256sum`.
    #[test]
    fn the_value_is_the_one_that_is_documented() {
        let value = ChainValue::default().then(7, b"{}");
        assert_eq!(value.to_string(), "36b3bc7726e5c6d3a9b84ed454ef09092983e0d283204360c30233521b44b1ac");
    }

    #[test]
    fn what_is_no_value_is_not_read() {
        for wrong in ["", "00", &"0".repeat(63), &"g".repeat(64), &"0".repeat(66)] {
            assert_eq!(wrong.parse::<ChainValue>(), Err(NotAChainValue), "{wrong}");
        }
    }
}
