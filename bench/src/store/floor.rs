//! The floor: a file that grows, one write and one sync for a group, and nothing else.

use super::committer::{Engine, Entry};
use super::subject::Durability;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Length, checksum, thread and last offset.
pub(super) const HEADER_BYTES: usize = 4 + 4 + 4 + 8;

/// A bare append-only file.
#[derive(Debug)]
pub(super) struct Floor {
    file: File,
    buffer: Vec<u8>,
    durability: Durability,
}

impl Floor {
    /// Opens the file; it can be read, too.
    pub(super) fn file(dir: &Path) -> io::Result<File> {
        OpenOptions::new().create(true).append(true).read(true).open(dir.join("log"))
    }

    pub(super) const fn new(file: File, durability: Durability) -> Self {
        Self { file, buffer: Vec::new(), durability }
    }
}

/// Puts the frames of a group one after another.
pub(super) fn frame(group: &[Entry], buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.clear();
    for Entry { thread, last, value } in group {
        let start = buffer.len();
        let len = u32::try_from(value.len()).map_err(io::Error::other)?;
        buffer.extend_from_slice(&len.to_le_bytes());
        buffer.extend_from_slice(&[0; 4]);
        buffer.extend_from_slice(&thread.to_le_bytes());
        buffer.extend_from_slice(&last.to_le_bytes());
        buffer.extend_from_slice(value);
        let checksum = crc32c::crc32c(&buffer[start + 8..]);
        buffer[start + 4..start + 8].copy_from_slice(&checksum.to_le_bytes());
    }
    Ok(())
}

impl Engine for Floor {
    type Reader = ();

    fn open(dir: &Path, durability: Durability) -> io::Result<(Self, ())> {
        Ok((Self::new(Self::file(dir)?, durability), ()))
    }

    fn commit(&mut self, group: &[Entry]) -> io::Result<()> {
        frame(group, &mut self.buffer)?;
        self.file.write_all(&self.buffer)?;
        if self.durability == Durability::Durable {
            self.file.sync_data()?;
        }
        Ok(())
    }
}
