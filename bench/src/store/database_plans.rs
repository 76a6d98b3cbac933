//! What is measured of our store in PostgreSQL, and beside what.

use super::by_hand::Connections;
use super::candidates::Write;
use super::database;
use super::history::{self, Filled, LONG_EVENTS, Repeat, TAIL_EVENTS};
use super::instances::Instances;
use super::live::{self, FanOut, MESSAGES};
use super::load::{Load, THREADS};
use super::ours::Ours;
use super::plans::Scale;
use super::subject::{Durability, Live, Reads};
use super::writes::{self, Outcome, Shape};
use crate::aim::{Aim, at_least, at_most};
use crate::disk::Folder;
use crate::quantiles::median;
use crate::repeats::{REPEATS, middle};
use crate::table::{Cell, Report, Row, Table, columns};
use clap::ValueEnum;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// What can be measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DatabasePart {
    /// Durable append.
    Append,
    /// Followers.
    Follow,
    /// History and tails, bytes at rest, messages.
    History,
}

/// What the project wants of it. The first row that is ours is that of one instance.
const AIMS: &[Aim] = &[
    at_least("Durable append in PostgreSQL, 64 writers", "against by hand", 0.7),
    at_least("Durable append in PostgreSQL, 512 writers", "against by hand", 0.7),
    at_most("Follower at another instance", "p50 ms", 50.0),
];

const EMBEDDED: &str = "embedded";

/// Who appends, and over how many connections: an instance has two for it.
pub(super) const WRITERS: &[(&str, usize, Write)] = &[
    ("Threadline, 1 instance", 2, writes::run::<Instances<1>>),
    ("Threadline, 2 instances", 4, writes::run::<Instances<2>>),
    ("Threadline, 3 instances", 6, writes::run::<Instances<3>>),
    ("by hand, 1 connection", 1, writes::run::<Connections<1>>),
    ("by hand, 2 connections", 2, writes::run::<Connections<2>>),
    ("by hand, 4 connections", 4, writes::run::<Connections<4>>),
    ("by hand, 6 connections", 6, writes::run::<Connections<6>>),
    (EMBEDDED, 0, writes::run::<Ours>),
];

type Follow = fn(&Path, usize, usize) -> io::Result<FanOut>;
const FOLLOWERS: &[(&str, Follow)] = &[
    ("Threadline, 2 instances", live::follow::<Instances<2>>),
    ("Threadline, 1 instance", live::follow::<Instances<1>>),
    ("Threadline, 3 instances", live::follow::<Instances<3>>),
    (EMBEDDED, live::follow::<Ours>),
];

#[derive(Clone, Copy)]
struct Read {
    name: &'static str,
    prepare: fn(&Path, &Scale) -> io::Result<Filled>,
    repeat: fn(&Path, &Filled, &Scale, u64) -> io::Result<Repeat>,
    prepare_messages: fn(&Path) -> io::Result<()>,
    messages: fn(&Path, &Scale) -> io::Result<[f64; 2]>,
}

const fn read<S: Reads + Live>(name: &'static str) -> Read {
    Read {
        name,
        prepare: history::prepare::<S>,
        repeat: history::repeat::<S>,
        prepare_messages: live::prepare_messages::<S>,
        messages: live::messages::<S>,
    }
}

const READERS: &[Read] = &[
    read::<Instances<1>>("Threadline, 1 instance"),
    read::<Instances<2>>("Threadline, 2 instances"),
    read::<Instances<3>>("Threadline, 3 instances"),
    read::<Ours>(EMBEDDED),
];

/// Measures our store in PostgreSQL: these parts, or all if none is named. Files of the embedded store are made in a folder of their own in this one.
///
/// # Errors
/// If a store fails, or gives back something else than was appended.
pub fn database_report(scale: &Scale, parent: &Path, only: &[DatabasePart]) -> io::Result<Report> {
    let is_wanted = |part| only.is_empty() || only.contains(&part);
    let folder = Folder::new(parent, "postgres")?;
    let mut tables = Vec::new();
    if is_wanted(DatabasePart::Append) {
        let load = Arc::new(Load::new());
        for writers in [64, 512] {
            tables.push(writing(&folder, &load, scale, writers)?);
        }
    }
    if is_wanted(DatabasePart::Follow) {
        tables.push(following(&folder, scale)?);
    }
    if is_wanted(DatabasePart::History) {
        tables.extend(reading(&folder, &scale.with_fewer_threads())?);
    }
    Ok(Report::new(tables, AIMS))
}

fn is_ours(name: &str) -> bool {
    name.starts_with("Threadline")
}

fn writing(folder: &Folder, load: &Arc<Load>, scale: &Scale, writers: u64) -> io::Result<Table> {
    // The first seconds of a table that is empty say little.
    let shape = Shape { durability: Durability::Durable, writers, time: scale.write_time() * 4 };
    let mut found: Vec<Vec<Outcome>> = vec![Vec::new(); WRITERS.len()];
    for _ in 0..REPEATS {
        for ((name, _, run), found) in WRITERS.iter().zip(&mut found) {
            let dir = folder.sub(name)?;
            found.push(run(dir.path(), load, shape)?);
            if *name != EMBEDDED {
                database::remove(dir.path())?;
            }
        }
    }
    let speed = |outcome: &Outcome| outcome.events_per_second;
    let speeds = |outcomes: &[Outcome]| outcomes.iter().map(speed).collect::<Vec<f64>>();
    let by_hand: Vec<(usize, Vec<f64>)> = WRITERS
        .iter()
        .zip(&found)
        .filter(|((name, ..), _)| name.starts_with("by hand"))
        .map(|((_, connections, _), outcomes)| (*connections, speeds(outcomes)))
        .collect();
    // Whichever way was the best in a repeat is what the database can do.
    let best: Vec<f64> = (0..REPEATS)
        .map(|repeat| by_hand.iter().map(|(_, speeds)| speeds[repeat]).fold(0.0, f64::max))
        .collect();
    let rows = WRITERS.iter().zip(&found).map(|((name, connections, _), outcomes)| {
        let ratios = |others: &[f64]| -> Vec<f64> {
            speeds(outcomes).iter().zip(others).map(|(ours, other)| ours / other).collect()
        };
        let against = ratios(&best);
        let least = against.iter().copied().fold(f64::INFINITY, f64::min);
        let most = against.iter().copied().fold(0.0, f64::max);
        let ack = |at: usize| Cell::Fine(middle(outcomes, |outcome| outcome.acks.all()[at] / 1000.0));
        let mut cells = vec![
            Cell::Whole(middle(outcomes, speed)),
            Cell::Fine(median(against)),
            Cell::Range(least, most),
            ack(0),
            ack(1),
        ];
        let as_many = by_hand.iter().find(|(by_hand, _)| by_hand == connections);
        cells.extend(as_many.map(|(_, speeds)| Cell::Fine(median(ratios(speeds)))));
        Row { name, is_ours: is_ours(name), cells }
    });
    let note = format!(
        "Acknowledged when the database has committed. {THREADS} threads, batches of 1 to 8 events. By hand are the same rows by one statement for whatever \
         waits, with nothing decided, checked or told; the best of these is what the others are compared with, and in the last column the one with as many connections as \
         the instances have for appending. More is better, except ms, which are those of an ack."
    );
    Ok(Table {
        title: format!("Durable append in PostgreSQL, {writers} writers"),
        note,
        columns: columns(&[
            "events/s",
            "against by hand",
            "range",
            "p50 ms",
            "p99 ms",
            "as many connections",
        ]),
        rows: rows.collect(),
    })
}

fn following(folder: &Folder, scale: &Scale) -> io::Result<Table> {
    let mut found: Vec<Vec<FanOut>> = vec![Vec::new(); FOLLOWERS.len()];
    for _ in 0..REPEATS {
        for ((name, run), found) in FOLLOWERS.iter().zip(&mut found) {
            let dir = folder.sub(name)?;
            found.push(run(dir.path(), 1, scale.followed_appends())?);
        }
    }
    let rows = FOLLOWERS.iter().zip(&found).map(|((name, _), repeats)| {
        let cells = (0..3).map(|at| Cell::Fine(middle(repeats, |repeat| repeat.last.all()[at] / 1000.0)));
        Row { name, is_ours: is_ours(name), cells: cells.collect() }
    });
    Ok(Table {
        title: "Follower at another instance".to_owned(),
        note: "From the ack of an append to the follower, which is at another instance than the writer where there are several.".to_owned(),
        columns: columns(&["p50 ms", "p99 ms", "p99.9 ms"]),
        rows: rows.collect(),
    })
}

fn reading(folder: &Folder, scale: &Scale) -> io::Result<[Table; 3]> {
    let (mut history, mut at_rest, mut asked) = (Vec::new(), Vec::new(), Vec::new());
    for reader in READERS {
        let Read { name, prepare, repeat, prepare_messages, messages } = *reader;
        let dir = folder.sub(name)?;
        let filled = prepare(dir.path(), scale)?;
        let repeats = (0..).take(REPEATS).map(|number| repeat(dir.path(), &filled, scale, number));
        let repeats = repeats.collect::<io::Result<Vec<Repeat>>>()?;
        let mut cells = Vec::new();
        for of in [|repeat: &Repeat| repeat.warm, |repeat: &Repeat| repeat.warm_tail] {
            cells.extend([
                Cell::Whole(middle(&repeats, |repeat| of(repeat).events_per_second)),
                Cell::Fine(middle(&repeats, |repeat| of(repeat).reads.p50 / 1000.0)),
                Cell::Fine(middle(&repeats, |repeat| of(repeat).reads.p99 / 1000.0)),
            ]);
        }
        history.push(Row { name, is_ours: is_ours(name), cells });
        at_rest.push(Row { name, is_ours: is_ours(name), cells: filled.at_rest().map(Cell::Fine).to_vec() });
        drop(dir);
        let dir = folder.sub(name)?;
        prepare_messages(dir.path())?;
        let repeats = (0..REPEATS).map(|_| messages(dir.path(), scale)).collect::<io::Result<Vec<_>>>()?;
        let cells = (0..2).map(|at| Cell::Fine(middle(&repeats, |repeat| repeat[at] / 1000.0)));
        asked.push(Row { name, is_ours: is_ours(name), cells: cells.collect() });
    }
    let names = ["whole", "tail"]
        .into_iter()
        .flat_map(|what| ["events/s", "p50 ms", "p99 ms"].map(|figure| format!("{what} {figure}")));
    Ok([
        Table {
            title: "History from PostgreSQL".to_owned(),
            note: format!(
                "{LONG_EVENTS} events of a thread, and the last {TAIL_EVENTS}, sealed, by one reader, at another instance than the writer's where there are several; everything was read before."
            ),
            columns: names.collect(),
            rows: history,
        },
        Table {
            title: "Bytes at rest in PostgreSQL".to_owned(),
            note: "In times of the JSON. Tables and indexes with the room that deleted rows have left in them, which is used again.".to_owned(),
            columns: columns(&["unsealed / JSON", "sealed / JSON"]),
            rows: at_rest,
        },
        Table {
            title: "Messages from PostgreSQL".to_owned(),
            note: format!("The same {MESSAGES} messages with about 1,000 and 100,000 events behind them. Milliseconds at the median."),
            columns: columns(&["1,000 events", "100,000 events"]),
            rows: asked,
        },
    ])
}
