//! A store that is opened to be looked at, and nothing of it changed.

use crate::catalogue::Catalogue;
use crate::fs::{Disk, Shadow};
use crate::open::{CATALOGUE, DiskOptions};
use std::io;
use std::sync::Arc;

/// The store without its catalogue, where nothing that is written lasts; and the catalogue, if it is there and can be opened.
pub(super) fn apart(options: &DiskOptions) -> io::Result<(DiskOptions, Option<Catalogue>)> {
    let (mut alone, path) = options.without_catalogue()?;
    if let Some(directories) = &mut alone.directories {
        directories.root = shadowed(&directories.root);
        directories.log = shadowed(&directories.log);
        directories.history = shadowed(&directories.history);
    }
    let catalogue = path.and_then(|path| Catalogue::open(&path.join(CATALOGUE)).ok().flatten());
    Ok((alone, catalogue))
}

/// A directory where nothing that is written lasts.
pub(super) fn shadowed(disk: &Arc<dyn Disk>) -> Arc<dyn Disk> {
    Arc::new(Shadow::of(Arc::clone(disk)))
}
