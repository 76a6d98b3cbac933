//! Conversations as files, which both sides read.

use crate::corpus::{self, Corpus};
use crate::measure::Selection;
use std::fs;
use std::io;
use std::path::PathBuf;

/// A folder for the files of this run, which goes with it.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("threadline-bench-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind is in a folder for such things.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A conversation, and its file of one event a line.
#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) corpus: Corpus,
    pub(super) file: PathBuf,
    /// Where the reference says what a client holds in the end.
    pub(super) result: PathBuf,
}

impl Conversation {
    pub(super) fn write(folder: &Folder, events: usize) -> io::Result<Self> {
        let corpus = corpus::conversation(events);
        let file = folder.0.join(format!("{events}.jsonl"));
        let result = folder.0.join(format!("{events}.result.json"));
        let lines: String = corpus.samples.iter().flat_map(|sample| [&sample.json, "\n"]).collect();
        fs::write(&file, lines)?;
        Ok(Self { corpus, file, result })
    }

    /// All of it.
    pub(super) fn selection(&self) -> Selection {
        Selection::of(&self.corpus, "all", |_| true)
    }
}
