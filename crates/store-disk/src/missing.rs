//! History files that the catalogue has, and that are not there.
//!
//! A file has its name durably before the catalogue learns of it, and is removed after the catalogue has forgotten it durably: no crash takes one
//! away. What may be gone all the same is a file that another takes the place of, as a repair that was interrupted leaves it, and one that was
//! discarded because the catalogue did not say that it has learned. Then all is still where it was before.

use crate::catalogue::FileRow;
use crate::fs::Disk;
use crate::history::{Index, file_name};
use crate::journal::format::segment_name;
use std::collections::BTreeSet;
use std::io;

/// Of the files that are gone those that were lost, by their names.
pub(crate) fn missing_files(
    log: &dyn Disk,
    gone: &[FileRow],
    numbers: &[u64],
    unknown: &[Index],
) -> io::Result<Vec<String>> {
    if gone.is_empty() {
        return Ok(Vec::new());
    }
    let segments: BTreeSet<String> = log.list()?.into_iter().collect();
    let is_elsewhere = |file: &&FileRow| {
        let are_there =
            |replaced: &[u64]| !replaced.is_empty() && replaced.iter().all(|old| numbers.contains(old));
        let are_live = |sources: &[u64]| {
            !sources.is_empty() && sources.iter().all(|source| segments.contains(&segment_name(*source)))
        };
        unknown.iter().any(|index| index.replaces.contains(&file.number))
            || are_there(&file.replaces)
            || are_live(&file.sources)
    };
    let lost = gone.iter().filter(|file| !is_elsewhere(file));
    Ok(lost.map(|file| format!("history/{}", file_name(file.number))).collect())
}
