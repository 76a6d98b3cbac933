//! The events of runs in a file, as they came.

use crate::report::Failure;
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use threadline_protocol::codec::encode_frame;

/// What stands in the comment before an event: how many milliseconds after the one before it came.
pub(crate) const AFTER: &str = "after ";

/// Writes events. Failures are kept until somebody asks.
pub(crate) struct Recorder {
    path: PathBuf,
    file: File,
    is_lines: bool,
    /// Where the run begins that is being written.
    run_start: u64,
    failed: Option<io::Error>,
}

impl Recorder {
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path).map_err(|error| in_file(path, &error))?;
        let is_lines = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("jsonl"));
        Ok(Self { path: path.to_owned(), file, is_lines, run_start: 0, failed: None })
    }

    /// Another run begins here.
    pub(crate) fn begin(&mut self) {
        match self.file.stream_position() {
            Ok(at) => self.run_start = at,
            Err(error) => self.failed = self.failed.take().or(Some(error)),
        }
    }

    /// The run is told again from its beginning.
    pub(crate) fn begin_again(&mut self) {
        let undone =
            self.file.set_len(self.run_start).and_then(|()| self.file.seek(SeekFrom::Start(self.run_start)));
        if let Err(error) = undone {
            self.failed = self.failed.take().or(Some(error));
        }
    }

    /// Writes an event that came so long after the one before it.
    pub(crate) fn event(&mut self, json: &str, after: Duration) {
        let mut frame = Vec::new();
        if self.is_lines {
            // Line breaks stand only between tokens, where a space means the same.
            frame.extend(
                json.trim().bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }),
            );
            frame.push(b'\n');
        } else {
            frame.extend_from_slice(format!(": {AFTER}{}\n", after.as_millis()).as_bytes());
            encode_frame(&mut frame, json.as_bytes(), None);
        }
        if self.failed.is_none()
            && let Err(error) = self.file.write_all(&frame)
        {
            self.failed = Some(error);
        }
    }

    /// Says whether everything could be written.
    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        self.failed.take().map_or(Ok(()), |error| Err(in_file(&self.path, &error)))
    }
}

fn in_file(path: &Path, error: &io::Error) -> Failure {
    Failure::Environment(format!("cannot write {}: {error}", path.display()))
}
