//! What is known in memory: the threads in use, what the catalogue has not taken in, and where unsealed data is.
//!
//! A thread in use has two states. The *admitted* one includes writes that are on their way and decides about the next; the *durable*
//! one is what readers see.

use crate::catalogue::{Changes, KeysSum, StoredThread, ThreadChange};
use crate::entry::{Attached, FactEntry};
use crate::history::Mark;
use crate::kept::{Compacted, Kept};
use crate::numbered::{ByName, ByNumber};
use crate::restated::restated;
use crate::unsealed::Unsealed;
use crate::usages::Usages;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use threadline_log::fact::Fact;
use threadline_log::sealed::batch::BatchHead;
use threadline_log::search;
use threadline_log::state::ThreadState;
use threadline_log::store::Ack;
use threadline_log::{AppendKey, RunNo, ThreadKey, Timestamp};

/// What a thread in use costs at least, for the estimate of what waits for the catalogue.
const DIRTY_BYTES: usize = 256;

/// What is written to a thread in one go.
#[derive(Debug)]
pub(crate) struct Write {
    pub(crate) thread: u64,
    pub(crate) items: SmallVec<[Item; 1]>,
}

/// A part of a write.
#[derive(Debug)]
pub(crate) enum Item {
    /// A fact, the tail when it became true, and if it is a checkpoint bytes that begin with the compacted events. Boxed, because few
    /// writes have one and all would be as large.
    Fact { time: Timestamp, tail: u64, fact: Box<Fact>, delta: Attached },
    /// Records, and how many bytes they have.
    Records { head: BatchHead, bytes: u64 },
}

/// Which state is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// That which decides.
    Admitted,
    /// That which is read.
    Durable,
}

/// Whether a name is known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// It is a thread in use.
    Thread(u64),
    /// There is no such thread.
    Absent,
    /// Only the catalogue can tell.
    Unknown,
}

#[derive(Debug, Clone, Copy, Default)]
struct Name {
    admitted: Option<u64>,
    durable: Option<u64>,
}

#[derive(Debug, Default)]
struct Dirty {
    runs: BTreeSet<RunNo>,
    keys: Vec<(RunNo, AppendKey, Ack)>,
    is_described: bool,
    /// A run was opened, and with it keys of others forgotten.
    is_opened: bool,
    /// Compacted events whose words are to be found.
    deltas: BTreeMap<RunNo, Delta>,
}

#[derive(Debug)]
struct Hot {
    key: ThreadKey,
    admitted: Option<ThreadState>,
    durable: Option<ThreadState>,
    compacted: Compacted,
    in_flight: u32,
    dirty: Dirty,
    /// It is among those that the catalogue has to look at.
    is_dirty: bool,
    /// Used since threads were last put away.
    is_touched: bool,
}

/// What is known in memory.
#[derive(Debug, Default)]
pub(crate) struct Overlay {
    names: ByName<Name>,
    hot: ByNumber<Hot>,
    /// The threads that the catalogue has to look at.
    dirty: Vec<u64>,
    dirty_bytes: usize,
    /// Where unsealed data is.
    pub(crate) unsealed: Unsealed,
    /// The last entry that the durable states contain.
    pub(crate) durable: Mark,
    /// The number that the next thread gets.
    pub(crate) threads_end: u64,
    /// What scopes keep.
    pub(crate) usages: Usages,
    /// How many threads in use were deleted.
    deleted: usize,
    /// How many names were put away: whoever asked the catalogue before must ask again.
    pub(crate) evictions: u64,
}

impl Overlay {
    /// Whether a name is known here.
    pub(crate) fn find(&mut self, key: &ThreadKey, view: View) -> Known {
        let Some(name) = self.names.get(key) else { return Known::Unknown };
        let no = match view {
            View::Admitted => name.admitted,
            View::Durable => name.durable,
        };
        if let Some(hot) = no.and_then(|no| self.hot.get_mut(&no)) {
            hot.is_touched = true;
        }
        no.map_or(Known::Absent, Known::Thread)
    }

    /// The state of a thread in use.
    pub(crate) fn state(&self, no: u64, view: View) -> Option<&ThreadState> {
        let hot = self.hot.get(&no)?;
        match view {
            View::Admitted => hot.admitted.as_ref(),
            View::Durable => hot.durable.as_ref(),
        }
    }

    /// What is kept of the records of a thread in use. None if it was deleted.
    pub(crate) fn kept(&self, no: u64) -> Option<Kept> {
        let hot = self.hot.get(&no)?;
        hot.durable.as_ref().map(|state| Kept::of(state, &hot.compacted))
    }

    /// The facts about a thread in use, made anew. None if it was deleted.
    pub(crate) fn restated(&self, no: u64) -> Option<Vec<FactEntry>> {
        let hot = self.hot.get(&no)?;
        hot.durable.as_ref().map(|state| restated(state, &hot.compacted))
    }

    /// Whether a thread is in use, though it may be deleted.
    pub(crate) fn has(&self, no: u64) -> bool {
        self.hot.contains_key(&no)
    }

    /// Takes up a thread from the catalogue, unless it is in use.
    pub(crate) fn take_up(&mut self, stored: StoredThread) {
        if self.names.contains_key(&stored.key) || self.hot.contains_key(&stored.no) {
            return;
        }
        self.names.insert(stored.key.clone(), Name { admitted: Some(stored.no), durable: Some(stored.no) });
        let hot = Hot {
            key: stored.key,
            admitted: Some(stored.state.clone()),
            durable: Some(stored.state),
            compacted: stored.compacted,
            in_flight: 0,
            dirty: Dirty::default(),
            is_dirty: false,
            is_touched: true,
        };
        self.hot.insert(stored.no, hot);
    }

    /// Counts a write that was submitted.
    pub(crate) fn admit(&mut self, write: &Write) {
        if let Some(hot) = self.decide(write.thread, &write.items) {
            hot.in_flight += 1;
        }
    }

    /// Makes a write visible, whose entries are at these places.
    pub(crate) fn commit(&mut self, write: &Write, marks: impl IntoIterator<Item = Mark>) {
        for (item, mark) in write.items.iter().zip(marks) {
            self.durable = self.durable.max(mark);
            self.unsealed.push(write.thread, item, mark);
        }
        if let Some(hot) = self.show(write.thread, &write.items) {
            hot.in_flight -= 1;
        }
    }

    /// Takes in an item that was found in the journal, where both views are the same.
    pub(crate) fn replay(&mut self, thread: u64, item: &Item, mark: Mark) {
        self.durable = self.durable.max(mark);
        let items = std::slice::from_ref(item);
        self.decide(thread, items);
        self.show(thread, items);
    }

    fn decide(&mut self, thread: u64, items: &[Item]) -> Option<&mut Hot> {
        // What makes a thread comes first.
        if let Some(Fact::Created { key, .. }) = items.first().and_then(Item::fact) {
            self.names.entry(key.clone()).or_default().admitted = Some(thread);
            self.threads_end = self.threads_end.max(thread + 1);
            self.hot.entry(thread).or_insert_with(|| Hot::new(key.clone()));
        }
        let hot = self.hot.get_mut(&thread)?;
        for item in items {
            apply(&hot.key, &mut hot.admitted, item);
        }
        if hot.admitted.is_none()
            && let Some(name) = self.names.get_mut(&hot.key)
        {
            name.admitted = name.admitted.filter(|no| *no != thread);
        }
        Some(hot)
    }

    fn show(&mut self, thread: u64, items: &[Item]) -> Option<&mut Hot> {
        let hot = self.hot.get_mut(&thread)?;
        let before = hot.durable.as_ref().map(ThreadState::bytes);
        for item in items {
            apply(&hot.key, &mut hot.durable, item);
            match (&hot.durable, item.fact()) {
                (None, _) => {
                    if let Some(name) = self.names.get_mut(&hot.key) {
                        name.durable = name.durable.filter(|no| *no != thread);
                    }
                    self.deleted += 1;
                    hot.dirty = Dirty::default();
                }
                (Some(_), Some(Fact::Created { .. })) => {
                    self.names.entry(hot.key.clone()).or_default().durable = Some(thread);
                }
                _ => {}
            }
            if hot.durable.is_some() {
                note_compacted(&mut hot.compacted, item);
            }
            self.dirty_bytes += hot.dirty.note(item);
        }
        self.usages.note(&hot.key.scope, before, hot.durable.as_ref().map(ThreadState::bytes));
        if !std::mem::replace(&mut hot.is_dirty, true) {
            self.dirty.push(thread);
            self.dirty_bytes += DIRTY_BYTES;
        }
        Some(hot)
    }

    /// The numbers of threads that have something in the journal, and of which nobody knows how they were made or deleted.
    pub(crate) fn unknown_threads(&self) -> Vec<u64> {
        let numbers = self.unsealed.threads();
        numbers.filter(|no| !self.has(*no) && !self.unsealed.is_deleted(*no)).collect()
    }

    /// Threads whose names were given to others though nothing says that they were deleted, as only damage can do.
    pub(crate) fn superseded(&self) -> BTreeMap<u64, ThreadKey> {
        let hot = self.hot.iter().filter(|(no, hot)| hot.durable.is_some() && !self.has_its_name(**no, hot));
        hot.map(|(no, hot)| (*no, hot.key.clone())).collect()
    }

    fn has_its_name(&self, no: u64, hot: &Hot) -> bool {
        self.names.get(&hot.key).is_some_and(|name| name.durable == Some(no))
    }

    /// About how many bytes wait for the catalogue.
    pub(crate) fn dirty_bytes(&self) -> usize {
        self.dirty_bytes
    }

    /// Whether the catalogue has something to take in.
    pub(crate) fn is_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// What the catalogue has to take in. Words are found later, by [`find_words`].
    pub(crate) fn take_changes(&mut self) -> (Changes, Deltas) {
        let mut deltas = Vec::new();
        let mut changes =
            Changes { watermark: self.durable, threads_end: self.threads_end, threads: Vec::new() };
        for no in std::mem::take(&mut self.dirty) {
            let Some(hot) = self.hot.get_mut(&no) else { continue };
            let dirty = std::mem::take(&mut hot.dirty);
            hot.is_dirty = false;
            let index = changes.threads.len();
            deltas.extend(dirty.deltas.into_iter().map(|(run, delta)| (index, run, delta)));
            let state = hot.durable.as_ref();
            let mut change = change(no, state, &hot.compacted, dirty.runs, dirty.keys, dirty.is_described);
            change.keyed_runs = state.filter(|_| dirty.is_opened).map(|state| state.keyed_runs().collect());
            changes.threads.push(change);
        }
        self.dirty_bytes = 0;
        (changes, deltas)
    }

    /// Puts away what the catalogue has, once it has taken in everything that was taken before.
    pub(crate) fn put_away(&mut self, threads_max: usize) {
        let mut excess = self.hot.len().saturating_sub(threads_max);
        if excess == 0 && self.deleted == 0 {
            return;
        }
        self.deleted = 0;
        let mut away = Vec::new();
        for (no, hot) in &mut self.hot {
            let is_idle = hot.in_flight == 0 && !hot.is_dirty;
            let is_gone = hot.durable.is_none() && hot.admitted.is_none();
            let is_quiet = !hot.durable.iter().flat_map(ThreadState::runs).any(|run| run.is_running());
            let is_touched = std::mem::take(&mut hot.is_touched);
            self.deleted += usize::from(is_gone && !is_idle);
            if is_idle && (is_gone || (excess > 0 && is_quiet && !is_touched)) {
                excess = excess.saturating_sub(1);
                away.push((*no, hot.key.clone()));
            }
        }
        for (no, key) in away {
            self.hot.remove(&no);
            let others =
                |name: &Name| [name.admitted, name.durable].into_iter().flatten().any(|other| other != no);
            if self.names.get(&key).is_some_and(|name| !others(name)) {
                self.names.remove(&key);
            }
            self.evictions += 1;
        }
    }

    /// Runs that go on and whose lease was over, in order.
    pub(crate) fn expired(&self, time: Timestamp) -> Vec<(ThreadKey, RunNo)> {
        let mut expired = Vec::new();
        for (_, hot) in self.hot.iter().filter(|(no, hot)| self.has_its_name(**no, hot)) {
            let runs = hot.durable.iter().flat_map(ThreadState::runs);
            let over = runs.filter(|run| run.is_running() && run.lease_until <= time);
            expired.extend(over.map(|run| (hot.key.clone(), run.no)));
        }
        expired.sort();
        expired
    }

    /// Whether a run that goes on has records before a place of the journal.
    pub(crate) fn is_running_before(&self, segment_end: u64) -> bool {
        self.hot.iter().any(|(no, hot)| {
            let mut runs = hot.durable.iter().flat_map(ThreadState::runs).filter(|run| run.is_running());
            runs.any(|run| self.unsealed.has_records_of(*no, run.no, segment_end))
        })
    }
}

/// Compacted events of a run: the first bytes of these, so many. Packed, where they were found when the store was opened: nobody waits then
/// for what only finds words.
type Delta = (Attached, u64);

/// Compacted events of runs, with the place of their thread among the changes.
pub(crate) type Deltas = Vec<(usize, RunNo, Delta)>;

/// Finds the words of compacted events.
pub(crate) fn find_words(changes: &mut Changes, deltas: Deltas) {
    for (index, run, (delta, bytes)) in deltas {
        // If they cannot be unpacked, who reads the checkpoint is told.
        let words = delta.beginning(bytes).map(|delta| search::words_of_delta(&delta)).unwrap_or_default();
        changes.threads[index].words.push((Some(run), words));
    }
}

/// What the catalogue is told about a thread.
pub(crate) fn change(
    no: u64,
    state: Option<&ThreadState>,
    compacted: &Compacted,
    runs: impl IntoIterator<Item = RunNo>,
    keys: Vec<(RunNo, AppendKey, Ack)>,
    is_described: bool,
) -> ThreadChange {
    let info = state.map(ThreadState::info);
    let mut words = Vec::new();
    if let Some(info) = info.as_ref().filter(|_| is_described) {
        let name = info.metadata.name.as_deref().unwrap_or_default();
        words.push((None, search::words(name).collect()));
    }
    let runs = runs.into_iter();
    let runs =
        runs.filter_map(|run| Some((state?.run(run).ok()?.clone(), compacted.get(&run).copied()))).collect();
    let keys_sum = state.map(|state| KeysSum::of(state.keys())).unwrap_or_default();
    ThreadChange { no, info, runs, keys, keys_sum, keyed_runs: None, words }
}

impl Hot {
    fn new(key: ThreadKey) -> Self {
        let dirty = Dirty::default();
        let compacted = Compacted::new();
        Self {
            key,
            admitted: None,
            durable: None,
            compacted,
            in_flight: 0,
            dirty,
            is_dirty: false,
            is_touched: true,
        }
    }
}

impl Dirty {
    /// Notes what has changed; returns about how many bytes that takes.
    fn note(&mut self, item: &Item) -> usize {
        match item {
            Item::Records { head, .. } => {
                // Nearly always the one that was noted before.
                if self.runs.last() != Some(&head.run) {
                    self.runs.insert(head.run);
                }
                0
            }
            Item::Fact { time, fact, delta, .. } => match &**fact {
                Fact::Keyed { run, key, first, count } => {
                    let ack = Ack { first: *first, count: *count, time: *time, repeated: false };
                    self.keys.push((*run, key.clone(), ack));
                    DIRTY_BYTES
                }
                Fact::Checkpointed { run, delta_bytes, .. } => {
                    self.runs.insert(*run);
                    self.deltas.insert(*run, (delta.clone(), *delta_bytes));
                    delta.len()
                }
                Fact::Opened { run, .. } => {
                    self.runs.insert(*run);
                    self.is_opened = true;
                    DIRTY_BYTES
                }
                Fact::Claimed { run, .. } | Fact::Ended { run, .. } | Fact::Compacted { run } => {
                    self.runs.insert(*run);
                    DIRTY_BYTES
                }
                Fact::Described { .. } => {
                    self.is_described = true;
                    0
                }
                Fact::Created { .. } | Fact::Trimmed { .. } | Fact::Deleted => 0,
            },
        }
    }
}

/// Takes in when a run was compacted.
pub(crate) fn note_compacted(compacted: &mut Compacted, item: &Item) {
    if let Item::Fact { fact, tail, .. } = item
        && let Fact::Compacted { run } = **fact
    {
        compacted.insert(run, *tail);
    }
}

/// Takes an item into a state.
pub(crate) fn apply(key: &ThreadKey, state: &mut Option<ThreadState>, item: &Item) {
    match item {
        Item::Fact { time, fact, .. } => match &**fact {
            Fact::Created { incarnation, .. } => {
                state.get_or_insert_with(|| ThreadState::new(key.clone(), *incarnation, *time));
            }
            Fact::Deleted => *state = None,
            fact => {
                if let Some(state) = state {
                    state.apply(*time, fact);
                }
            }
        },
        Item::Records { head, bytes } => {
            if let Some(state) = state {
                state.apply_records(head.run, head.first, u64::from(head.count), *bytes, head.time);
            }
        }
    }
}

impl Item {
    fn fact(&self) -> Option<&Fact> {
        match self {
            Self::Fact { fact, .. } => Some(fact),
            Self::Records { .. } => None,
        }
    }

    /// The fact of an entry.
    pub(crate) fn of_fact(entry: &FactEntry) -> Result<Self, crate::entry::EntryError> {
        let fact = entry.fact()?;
        let delta = match &fact {
            Fact::Checkpointed { .. } => entry.kept()?,
            _ => Attached::default(),
        };
        Ok(Self::Fact { time: entry.time, tail: entry.tail, fact: Box::new(fact), delta })
    }
}
