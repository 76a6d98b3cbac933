//! What is measured of stores, and in which order.

use super::aims::AIMS;
use super::candidates::{Candidate, FJALL, FLOOR, KILLED, LIVELY, READERS, REDB, SQLITE, WRITERS, Write};
use super::chained::{EVENTS, RUNS, Taken, chained};
use super::history::{Filled, LONG_EVENTS, Repeat, Speed, TAIL_EVENTS};
use super::kill::{Opened, kill};
use super::live::{FOLLOWERS, FanOut, IDLE, MESSAGES};
use super::load::{Load, THREADS};
use super::subject::Durability;
use super::writes::{Outcome, Shape};
use crate::disk::{Folder, Pages, bare_sync};
use crate::quantiles::{Quantiles, median};
use crate::repeats::{REPEATS, middle, ratios};
use crate::table::{Cell, Report, Row, Table, columns};
use clap::ValueEnum;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How long a store is written to without syncs: long enough for what waits in memory to be stored several times.
const BUFFERED_TIME: Duration = Duration::from_secs(4);

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// How long a store is written to with syncs.
    write_time: Duration,
    bare_syncs: u64,
    /// How many threads there are among which some are read.
    pub(super) threads: u32,
    /// One in so many is a long one, which is read.
    pub(super) long_every: u32,
    /// How many events the others have.
    pub(super) short_events: usize,
    /// How many threads are read in a repeat.
    pub(super) reads: usize,
    /// How many bytes of JSON a store has when its process is killed.
    killed_bytes: u64,
    /// How many appends one follower sees, and many do.
    appends: [usize; 2],
    /// How often messages are asked for.
    pub(super) messages: usize,
}

impl Scale {
    /// A minute or so.
    #[must_use]
    pub const fn short() -> Self {
        Self {
            write_time: Duration::from_millis(400),
            bare_syncs: 1_000,
            threads: 10_000,
            long_every: 40,
            short_events: 50,
            reads: 50,
            killed_bytes: 96 << 20,
            appends: [500, 50],
            messages: 5,
        }
    }

    /// Some minutes. One GiB each is read from and opened.
    #[must_use]
    pub const fn full() -> Self {
        Self {
            write_time: Duration::from_secs(3),
            bare_syncs: 4_000,
            threads: 10_000,
            long_every: 5,
            short_events: 500,
            reads: 200,
            killed_bytes: 1 << 30,
            appends: [4_000, 400],
            messages: 20,
        }
    }
}

impl Scale {
    /// The same among fewer threads: a database takes longer to be filled.
    pub(super) const fn with_fewer_threads(self) -> Self {
        Self { threads: self.threads / 5, ..self }
    }

    pub(super) const fn write_time(&self) -> Duration {
        self.write_time
    }

    pub(super) const fn followed_appends(&self) -> usize {
        self.appends[0]
    }
}

/// What can be measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Durable append.
    Append,
    /// Buffered append.
    Buffered,
    /// History, tails, and bytes at rest.
    Read,
    /// Opening after a kill.
    Open,
    /// Followers.
    Follow,
    /// Messages of a thread.
    Messages,
    /// Idle followers.
    Idle,
    /// The chain over a thread's records.
    Chain,
}

/// Measures stores in a folder of its own in this one: these parts, or all if none is named.
///
/// # Errors
/// If a store fails, or gives back something else than was appended.
pub fn report(scale: &Scale, parent: &Path, only: &[Part]) -> io::Result<Report> {
    let is_wanted = |part| only.is_empty() || only.contains(&part);
    let folder = Folder::new(parent, "store")?;
    // First, as memory that was freed would hide what followers take.
    let idle = if is_wanted(Part::Idle) { Some(idle(&folder)?) } else { None };
    let mut tables = Vec::new();
    let load = Arc::new(Load::new());
    for (part, durability, time) in [
        (Part::Append, Durability::Durable, scale.write_time),
        (Part::Buffered, Durability::Buffered, BUFFERED_TIME),
    ] {
        for writers in [64, 512].into_iter().filter(|_| is_wanted(part)) {
            tables.extend(writing(&folder, &load, scale, Shape { durability, writers, time })?);
        }
    }
    if is_wanted(Part::Read) {
        tables.extend(reading(&folder, scale)?);
    }
    if is_wanted(Part::Open) {
        tables.push(opening(&folder, scale)?);
    }
    if is_wanted(Part::Follow) {
        tables.extend(following(&folder, scale)?);
    }
    if is_wanted(Part::Messages) {
        tables.push(asking(&folder, scale)?);
    }
    if is_wanted(Part::Chain) {
        tables.push(chaining(&folder)?);
    }
    // What matters most comes first, whatever was measured first.
    tables.extend(idle);
    Ok(Report::new(tables, AIMS))
}

/// What was found about the candidate of this name.
fn of<'a, R, T>(candidates: &[Candidate<R>], found: &'a [Vec<T>], name: &str) -> &'a [T] {
    let index = candidates.iter().position(|candidate| candidate.name == name);
    &found[index.expect("baselines take part")]
}

fn row<R>(candidate: &Candidate<R>, cells: Vec<Cell>) -> Row {
    Row { name: candidate.name, is_ours: candidate.is_ours, cells }
}

/// What syncs take that nobody shares, in each repeat.
#[derive(Debug, Default)]
struct Syncs {
    appended: Vec<Quantiles>,
    written: Vec<Quantiles>,
}

fn writing(folder: &Folder, load: &Arc<Load>, scale: &Scale, shape: Shape) -> io::Result<[Table; 2]> {
    let writers = WRITERS;
    let mut found: Vec<Vec<Outcome>> = vec![Vec::new(); writers.len()];
    let mut syncs = Syncs::default();
    for _ in 0..REPEATS {
        syncs.appended.push(bare_sync(folder.path(), scale.bare_syncs, Pages::Appended)?);
        syncs.written.push(bare_sync(folder.path(), scale.bare_syncs, Pages::Written)?);
        for (candidate, found) in writers.iter().zip(&mut found) {
            let dir = folder.sub(candidate.name)?;
            found.push((candidate.run)(dir.path(), load, shape)?);
        }
    }
    let (what, ack, note) = match shape.durability {
        Durability::Durable => (
            "Durable append",
            "Ack of durable append",
            "Acknowledged after a sync that is shared by whatever waits.",
        ),
        Durability::Buffered => {
            let note = "Acknowledged when the operating system has it; by ours when it is in memory, to be stored within a second.";
            ("Buffered append", "Ack of buffered append", note)
        }
    };
    let title = |what: &str| format!("{what}, {} writers", shape.writers);
    let note = format!("{note} {THREADS} threads, batches of 1 to 8 events. More is better.");
    Ok([throughput(title(what), note, writers, &found), latency(title(ack), writers, &found, &syncs)])
}

fn throughput(title: String, note: String, writers: &[Candidate<Write>], found: &[Vec<Outcome>]) -> Table {
    let speed = |outcome: &Outcome| outcome.events_per_second;
    let rows = writers.iter().zip(found).map(|(candidate, outcomes)| {
        let against = |name| ratios(outcomes, of(writers, found, name), speed);
        let floor = against(FLOOR);
        let least = floor.iter().copied().fold(f64::INFINITY, f64::min);
        let most = floor.iter().copied().fold(0.0, f64::max);
        let mut cells =
            vec![Cell::Whole(middle(outcomes, speed)), Cell::Times(median(floor)), Cell::Range(least, most)];
        cells.extend([FJALL, SQLITE, REDB].map(|name| Cell::Times(median(against(name)))));
        row(candidate, cells)
    });
    let names = ["events/s", "against floor", "range", "against fjall", "against SQLite", "against redb"];
    Table { title, note, columns: columns(&names), rows: rows.collect() }
}

fn latency(title: String, writers: &[Candidate<Write>], found: &[Vec<Outcome>], syncs: &Syncs) -> Table {
    let cells = |all: &[Quantiles]| {
        let times = (0..3).map(|at| Cell::Whole(middle(all, |quantiles| quantiles.all()[at])));
        // Of the median sync, not of one that is as slow among its like: a disk that stalls makes no ack look quick.
        let in_syncs = |at| all.iter().zip(&syncs.appended).map(move |(ack, sync)| ack.all()[at] / sync.p50);
        let ratios = (0..3).map(|at| Cell::Times(median(in_syncs(at))));
        times.chain(ratios).collect()
    };
    let bare = |name, syncs: &[Quantiles]| Row { name, is_ours: false, cells: cells(syncs) };
    let mut rows = vec![bare("bare sync", &syncs.appended), bare("bare sync, pre-zeroed", &syncs.written)];
    rows.extend(writers.iter().zip(found).map(|(candidate, outcomes)| {
        let acks: Vec<Quantiles> = outcomes.iter().map(|outcome| outcome.acks).collect();
        row(candidate, cells(&acks))
    }));
    let note = "In microseconds, and in times of the median bare sync: 4 KiB at the end of a file, and fdatasync, \
                in the same repeat and with nothing beside it.";
    let names = ["p50 µs", "p99 µs", "p99.9 µs", "p50 / sync", "p99 / sync", "p99.9 / sync"];
    Table { title, note: note.to_owned(), columns: columns(&names), rows }
}

fn reading(folder: &Folder, scale: &Scale) -> io::Result<[Table; 4]> {
    let mut stores = Vec::new();
    for candidate in READERS {
        let dir = folder.sub(candidate.name)?;
        let filled = (candidate.run.prepare)(dir.path(), scale)?;
        stores.push((dir, filled));
    }
    let mut found: Vec<Vec<Repeat>> = vec![Vec::new(); READERS.len()];
    for number in (0..).take(REPEATS) {
        for ((candidate, (dir, filled)), found) in READERS.iter().zip(&stores).zip(&mut found) {
            found.push((candidate.run.repeat)(dir.path(), filled, scale, number)?);
        }
    }
    let filled: Vec<&Filled> = stores.iter().map(|(_, filled)| filled).collect();
    let history = speeds(
        format!("History of {LONG_EVENTS} events"),
        &found,
        |repeat| repeat.cold,
        |repeat| repeat.warm,
    );
    let mut tail = speeds(
        format!("Tail of {TAIL_EVENTS} events"),
        &found,
        |repeat| repeat.cold_tail,
        |repeat| repeat.warm_tail,
    );
    tail.columns.push("before it settled".to_owned());
    for (row, filled) in tail.rows.iter_mut().zip(&filled) {
        row.cells.push(Cell::Whole(filled.live_tail.events_per_second));
    }
    Ok([history, tail, at_rest(&filled), parts_at_rest(&filled)])
}

fn speeds(
    title: String,
    found: &[Vec<Repeat>],
    cold: impl Fn(&Repeat) -> Speed,
    warm: impl Fn(&Repeat) -> Speed,
) -> Table {
    let rows = READERS.iter().zip(found).map(|(candidate, repeats)| {
        let mut cells = Vec::new();
        for speed in [&cold as &dyn Fn(&Repeat) -> Speed, &warm] {
            let figure = |repeat: &Repeat| speed(repeat).events_per_second;
            let against = |name| median(ratios(repeats, of(READERS, found, name), figure));
            cells.extend([
                Cell::Whole(middle(repeats, figure)),
                Cell::Times(against(FLOOR)),
                Cell::Times(against(FJALL)),
                Cell::Whole(middle(repeats, |repeat| speed(repeat).reads.p50)),
                Cell::Whole(middle(repeats, |repeat| speed(repeat).reads.p99)),
            ]);
        }
        row(candidate, cells)
    });
    let names = ["cold", "warm"].into_iter().flat_map(|how| {
        ["events/s", "against floor", "against fjall", "p50 µs", "p99 µs"].map(|what| format!("{how} {what}"))
    });
    let note = "Threads of one finished run, written side by side, then settled: sealed, or compacted. One reader, in any \
                order; cold is a store that was closed and taken out of the page cache. More is better, except µs.";
    Table { title, note: note.to_owned(), columns: names.collect(), rows: rows.collect() }
}

fn at_rest(filled: &[&Filled]) -> Table {
    let rows = READERS
        .iter()
        .zip(filled)
        .map(|(candidate, filled)| row(candidate, filled.at_rest().map(Cell::Times).to_vec()));
    let raw = filled.first().map_or(0, |filled| filled.raw_bytes >> 20);
    Table {
        title: "Bytes at rest".to_owned(),
        note: format!("In times of the JSON, which is {raw} MiB of English prose in pieces."),
        columns: columns(&["unsealed / JSON", "sealed / JSON"]),
        rows: rows.collect(),
    }
}

fn parts_at_rest(filled: &[&Filled]) -> Table {
    let ours = READERS.iter().zip(filled).find(|(candidate, _)| candidate.is_ours);
    let parts = ours.map(|(_, filled)| filled.parts_at_rest()).unwrap_or_default();
    let rows = parts.into_iter().map(|(name, bytes)| Row {
        name,
        is_ours: true,
        cells: bytes.map(Cell::Fine).to_vec(),
    });
    Table {
        title: "Parts of ours at rest".to_owned(),
        note: "The same for each part of our store.".to_owned(),
        columns: columns(&["unsealed / JSON", "sealed / JSON"]),
        rows: rows.collect(),
    }
}

/// How much is appended before each kill but the first.
const MORE_BYTES: u64 = 4 << 20;

fn opening(folder: &Folder, scale: &Scale) -> io::Result<Table> {
    let mut found: Vec<Vec<[Opened; 2]>> = Vec::new();
    for candidate in KILLED {
        let dir = folder.sub(candidate.name)?;
        let mut repeats = Vec::new();
        for repeat in (0..).take(REPEATS) {
            let opened = |is_cold| {
                let times = repeat * 2 + u32::from(is_cold);
                let bytes = if times == 0 { scale.killed_bytes } else { MORE_BYTES };
                kill(candidate.name, dir.path(), bytes, times)?;
                (candidate.run.open)(dir.path(), is_cold)
            };
            repeats.push([opened(false)?, opened(true)?]);
        }
        found.push(repeats);
    }
    let rows = KILLED.iter().zip(&found).map(|(candidate, repeats)| {
        let mut cells = Vec::new();
        for at in 0..2 {
            let figure = |opened: &[Opened; 2]| opened[at].open_ms;
            cells.extend([
                Cell::Fine(middle(repeats, figure)),
                Cell::Times(median(ratios(repeats, of(KILLED, &found, FJALL), figure))),
                Cell::Fine(middle(repeats, |opened| opened[at].ready_ms)),
                Cell::Fine(middle(repeats, |opened| opened[at].read_ms)),
            ]);
        }
        row(candidate, cells)
    });
    let names = ["warm", "cold"].into_iter().flat_map(|how| {
        ["ms", "against fjall", "ready ms", "first read ms"].map(|what| format!("{how} {what}"))
    });
    Ok(Table {
        title: format!("Open after a kill, {} MiB", scale.killed_bytes >> 20),
        note: "A process that writes is killed, and another one opens the store and reads 500 events. The floor has to \
               read all of its file. Ours is ready when it has also closed the runs that were going on; \
               the others know no runs. Less is better."
            .to_owned(),
        columns: names.collect(),
        rows: rows.collect(),
    })
}

fn idle(folder: &Folder) -> io::Result<Table> {
    let mut rows = Vec::new();
    for candidate in LIVELY {
        let dir = folder.sub(candidate.name)?;
        rows.push(row(candidate, vec![Cell::Whole((candidate.run.idle)(dir.path())?)]));
    }
    Ok(Table {
        title: "Idle followers".to_owned(),
        note: format!(
            "{IDLE} followers, each of a thread of its own, each a task that waits. Measured once."
        ),
        columns: columns(&["bytes each"]),
        rows,
    })
}

fn chaining(folder: &Folder) -> io::Result<Table> {
    let mut found = Vec::new();
    for _ in 0..REPEATS {
        found.push(chained(folder.sub("chained")?.path())?);
    }
    let [whole, chain] =
        [|taken: &Taken| taken.whole, |taken: &Taken| taken.chain].map(|of| middle(&found, of));
    Ok(Table {
        title: "Chain".to_owned(),
        note: format!(
            "{RUNS} runs of {EVENTS} events at once, durable, from their start to their end, where they are folded, compacted and chained; and the chain \
             over the same bytes by itself. What an event takes of the processors."
        ),
        columns: columns(&["CPU µs/event", "of which chain", "share"]),
        rows: vec![Row {
            name: "Threadline",
            is_ours: true,
            cells: vec![Cell::Fine(whole), Cell::Fine(chain), Cell::Fine(chain / whole)],
        }],
    })
}

fn following(folder: &Folder, scale: &Scale) -> io::Result<[Table; 2]> {
    let followers = [1, FOLLOWERS];
    let mut found: Vec<[Vec<FanOut>; 2]> = LIVELY.iter().map(|_| Default::default()).collect();
    for _ in 0..REPEATS {
        for (candidate, found) in LIVELY.iter().zip(&mut found) {
            for ((followers, appends), found) in followers.into_iter().zip(scale.appends).zip(found) {
                let dir = folder.sub(candidate.name)?;
                found.push((candidate.run.follow)(dir.path(), followers, appends)?);
            }
        }
    }
    let table = |at: usize, title: String, note: &str| {
        let rows = LIVELY.iter().zip(&found).map(|(candidate, found)| {
            let repeats = &found[at];
            let mut cells = vec![Cell::Whole(middle(repeats, |repeat| repeat.deliveries_per_second))];
            cells.extend((0..3).map(|at| Cell::Fine(middle(repeats, |repeat| repeat.last.all()[at]))));
            row(candidate, cells)
        });
        let columns = columns(&["events/s", "p50 µs", "p99 µs", "p99.9 µs"]);
        Table { title, note: note.to_owned(), columns, rows: rows.collect() }
    };
    Ok([
        table(0, "Follower".to_owned(), "From the ack of an append to the follower."),
        table(
            1,
            format!("{FOLLOWERS} followers of one thread"),
            "From the ack of an append to the last of them; events/s are those of all.",
        ),
    ])
}

fn asking(folder: &Folder, scale: &Scale) -> io::Result<Table> {
    let mut rows = Vec::new();
    for candidate in LIVELY {
        let dir = folder.sub(candidate.name)?;
        (candidate.run.prepare_messages)(dir.path())?;
        let mut repeats = Vec::new();
        for _ in 0..REPEATS {
            repeats.push((candidate.run.messages)(dir.path(), scale)?);
        }
        rows.push(row(
            candidate,
            vec![
                Cell::Whole(middle(&repeats, |[few, _]| *few)),
                Cell::Whole(middle(&repeats, |[_, many]| *many)),
                Cell::Times(middle(&repeats, |[few, many]| many / few)),
            ],
        ));
    }
    Ok(Table {
        title: "Messages of a thread".to_owned(),
        note: format!(
            "The same {MESSAGES} messages in pieces, so that there are about 1,000 and 100,000 events. The floor folds \
             all of them. Microseconds at the median."
        ),
        columns: columns(&["1,000 events", "100,000 events", "100,000 / 1,000"]),
        rows,
    })
}
