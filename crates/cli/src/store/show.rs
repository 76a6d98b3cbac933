//! `threadline show`: a thread, and what a client holds at any point of it.

use super::args::{OutputFormat, ShowArgs};
use super::opened::Opened;
use super::threads::object;
use super::time::readable;
use crate::report::{Failure, printable};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::io::{self, BufWriter, Write};
use threadline_log::run::RunInfo;
use threadline_log::thread::ThreadInfo;
use threadline_log::{At, RunNo, Snapshot};
use threadline_protocol::{Envelope, Message};

/// About how many bytes of records are read at once.
const PAGE_BYTES: usize = 1024 * 1024;

pub(crate) fn run(args: &ShowArgs) -> Result<(), Failure> {
    let opened = Opened::existing(&args.store)?;
    let thread = args.scope.thread(&args.thread);
    let info = opened.wait(opened.engine.store().thread(&thread))?;
    let runs = opened.wait(opened.engine.store().runs(&thread))?;
    let at = match (&args.run, args.at) {
        (None, None) => At::Head,
        (None, Some(offset)) => At::Offset(offset),
        (Some(run), None) => At::Run(opened.run(&thread, run)?.no),
        (Some(run), Some(offset)) => At::RunAndOffset(opened.run(&thread, run)?.no, offset),
    };
    let snapshot = opened.wait(opened.engine.snapshot(&thread, at))?;
    let mut out = BufWriter::new(io::stdout().lock());
    match args.format {
        OutputFormat::Text => write_text(&mut out, &info, &runs, &snapshot)?,
        OutputFormat::Json => write_json(&mut out, &info, &runs, &snapshot)?,
    }
    if args.records {
        write_records(&mut out, &opened, &info, &runs, args.format)?;
    }
    opened.close();
    out.flush().map_err(Failure::write)
}

fn write_text(
    out: &mut impl Write,
    info: &ThreadInfo,
    runs: &[RunInfo],
    snapshot: &Snapshot,
) -> Result<(), Failure> {
    let name = info.metadata.name.as_deref().unwrap_or("(no name)");
    let mut lines = vec![
        printable(&format!("{name}  {}", info.key)),
        format!("offsets {}..{}, runs: {}", info.offsets.start, info.offsets.end, info.runs),
        format!("created {}, updated {}", readable(info.created), readable(info.updated)),
        String::new(),
    ];
    lines.extend(tree(runs, snapshot.run));
    lines.push(String::new());
    let point = snapshot.run.map_or_else(String::new, |run| {
        printable(&format!(" after run {}, before offset {}", runs[run.index()].id, snapshot.offset))
    });
    lines.push(format!("Held{point}:"));
    for message in snapshot.fold.messages() {
        lines.push(printable(&spoken(message)));
    }
    lines.push(printable(&format!("state  {}", snapshot.fold.state().as_str())));
    for line in lines {
        writeln!(out, "{line}").map_err(Failure::write)?;
    }
    Ok(())
}

/// A message in a line.
fn spoken(message: &Message<'_>) -> String {
    let json: Value = serde_json::from_str(&message.to_json()).unwrap_or_default();
    let text = |name: &str| {
        json.get(name).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let role = text("role").unwrap_or_default();
    let mut said = text("content").unwrap_or_default();
    for call in json["toolCalls"].as_array().into_iter().flatten() {
        let call = &call["function"];
        said += &format!(
            " [{}({})]",
            call["name"].as_str().unwrap_or(""),
            call["arguments"].as_str().unwrap_or("")
        );
    }
    format!("{role:<10} {}", said.trim())
}

/// The runs as a tree, each below the run that it continues.
fn tree(runs: &[RunInfo], marked: Option<RunNo>) -> Vec<String> {
    let mut lines = Vec::new();
    let roots = runs.iter().rev().filter(|run| run.parent.is_none());
    let mut waiting: Vec<(RunNo, String, String)> =
        roots.map(|run| (run.no, String::new(), String::new())).collect();
    while let Some((no, before, below)) = waiting.pop() {
        let run = &runs[no.index()];
        let mark = if marked == Some(no) { "*" } else { "o" };
        let compacted = if run.compacted { ", compacted" } else { "" };
        let (status, time) = (run.status().name(), readable(run.ended.unwrap_or(run.started)));
        let offsets = &run.offsets;
        let described =
            format!("{}  {status}{compacted}  offsets {}..{}  {time}", run.id, offsets.start, offsets.end);
        lines.push(format!("{before}{mark} {}", printable(&described)));
        let children: Vec<RunNo> =
            runs.iter().filter(|child| child.parent == Some(no)).map(|child| child.no).collect();
        for (place, child) in children.iter().enumerate().rev() {
            let (corner, line) = match (children.len(), place + 1 == children.len()) {
                (1, _) => ("", ""),
                (_, true) => ("└─", "  "),
                (_, false) => ("├─", "│ "),
            };
            waiting.push((*child, format!("{below}{corner}"), format!("{below}{line}")));
        }
    }
    lines
}

fn write_json(
    out: &mut impl Write,
    info: &ThreadInfo,
    runs: &[RunInfo],
    snapshot: &Snapshot,
) -> Result<(), Failure> {
    let id_of = |run: RunNo| runs[run.index()].id.as_str();
    let described: Vec<Value> = runs
        .iter()
        .map(|run| {
            json!({
                "run": run.id.as_str(),
                "parent": run.parent.map(id_of),
                "spawnedBy": run.spawned_by,
                "status": run.status().name(),
                "end": run.end,
                "first": run.offsets.start,
                "tail": run.offsets.end,
                "records": run.records,
                "started": run.started.0,
                "ended": run.ended.map(|time| time.0),
                "compacted": run.compacted,
            })
        })
        .collect();
    let fold = &snapshot.fold;
    let messages: Vec<String> = fold.messages().map(Message::to_json).collect();
    let messages = format!("[{}]", messages.join(","));
    let raw = |json: &str| RawValue::from_string(json.to_owned()).ok();
    let held = Held {
        run: snapshot.run.map(id_of),
        offset: snapshot.offset,
        messages: raw(&messages),
        state: raw(fold.state().as_str()),
    };
    let shown = Shown { thread: object(info), runs: described, held };
    serde_json::to_writer(&mut *out, &shown).map_err(|error| Failure::write(error.into()))?;
    writeln!(out).map_err(Failure::write)
}

#[derive(serde::Serialize)]
struct Shown<'a> {
    thread: Value,
    runs: Vec<Value>,
    held: Held<'a>,
}

#[derive(serde::Serialize)]
struct Held<'a> {
    run: Option<&'a str>,
    offset: u64,
    messages: Option<Box<RawValue>>,
    state: Option<Box<RawValue>>,
}

fn write_records(
    out: &mut impl Write,
    opened: &Opened,
    info: &ThreadInfo,
    runs: &[RunInfo],
    format: OutputFormat,
) -> Result<(), Failure> {
    let mut next = info.offsets.start;
    if format == OutputFormat::Text {
        writeln!(out).map_err(Failure::write)?;
    }
    while next < info.offsets.end {
        let page =
            opened.wait(opened.engine.store().read(&info.key, next..info.offsets.end, None, PAGE_BYTES))?;
        next = page.next;
        for record in page.records {
            let text = String::from_utf8_lossy(&record.bytes);
            let event_type = Envelope::read(&text)
                .map_or_else(|_| "-".to_owned(), |envelope| envelope.type_name().to_string());
            let run = runs.get(record.run.index()).map_or("-", |run| run.id.as_str());
            let kind = record.kind.name();
            let line = match format {
                OutputFormat::Text => printable(&format!(
                    "{:>8}  {}  {run}  {kind:<10}  {event_type}  {} bytes",
                    record.offset,
                    readable(record.time),
                    record.bytes.len(),
                )),
                OutputFormat::Json => json!({"offset": record.offset, "time": record.time.0, "run": run,
                    "kind": kind, "type": event_type, "bytes": record.bytes.len()})
                .to_string(),
            };
            writeln!(out, "{line}").map_err(Failure::write)?;
        }
    }
    Ok(())
}
