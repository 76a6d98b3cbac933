//! The small files that evidence consists of.

use crate::report::Failure;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// More than any of them may have. Whoever reads one says so.
const BYTES_MAX: u64 = 1024 * 1024;

/// A file, or standard input for `-`, and no more of it than is needed to see that it is too large.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = match path.as_os_str() == "-" {
        true => io::stdin().lock().take(BYTES_MAX).read_to_end(&mut bytes),
        false => File::open(path).and_then(|file| file.take(BYTES_MAX).read_to_end(&mut bytes)),
    };
    read.map_err(|error| Failure::read(path, error))?;
    Ok(bytes)
}

/// The same, of what must be text.
pub(super) fn read_text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(read(path)?).map_err(|_bytes| Failure::invalid(path, &"no text"))
}

pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::write)
}

/// What a file is called.
pub(super) fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "stdin".to_owned() } else { path.display().to_string() }
}
