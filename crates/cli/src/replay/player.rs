//! Where a recording comes from, and where it goes.

use super::args::{ReplayArgs, ReplayFormat};
use super::pace::Pace;
use super::recording::{RecordedRun, of_events, of_export};
use super::serving::{Stage, serve};
use crate::args::{InputFormat, ReportFormat, Reporting};
use crate::check::paint::Paint;
use crate::report::{Failure, Report};
use crate::sink::{JsonSink, Layout};
use crate::store::opened::Opened;
use crate::store::remote::{Remote, failure, thread_path};
use crate::talk::Screen;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use threadline_client::Subscriber as _;
use threadline_log::ThreadId;
use threadline_log::transfer::ExportForm;
use threadline_protocol::codec::Format;
use threadline_protocol::stages::consumer::Consumer;
use threadline_protocol::stages::fold::Fold;

pub(crate) fn run(args: &ReplayArgs) -> ExitCode {
    let reporting = Reporting { format: ReportFormat::Text, keep_going: false };
    let report = Report::new(String::new(), reporting, io::stderr().lock());
    report.finish(replay(args))
}

fn replay(args: &ReplayArgs) -> Result<(), Failure> {
    let pace = match args.interval {
        Some(ms) => Pace::Interval(Duration::from_millis(ms)),
        None if args.speed.is_finite() && args.speed > 0.0 => Pace::Speed(args.speed),
        None => return Err(Failure::Usage(format!("a speed is more than nothing. given={}", args.speed))),
    };
    let mut runs = read(args)?;
    if let Some(wanted) = &args.run {
        runs.retain(|run| run.id.as_ref() == Some(wanted));
    }
    if runs.iter().all(|run| run.moments.is_empty()) {
        return Err(Failure::Usage(format!("{}: there is nothing to play", args.source)));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Environment(error.to_string()))?;
    runtime.block_on(async {
        if let Some(address) = args.listen {
            return serve(Stage::new(runs, pace, args.origins.clone()), address).await;
        }
        let is_seen = io::stdout().is_terminal();
        match args.format.unwrap_or(if is_seen { ReplayFormat::Text } else { ReplayFormat::Json }) {
            ReplayFormat::Text => show(&runs, pace).await,
            ReplayFormat::Json => write(&runs, pace, Layout::Lines).await,
            ReplayFormat::Sse => write(&runs, pace, Layout::Sse).await,
        }
    })
}

/// A file, if there is one of this name; else a thread.
fn read(args: &ReplayArgs) -> Result<Vec<RecordedRun>, Failure> {
    let path = Path::new(&args.source);
    let is_stdin = args.source == "-";
    if is_stdin || path.is_file() {
        let mut bytes = Vec::new();
        let read = match is_stdin {
            true => io::stdin().lock().read_to_end(&mut bytes).map(drop),
            false => std::fs::read(path).map(|read| bytes = read),
        };
        read.map_err(|error| Failure::read(path, error))?;
        let format = args.from.map(|format| match format {
            InputFormat::Jsonl => Format::Jsonl,
            InputFormat::Json if bytes.trim_ascii_start().starts_with(b"[") => Format::JsonArray,
            InputFormat::Json => Format::JsonDocument,
            InputFormat::Sse => Format::Sse,
            InputFormat::Proto => Format::Proto,
        });
        return of_events(&bytes, format).map_err(|error| Failure::invalid(path, &error));
    }
    let thread = ThreadId::new(args.source.clone())?;
    let mut lines = Vec::new();
    match Remote::of(&args.place)? {
        Some(remote) => {
            let path = format!("{}/export?form=raw", thread_path(&thread));
            let downloaded = remote.download(&path, |piece| {
                lines.extend_from_slice(piece);
                Ok(())
            })?;
            downloaded.map_err(|error| failure(&error))?;
        }
        None => {
            let opened = Opened::existing(&args.place.store)?;
            let mut exporter =
                opened.wait(opened.engine.export(&args.scope.thread(&thread), ExportForm::Raw))?;
            while let Some(piece) = opened.wait(exporter.next())? {
                lines.extend_from_slice(&piece);
            }
            opened.close();
        }
    }
    Ok(of_export(&thread, &lines)?)
}

async fn write(runs: &[RecordedRun], pace: Pace, layout: Layout) -> Result<(), Failure> {
    let mut sink = JsonSink::new(layout);
    for moment in runs.iter().flat_map(|run| &run.moments) {
        pace.wait(moment.after).await;
        sink.event(&moment.json)?;
        sink.flush()?;
    }
    sink.finish()
}

/// As `threadline run` showed it.
async fn show(runs: &[RecordedRun], pace: Pace) -> Result<(), Failure> {
    let mut screen = Screen::new(io::stdout(), Paint::of_stdout());
    let mut consumer = Consumer::new(Fold::new());
    screen.begin_with_snapshots();
    for moment in runs.iter().flat_map(|run| &run.moments) {
        pace.wait(moment.after).await;
        let revision = consumer.fold().revision();
        if let Err(stop) = consumer.push(&moment.json, |event| screen.event(event)) {
            screen.line(&crate::report::printable(&stop.to_string()));
        }
        screen.changed(&consumer.fold().changes_since(revision), consumer.fold());
    }
    screen.end()
}

/// Says something to whoever waits for it.
pub(super) fn say(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(Failure::write)
}
