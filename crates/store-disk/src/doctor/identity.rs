//! The `store` file made anew from what the other files say.

use super::report::{Report, Severity};
use super::shadow::shadowed;
use crate::catalogue::Catalogue;
use crate::dirs::Directories;
use crate::history::Shelf;
use crate::identity::{Identity, IdentityError, NAME};
use crate::journal::{self, Journal, Salt};
use crate::open::{CATALOGUE, DiskOptions, OpenError};
use std::io;

/// Makes the file anew if it is damaged or missing, and returns the first number that no history file has had. Numbers that the catalogue knows to be given are in it from now on: what is written
/// while the store is mended must not pass for a file that the catalogue has and that is lost.
pub(super) fn repair_identity(
    options: &DiskOptions,
    directories: &Directories,
    report: &mut Report,
) -> Result<u64, OpenError> {
    let found = match Identity::read(&*directories.root) {
        Ok(found) => found,
        Err(IdentityError::Damaged) => {
            directories.copy_aside(&*directories.root, NAME)?;
            report.put_aside.push(NAME.to_owned());
            None
        }
        Err(error) => return Err(error.into()),
    };
    let is_there = found.is_some();
    let mut identity = match found {
        Some(identity) => identity,
        None => Identity::new(salt(directories)?, options.time),
    };
    let before = (identity.threads_end, identity.files_end);
    let (threads_end, files_end) = given(directories)?;
    identity.threads_end = identity.threads_end.max(threads_end);
    identity.files_end = identity.files_end.max(files_end);
    if is_there && before == (identity.threads_end, identity.files_end) {
        return Ok(identity.files_end);
    }
    identity.write(&*directories.root)?;
    if !is_there {
        let what =
            "it was made anew from what the other files say; when the store was made is not known any more";
        report.find(Severity::Damage, NAME, what);
    }
    Ok(identity.files_end)
}

/// The salt of the segments; any one will do if there are none.
fn salt(directories: &Directories) -> Result<Salt, OpenError> {
    let mut salt = Salt([0; 8]);
    getrandom::fill(&mut salt.0).map_err(io::Error::other)?;
    let (journal, found) = Journal::open(shadowed(&directories.log), &journal::Options::new(salt), |_| ())?;
    if journal.salt() == salt && !found.is_new {
        return Err(IdentityError::NoSalt.into());
    }
    Ok(journal.salt())
}

/// The ends of the numbers of threads and of history files that history and the catalogue know of. The journal is read whenever a store is opened.
fn given(directories: &Directories) -> io::Result<(u64, u64)> {
    let (mut threads_end, mut files_end) = (0, 0);
    let (shelf, numbers) = Shelf::open(shadowed(&directories.history))?;
    for number in numbers {
        files_end = files_end.max(number + 1);
        threads_end = threads_end.max(shelf.index(number).map_or(0, |index| index.threads_end));
    }
    let path = directories.path.as_ref().map(|path| path.join(CATALOGUE));
    if let Some(Ok(Some(catalogue))) = path.as_deref().map(Catalogue::open) {
        let known = catalogue.files().unwrap_or_default();
        files_end = files_end.max(known.last().map_or(0, |file| file.number + 1));
        threads_end = threads_end.max(catalogue.watermark().ok().flatten().map_or(0, |(_, end)| end));
    }
    Ok((threads_end, files_end))
}
