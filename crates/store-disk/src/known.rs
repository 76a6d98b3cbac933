//! What the rest of a store knows of its journal: where that ends before, it has lost something.

use crate::catalogue::Catalogue;
use crate::dirs::Directories;
use crate::history::{HistoryFile, Index, Mark, file_number};
use crate::journal::Known;
use crate::open::CATALOGUE;
use std::collections::BTreeSet;
use std::io;

/// What the catalogue and history know of the journal, as far as they can be read.
pub(crate) fn known_of_journal(directories: &Directories) -> io::Result<Known> {
    let catalogue = directories.path.as_deref().map(|path| Catalogue::open(&path.join(CATALOGUE)));
    let whole = catalogue.and_then(Result::ok).flatten().filter(|one| matches!(one.is_marked(), Ok(false)));
    let watermark = whole.as_ref().and_then(|whole| whole.watermark().ok().flatten());
    let names = directories.history.list()?;
    let numbers: BTreeSet<u64> = names.iter().filter_map(|name| file_number(name)).collect();
    let index = |number: &u64| HistoryFile::open(&*directories.history, *number).ok()?.index().ok();
    let indexes: Vec<Index> = numbers.iter().filter_map(index).collect();
    let files = whole.and_then(|whole| whole.files().ok()).unwrap_or_default();
    let there = files.into_iter().filter(|file| numbers.contains(&file.number));
    let sources = there.flat_map(|file| file.sources);
    Ok(known(&indexes, watermark.map(|(mark, _)| mark), sources))
}

/// The catalogue takes in what is durable, and history has what the catalogue had taken in.
pub(crate) fn known(
    indexes: &[Index],
    watermark: Option<Mark>,
    sealed: impl IntoIterator<Item = u64>,
) -> Known {
    let durable = indexes.iter().map(|index| index.last).chain(watermark).max();
    let sources = indexes.iter().flat_map(|index| index.sources.iter().copied()).chain(sealed);
    let sealed_end = sources.max().map_or(0, |last| last + 1);
    Known { durable: durable.unwrap_or_default().into(), sealed_end }
}
