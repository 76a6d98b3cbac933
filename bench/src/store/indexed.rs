//! The floor with an index in memory, for what is read: what a log costs that is neither sealed nor has a catalogue.

use super::committer::{Engine, Entry, Reader, Stored};
use super::floor::{Floor, HEADER_BYTES};
use super::subject::Durability;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

/// Where a batch is.
#[derive(Clone, Copy, Debug)]
struct Place {
    last: u64,
    offset: u64,
    len: u32,
}

type Index = HashMap<u32, Vec<Place>>;

/// A bare append-only file that knows where its batches are.
#[derive(Debug)]
pub(super) struct Indexed {
    floor: Floor,
    end: u64,
    index: Arc<RwLock<Index>>,
}

/// Reads the file by its index.
#[derive(Debug)]
pub(super) struct IndexedReader {
    file: File,
    index: Arc<RwLock<Index>>,
}

/// Reads the whole file: it has nothing else that would say what is in it. What is torn at the end is cut off.
fn scan(file: &File) -> io::Result<(Index, u64)> {
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let (mut index, mut end) = (Index::new(), 0);
    let (mut header, mut value) = ([0; HEADER_BYTES], Vec::new());
    loop {
        match reader.read_exact(&mut header) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            other => other?,
        }
        let word =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (len, checksum, thread) = (word(0), word(4), word(8));
        let last = u64::from(word(12)) | u64::from(word(16)) << 32;
        value.clear();
        (&mut reader).take(u64::from(len)).read_to_end(&mut value)?;
        if crc32c::crc32c_append(crc32c::crc32c(&header[8..]), &value) != checksum {
            break;
        }
        let offset = end + HEADER_BYTES as u64;
        index.entry(thread).or_default().push(Place { last, offset, len });
        end = offset + u64::from(len);
    }
    file.set_len(end)?;
    Ok((index, end))
}

impl Engine for Indexed {
    type Reader = IndexedReader;

    fn open(dir: &Path, durability: Durability) -> io::Result<(Self, IndexedReader)> {
        let file = Floor::file(dir)?;
        let (index, end) = scan(&file)?;
        let index = Arc::new(RwLock::new(index));
        let reader = IndexedReader { file: file.try_clone()?, index: Arc::clone(&index) };
        Ok((Self { floor: Floor::new(file, durability), end, index }, reader))
    }

    fn commit(&mut self, group: &[Entry]) -> io::Result<()> {
        self.floor.commit(group)?;
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        for Entry { thread, last, value } in group {
            let len = u32::try_from(value.len()).map_err(io::Error::other)?;
            let offset = self.end + HEADER_BYTES as u64;
            index.entry(*thread).or_default().push(Place { last: *last, offset, len });
            self.end = offset + u64::from(len);
        }
        Ok(())
    }
}

impl Reader for IndexedReader {
    fn settle(&self) -> io::Result<()> {
        Ok(())
    }

    fn batches(&self, thread: u32, offset: u64, each: &mut dyn FnMut(Stored<'_>) -> bool) -> io::Result<()> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        let Some(places) = index.get(&thread) else { return Ok(()) };
        let mut value = Vec::new();
        for place in &places[places.partition_point(|place| place.last < offset)..] {
            value.resize(usize::try_from(place.len).map_err(io::Error::other)?, 0);
            self.file.read_exact_at(&mut value, place.offset)?;
            if !each(Stored { last: place.last, value: &value }) {
                break;
            }
        }
        Ok(())
    }

    fn tail(&self, thread: u32) -> io::Result<u64> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        Ok(index.get(&thread).and_then(|places| places.last()).map_or(0, |place| place.last + 1))
    }
}
