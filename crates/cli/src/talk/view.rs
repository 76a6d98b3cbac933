//! What is done with a run's events: shown or written, and recorded.

use super::recorder::Recorder;
use super::screen::Screen;
use crate::report::Failure;
use crate::sink::{JsonSink, Layout};
use std::io::{self, Write as _};
use std::time::Duration;
use threadline_client::{ClientError, Subscriber};
use threadline_protocol::Event;
use threadline_protocol::stages::consumer::Notice;
use threadline_protocol::stages::fold::{Changes, Fold};
use tokio::time::Instant;

/// Where a run goes.
pub(crate) struct View {
    pub(crate) out: Out,
    recorder: Option<Recorder>,
    /// When the last event came, of a run that is recorded.
    last: Option<Instant>,
    failed: Option<Failure>,
}

/// What is written to standard output.
pub(crate) enum Out {
    Screen(Box<Screen<io::Stdout>>),
    Lines(JsonSink),
}

impl View {
    pub(crate) fn new(out: Out, recorder: Option<Recorder>) -> Self {
        Self { out, recorder, last: None, failed: None }
    }

    pub(crate) fn lines() -> Out {
        Out::Lines(JsonSink::new(Layout::Lines))
    }

    /// A run begins, which is recorded.
    pub(crate) fn begin(&mut self, held: &Fold) {
        if let Out::Screen(screen) = &mut self.out {
            screen.begin(held);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.begin();
            self.last = Some(Instant::now());
        }
    }

    /// What a server holds is told, and not recorded: it is no run.
    pub(crate) fn begin_with_snapshots(&mut self) {
        if let Out::Screen(screen) = &mut self.out {
            screen.begin_with_snapshots();
        }
        self.last = None;
    }

    /// Says something about the run that is no part of it.
    pub(crate) fn tell(&mut self, text: &str) {
        match &mut self.out {
            Out::Screen(screen) => screen.line(text),
            // Who cannot be told can do without.
            Out::Lines(_) => _ = writeln!(io::stderr().lock(), "threadline: {text}"),
        }
    }

    /// A run has ended. Says whether everything could be written.
    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        match &mut self.out {
            Out::Screen(screen) => screen.end()?,
            Out::Lines(lines) => lines.flush()?,
        }
        self.recorder.as_mut().map_or(Ok(()), Recorder::end)?;
        self.failed.take().map_or(Ok(()), Err)
    }
}

impl Subscriber for View {
    fn received(&mut self, json: &str) {
        if let Out::Lines(lines) = &mut self.out
            && let Err(failure) = lines.event(json).and_then(|()| lines.flush())
        {
            self.failed = Some(failure);
        }
        if let (Some(recorder), Some(last)) = (&mut self.recorder, &mut self.last) {
            let now = Instant::now();
            recorder.event(json, now.duration_since(*last));
            *last = now;
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        if let Out::Screen(screen) = &mut self.out {
            screen.event(event);
        }
    }

    fn changed(&mut self, changes: &Changes<'_>, held: &Fold) {
        if let Out::Screen(screen) = &mut self.out {
            screen.changed(changes, held);
        }
    }

    fn notice(&mut self, notice: &Notice) {
        self.tell(&crate::report::printable(&notice.message));
    }

    fn lost(&mut self, error: &ClientError, after: Duration) {
        match &mut self.out {
            Out::Screen(screen) => screen.lost(error, after),
            Out::Lines(_) => self.tell(&format!("connection lost: {error}; trying again")),
        }
    }

    fn restarted(&mut self) {
        if let Out::Screen(screen) = &mut self.out {
            screen.restarted();
        }
        if let (Some(recorder), Some(_)) = (&mut self.recorder, self.last) {
            recorder.begin_again();
        }
    }
}
