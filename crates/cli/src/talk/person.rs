//! Whoever sits at the terminal: lines, and Ctrl-C.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use tokio::sync::mpsc::{Receiver, channel};

/// What a person does.
pub(crate) struct Person {
    /// Lines of standard input; read only once somebody asks for one.
    lines: Option<Receiver<String>>,
    /// Ctrl-C.
    stops: Receiver<()>,
    pub(crate) is_at_a_terminal: bool,
}

impl Person {
    /// Must be called inside of a runtime.
    pub(crate) fn new() -> Self {
        let (stop, stops) = channel(4);
        tokio::spawn(
            async move { while tokio::signal::ctrl_c().await.is_ok() && stop.send(()).await.is_ok() {} },
        );
        Self { lines: None, stops, is_at_a_terminal: io::stdin().is_terminal() }
    }

    /// The next line, or nothing at the end of the input or after Ctrl-C. The prompt is shown to who sees it, and not in what is written.
    pub(crate) async fn line(&mut self, prompt: &str) -> Option<String> {
        if self.is_at_a_terminal {
            let mut out = io::stderr().lock();
            // Who does not see it can still answer.
            _ = write!(out, "{prompt}> ").and_then(|()| out.flush());
        }
        let lines = self.lines.get_or_insert_with(read_lines);
        tokio::select! {
            line = lines.recv() => line,
            _ = self.stops.recv() => None,
        }
    }

    /// Waits for Ctrl-C.
    pub(crate) async fn stop(&mut self) {
        if self.stops.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

/// Reads lines in a thread of its own, which nobody waits for: a read of a terminal cannot be broken off.
fn read_lines() -> Receiver<String> {
    let (read, lines) = channel(1);
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if read.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}
