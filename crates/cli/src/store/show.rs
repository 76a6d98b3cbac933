//! `threadline show`: a thread, and what a client holds at any point of it.

use super::args::{OutputFormat, ShowArgs};
use super::opened::Opened;
use super::records::{begin_records, stored_records, told_records};
use super::remote::{Remote, escaped, thread_path};
use super::threads::object;
use super::time::readable;
use crate::report::{Failure, printable};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::io::{self, BufWriter, Write};
use threadline_log::run::RunInfo;
use threadline_log::thread::ThreadInfo;
use threadline_log::{At, Error, RunNo, Snapshot, ThreadKey};
use threadline_protocol::Message;

pub(crate) fn run(args: &ShowArgs) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    match Remote::of(&args.place)? {
        Some(remote) => {
            let (info, runs) = (remote.thread(&args.thread)?, remote.runs(&args.thread)?);
            check_point(args, &info)?;
            let held = Held::told(&remote, args, &runs)?;
            write(&mut out, &info, &runs, &held, args.format)?;
            if args.records {
                begin_records(&mut out, args.format)?;
                told_records(&remote, &args.thread, info.offsets, |line| line.write(&mut out, args.format))?;
            }
        }
        None => {
            let opened = Opened::existing(&args.place.store)?;
            let thread = args.scope.thread(&args.thread);
            let info = opened.wait(opened.engine.store().thread(&thread))?;
            check_point(args, &info)?;
            let runs = opened.wait(opened.engine.store().runs(&thread))?;
            let held = Held::stored(&opened, &thread, args)?;
            write(&mut out, &info, &runs, &held, args.format)?;
            if args.records {
                begin_records(&mut out, args.format)?;
                stored_records(&opened, &info, &runs, |line| line.write(&mut out, args.format))?;
            }
            opened.close();
        }
    }
    out.flush().map_err(Failure::write)
}

/// An offset that is not there is none in a run either, which would be shown as it ended.
fn check_point(args: &ShowArgs, info: &ThreadInfo) -> Result<(), Failure> {
    match args.at.filter(|at| *at >= info.offsets.end) {
        Some(offset) => Err(Error::BeyondTail { offset, tail: info.offsets.end }.into()),
        None => Ok(()),
    }
}

/// What a client holds at a point.
struct Held {
    run: Option<RunNo>,
    offset: u64,
    /// As JSON.
    messages: Vec<String>,
    state: String,
}

impl Held {
    fn stored(opened: &Opened, thread: &ThreadKey, args: &ShowArgs) -> Result<Self, Failure> {
        let at = match (&args.run, args.at) {
            (None, None) => At::Head,
            (None, Some(offset)) => At::Offset(offset),
            (Some(run), None) => At::Run(opened.run(thread, run)?.no),
            (Some(run), Some(offset)) => At::RunAndOffset(opened.run(thread, run)?.no, offset),
        };
        let Snapshot { run, offset, fold } = opened.wait(opened.engine.snapshot(thread, at))?;
        let messages = fold.messages().map(Message::to_json).collect();
        Ok(Self { run, offset, messages, state: fold.state().as_str().to_owned() })
    }

    fn told(remote: &Remote, args: &ShowArgs, runs: &[RunInfo]) -> Result<Self, Failure> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Told {
            run_id: Option<String>,
            next: u64,
            before: Option<String>,
            #[serde(default)]
            messages: Vec<Box<RawValue>>,
            state: Option<Box<RawValue>>,
        }
        let path = thread_path(&args.thread);
        let mut query = args.run.iter().map(|run| format!("run={}", escaped(run))).collect::<Vec<_>>();
        query.extend(args.at.map(|offset| format!("at={offset}")));
        let first: Told = remote.get(&format!("{path}/messages?{}", query.join("&")))?;
        // At the same point, whatever has been said since.
        let mut at = String::new();
        if let (Some(run), Some(last)) = (&first.run_id, first.next.checked_sub(1)) {
            at = format!("run={}&at={last}", escaped(run));
        }
        let state: Told = remote.get(&format!("{path}/state?{at}"))?;
        let (mut pages, mut before) = (vec![first.messages], first.before);
        while let Some(mark) = before {
            let page: Told = remote.get(&format!("{path}/messages?before={mark}"))?;
            pages.push(page.messages);
            before = page.before;
        }
        let messages = pages.iter().rev().flatten().map(|message| message.get().to_owned()).collect();
        let run = first.run_id.and_then(|id| runs.iter().find(|run| run.id.as_str() == id));
        let state = state.state.map_or_else(|| "{}".to_owned(), |state| state.get().to_owned());
        Ok(Self { run: run.map(|run| run.no), offset: first.next, messages, state })
    }
}

fn write(
    out: &mut impl Write,
    info: &ThreadInfo,
    runs: &[RunInfo],
    held: &Held,
    format: OutputFormat,
) -> Result<(), Failure> {
    match format {
        OutputFormat::Text => write_text(out, info, runs, held),
        OutputFormat::Json => write_json(out, info, runs, held),
    }
}

fn write_text(out: &mut impl Write, info: &ThreadInfo, runs: &[RunInfo], held: &Held) -> Result<(), Failure> {
    let name = info.metadata.name.as_deref().unwrap_or("(no name)");
    let mut lines = vec![
        printable(&format!("{name}  {}", info.key)),
        format!("offsets {}..{}, runs: {}", info.offsets.start, info.offsets.end, info.runs),
        format!("created {}, updated {}", readable(info.created), readable(info.updated)),
        String::new(),
    ];
    lines.extend(tree(runs, held.run));
    lines.push(String::new());
    let point = held.run.map_or_else(String::new, |run| {
        printable(&format!(" after run {}, before offset {}", runs[run.index()].id, held.offset))
    });
    lines.push(format!("Held{point}:"));
    for message in &held.messages {
        lines.push(printable(&spoken(message)));
    }
    lines.push(printable(&format!("state  {}", held.state)));
    for line in lines {
        writeln!(out, "{line}").map_err(Failure::write)?;
    }
    Ok(())
}

/// A message in a line.
fn spoken(message: &str) -> String {
    let json: Value = serde_json::from_str(message).unwrap_or_default();
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

fn write_json(out: &mut impl Write, info: &ThreadInfo, runs: &[RunInfo], held: &Held) -> Result<(), Failure> {
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
    let messages = format!("[{}]", held.messages.join(","));
    let raw = |json: &str| RawValue::from_string(json.to_owned()).ok();
    let held = HeldShown {
        run: held.run.map(id_of),
        offset: held.offset,
        messages: raw(&messages),
        state: raw(&held.state),
    };
    let shown = Shown { thread: object(info), runs: described, held };
    serde_json::to_writer(&mut *out, &shown).map_err(|error| Failure::write(error.into()))?;
    writeln!(out).map_err(Failure::write)
}

#[derive(serde::Serialize)]
struct Shown<'a> {
    thread: Value,
    runs: Vec<Value>,
    held: HeldShown<'a>,
}

#[derive(serde::Serialize)]
struct HeldShown<'a> {
    run: Option<&'a str>,
    offset: u64,
    messages: Option<Box<RawValue>>,
    state: Option<Box<RawValue>>,
}
