//! `threadline evidence keygen`

use super::args::KeygenArgs;
use super::files;
use crate::report::Failure;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use threadline_evidence::SigningKey;

pub(super) fn run(args: &KeygenArgs) -> Result<(), Failure> {
    let (key, pem) = SigningKey::generate().map_err(|error| Failure::Environment(error.to_string()))?;
    write_private(&args.file, &pem)?;
    let public = key.public().to_pem();
    match &args.public {
        Some(path) => fs::write(path, public).map_err(Failure::write),
        None => files::print(&public),
    }
}

/// Writes a new file that only its owner may read. What is there already may be the only copy of a key.
fn write_private(path: &Path, pem: &str) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| {
        file.write_all(pem.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::Usage(format!("there is a file already, and it stays as it is. file={}", path.display()))
        }
        _ => Failure::write(error),
    })
}
