//! The catalogue made anew from history. The journal is replayed on top, as always.

use crate::catalogue::{Catalogue, CatalogueError, Changes};
use crate::entry::EntryError;
use crate::history::{BlockKind, HistoryError, Index, Mark, Shelf, Span, file_name};
use crate::kept::Compacted;
use crate::overlay::{self, Item};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use threadline_log::fact::Fact;
use threadline_log::search;
use threadline_log::state::ThreadState;
use threadline_log::{RunNo, ThreadKey, Timestamp};

/// Why the catalogue cannot be made anew.
#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    /// A history file is damaged.
    #[error("the catalogue cannot be made anew. file={file}: {what}")]
    History {
        /// The file.
        file: String,
        /// What is wrong with it.
        what: String,
    },
    /// The catalogue cannot be written.
    #[error("the catalogue cannot be made anew: {0}")]
    Catalogue(String),
}

impl From<CatalogueError> for RebuildError {
    fn from(error: CatalogueError) -> Self {
        Self::Catalogue(error.to_string())
    }
}

#[derive(Debug)]
struct Rebuilt {
    key: ThreadKey,
    state: Option<ThreadState>,
    compacted: Compacted,
    words: BTreeMap<RunNo, BTreeSet<String>>,
}

/// Fills an empty catalogue with what history files say.
pub(crate) fn rebuild(catalogue: &Catalogue, shelf: &Shelf, indexes: &[Index]) -> Result<(), RebuildError> {
    let mut threads: HashMap<u64, Rebuilt> = HashMap::new();
    let (mut watermark, mut threads_end) = (Mark::default(), 0);
    let mut indexes: Vec<&Index> = indexes.iter().collect();
    // What was said again, and never in the journal, comes after what was sealed up to there.
    indexes.sort_by_key(|index| (index.order, index.sources.is_empty()));
    for index in indexes {
        take_facts(shelf, index, &mut threads)?;
        for span in &index.spans {
            if let Some(state) = threads.get_mut(&span.thread).and_then(|thread| thread.state.as_mut()) {
                apply_span(state, span);
            }
        }
        catalogue.learn(index)?;
        watermark = watermark.max(index.last);
        threads_end = threads_end.max(index.threads_end);
    }
    let mut changes = Changes { threads: Vec::new(), watermark, threads_end };
    for (no, thread) in threads {
        let Some(state) = thread.state else { continue };
        let runs: Vec<RunNo> = state.runs().iter().map(|run| run.no).collect();
        let keys = state.keys().map(|(run, key, ack)| (run, key.clone(), *ack)).collect();
        let mut change = overlay::change(no, Some(&state), &thread.compacted, runs, keys, true);
        change.words.extend(thread.words.into_iter().map(|(run, words)| (Some(run), words)));
        changes.threads.push(change);
    }
    Ok(catalogue.apply(&changes)?)
}

/// Records of other runs may lie between those of a span: its ends are what counts.
fn apply_span(state: &mut ThreadState, span: &Span) {
    let (run, time, others) = (RunNo(span.run), Timestamp(span.time), span.count.saturating_sub(1));
    state.apply_records(run, span.first, 1, 0, time);
    state.apply_records(run, span.end.saturating_sub(others), others, span.bytes, time);
}

fn take_facts(shelf: &Shelf, index: &Index, threads: &mut HashMap<u64, Rebuilt>) -> Result<(), RebuildError> {
    let failed =
        |what: String| RebuildError::History { file: format!("history/{}", file_name(index.number)), what };
    let file = shelf.file(index.number).map_err(|error| failed(error.to_string()))?;
    for entry in index.blocks.iter().filter(|block| block.kind == BlockKind::Facts) {
        let damaged = |error: HistoryError| failed(format!("{error}, thread={}", entry.thread));
        let block = file.block(entry.site()).map_err(damaged)?;
        let facts = block.facts().map_err(|error| damaged(HistoryError::Block { at: entry.at, error }))?;
        for fact in facts {
            let unreadable = |error: EntryError| failed(format!("{error}, thread={}", entry.thread));
            let item = Item::of_fact(&fact).map_err(unreadable)?;
            take_fact(threads, entry.thread, &item).map_err(unreadable)?;
        }
    }
    Ok(())
}

fn take_fact(threads: &mut HashMap<u64, Rebuilt>, no: u64, item: &Item) -> Result<(), EntryError> {
    let Item::Fact { fact, delta, tail, .. } = item else { return Ok(()) };
    if let Fact::Created { key, .. } = &**fact {
        threads.entry(no).or_insert_with(|| Rebuilt {
            key: key.clone(),
            state: None,
            compacted: Compacted::new(),
            words: BTreeMap::new(),
        });
    }
    let Some(thread) = threads.get_mut(&no) else { return Ok(()) };
    overlay::apply(&thread.key, &mut thread.state, item);
    match &**fact {
        Fact::Checkpointed { run, delta_bytes, .. } => {
            thread.words.insert(*run, search::words_of_delta(&delta.beginning(*delta_bytes)?));
        }
        Fact::Compacted { run } => _ = thread.compacted.insert(*run, *tail),
        _ => {}
    }
    Ok(())
}
