//! How far a command has come, for a person who waits.

use crate::args::SourceArgs;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

/// Less than this is read before anyone wonders.
const FILE_BYTES_MIN: u64 = 8 * 1024 * 1024;
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);
const BAR_WIDTH: u64 = 24;

/// How much was read or written, and since when.
#[derive(Debug)]
pub(crate) struct Progress {
    total: u64,
    done: u64,
    /// What is counted; bytes, if nothing else is.
    things: Option<&'static str>,
    started: Instant,
    drawn: Instant,
}

impl Progress {
    /// Only where someone sees it and nothing else is in its way: standard error is a terminal, standard output is not
    /// or is not written to meanwhile, and the input is a large file.
    pub(crate) fn of(options: &SourceArgs, prints_at_the_end: bool) -> Option<Self> {
        let is_in_the_way = io::stdout().is_terminal() && !prints_at_the_end;
        if !io::stderr().is_terminal() || is_in_the_way || options.input.as_os_str() == "-" {
            return None;
        }
        let file = std::fs::metadata(&options.input).ok().filter(std::fs::Metadata::is_file)?;
        (file.len() > FILE_BYTES_MIN).then(|| Self::new(file.len(), now()))
    }

    /// The same for what is written to standard output, if that is a lot.
    pub(crate) fn of_output(bytes: u64) -> Option<Self> {
        let is_seen = io::stderr().is_terminal() && !io::stdout().is_terminal();
        (is_seen && bytes > FILE_BYTES_MIN).then(|| Self::new(bytes, now()))
    }

    /// The same for things that are done one by one.
    pub(crate) fn of_things(count: u64, things: &'static str) -> Option<Self> {
        io::stderr().is_terminal().then(|| Self { things: Some(things), ..Self::new(count, now()) })
    }

    const fn new(total: u64, now: Instant) -> Self {
        Self { total, done: 0, things: None, started: now, drawn: now }
    }

    /// Counts what was read or written. Gives a line to show if it is time for one.
    pub(crate) fn advance(&mut self, bytes: usize) -> Option<String> {
        self.advance_at(bytes, now())
    }

    fn advance_at(&mut self, bytes: usize, now: Instant) -> Option<String> {
        self.done = self.done.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        if now.duration_since(self.drawn) < REDRAW_INTERVAL {
            return None;
        }
        self.drawn = now;
        Some(render(self.done, self.total, self.things, now.duration_since(self.started)))
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "it is the person's time that counts, and nothing depends on it"
)]
fn now() -> Instant {
    Instant::now()
}

/// The line: a bar, percent, megabytes or things a second and the time that is left. A file may grow while it is read.
fn render(done: u64, total: u64, things: Option<&str>, elapsed: Duration) -> String {
    let done = done.min(total);
    let share = |of: u64| u128::from(done) * u128::from(of) / u128::from(total.max(1));
    let millis = elapsed.as_millis().max(1);
    let rate = (u128::from(done) * 1_000 / millis).max(1);
    let left = u128::from(total - done) / rate;
    let bar: String =
        (0..BAR_WIDTH).map(|at| if u128::from(at) < share(BAR_WIDTH) { '#' } else { '.' }).collect();
    let speed = match things {
        None => format!("{} MB/s", rate / 1_000_000),
        Some(things) => format!("{rate} {things}/s"),
    };
    format!("[{bar}] {:3}% {speed} {}:{:02} left", share(100), left / 60, left % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_how_fast_and_how_long() {
        let second = Duration::from_secs(1);
        assert_eq!(
            render(50_000_000, 200_000_000, None, second),
            "[######..................]  25% 50 MB/s 0:03 left"
        );
        assert_eq!(
            render(0, 200_000_000, None, Duration::ZERO),
            "[........................]   0% 0 MB/s 3333333:20 left"
        );
        assert_eq!(
            render(7_000_000, 700_000_000, None, second),
            "[........................]   1% 7 MB/s 1:39 left"
        );
        assert_eq!(
            render(25, 100, Some("runs"), second),
            "[######..................]  25% 25 runs/s 0:03 left"
        );
        // A file that grew, and one that shrank to nothing.
        assert_eq!(render(9, 8, None, second), "[########################] 100% 0 MB/s 0:00 left");
        assert_eq!(render(0, 0, None, second), "[........................]   0% 0 MB/s 0:00 left");
    }

    #[test]
    fn it_is_drawn_ten_times_a_second_at_most() {
        let start = now();
        let mut progress = Progress::new(100, start);
        let drawn = (1..=1_000).filter_map(|at| progress.advance_at(0, start + Duration::from_millis(at)));
        assert_eq!(drawn.count(), 10);
    }
}
