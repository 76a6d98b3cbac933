//! The floor with segments that were written with zeros before: a sync then has no file length to write.

use super::committer::{Engine, Entry};
use super::floor::frame;
use super::subject::Durability;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

const SEGMENT_BYTES: u64 = 64 << 20;

/// How much is written with zeros at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// Makes empty segments ahead of time.
#[derive(Debug)]
struct Preparer {
    /// It has one more in hand than this holds. Gone when no more are wanted.
    segments: Option<Receiver<io::Result<File>>>,
    thread: Option<JoinHandle<()>>,
}

impl Preparer {
    fn start(dir: &Path) -> io::Result<Self> {
        let (sender, segments) = sync_channel(1);
        let dir: PathBuf = dir.to_owned();
        let thread = std::thread::Builder::new().name("zeroing".to_owned()).spawn(move || {
            for number in 0.. {
                let segment = prepare(&dir.join(format!("{number}.segment")));
                if sender.send(segment).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { segments: Some(segments), thread: Some(thread) })
    }

    fn next(&self) -> io::Result<File> {
        let segments = self.segments.as_ref().expect("they are wanted until it is dropped");
        segments.recv().map_err(io::Error::other)?
    }
}

impl Drop for Preparer {
    fn drop(&mut self) {
        self.segments = None;
        // It would write beside whatever is measured next.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A bare log of segments, which another thread prepares.
#[derive(Debug)]
pub(super) struct Zeroed {
    preparer: Preparer,
    segment: File,
    written: u64,
    buffer: Vec<u8>,
    durability: Durability,
}

fn prepare(path: &Path) -> io::Result<File> {
    let mut file = OpenOptions::new().create_new(true).write(true).open(path)?;
    let zeros = vec![0; CHUNK_BYTES];
    let mut left = SEGMENT_BYTES;
    while left > 0 {
        file.write_all(&zeros)?;
        left = left.saturating_sub(CHUNK_BYTES as u64);
    }
    file.sync_all()?;
    Ok(file)
}

impl Engine for Zeroed {
    type Reader = ();

    fn open(dir: &Path, durability: Durability) -> io::Result<(Self, ())> {
        let preparer = Preparer::start(dir)?;
        let segment = preparer.next()?;
        Ok((Self { preparer, segment, written: 0, buffer: Vec::new(), durability }, ()))
    }

    fn commit(&mut self, group: &[Entry]) -> io::Result<()> {
        frame(group, &mut self.buffer)?;
        let len = u64::try_from(self.buffer.len()).map_err(io::Error::other)?;
        if self.written + len > SEGMENT_BYTES {
            self.segment = self.preparer.next()?;
            self.written = 0;
        }
        self.segment.write_all_at(&self.buffer, self.written)?;
        self.written += len;
        if self.durability == Durability::Durable {
            self.segment.sync_data()?;
        }
        Ok(())
    }
}
