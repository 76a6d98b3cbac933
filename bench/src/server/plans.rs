//! What is measured of the server, and in which order.

use super::aims::AIMS;
use super::asks::{self, Answers, CLIENTS};
use super::copilotkit::CopilotKit;
use super::crowd::{Crowd, Stage, followers, heads, leave_the_first, noisy, overload, slow, transfer};
use super::runs::{self, Throughput};
use super::threadline::Threadline;
use super::upstream::{self, FLOOD_PATH, Repertoire, Script};
use super::{delay, hosted, pass_through};
use crate::disk::{Folder, Pages, bare_sync};
use crate::quantiles::{Quantiles, median};
use crate::repeats::{REPEATS, middle, ratios};
use crate::store::live::MESSAGES;
use crate::table::{Cell, Report, Row, Table, columns};
use clap::ValueEnum;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// How many runs there are at once.
const RUNS: u32 = 100;

/// How many events a short run has. CopilotKit would take a minute for the long ones.
pub(super) const SHORT_RUN_EVENTS: usize = 200;

/// How many events a run has, to the middle of which somebody attaches.
const HELD_EVENTS: [usize; 2] = [1_000, 10_000];

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// How many events each run has.
    run_events: usize,
    bare_syncs: u64,
    /// How many events are sent by the clock, and how long after each other.
    ticks: usize,
    every: Duration,
    /// For how long history is asked for.
    ask_time: Duration,
    /// How often somebody attaches.
    attaches: usize,
    crowd: Crowd,
}

impl Scale {
    /// A minute or so.
    #[must_use]
    pub const fn short() -> Self {
        Self {
            run_events: 2_000,
            bare_syncs: 1_000,
            ticks: 500,
            every: Duration::from_millis(5),
            ask_time: Duration::from_secs(1),
            attaches: 30,
            crowd: Crowd { time: Duration::from_secs(10), transfer_runs: 10 },
        }
    }

    /// Some minutes.
    #[must_use]
    pub const fn full() -> Self {
        Self {
            run_events: 20_000,
            bare_syncs: 4_000,
            ticks: 3_000,
            every: Duration::from_millis(5),
            ask_time: Duration::from_secs(5),
            attaches: 300,
            crowd: Crowd { time: Duration::from_secs(60), transfer_runs: 100 },
        }
    }
}

/// What can be measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Many runs at once.
    Runs,
    /// From the agent to a reader.
    Delay,
    /// Requests for the history of a thread.
    History,
    /// Attaching to a run in its middle.
    Attach,
    /// Many who follow and hear nothing.
    Followers,
    /// More requests than can be served.
    Overload,
    /// One user who asks for too much, beside another.
    Noisy,
    /// Connections that take their time.
    Slow,
    /// A thread larger than the memory that it may take, out and in.
    Transfer,
}

/// Measures the server on a store in a folder of its own in this one: these parts, or all if none is named. CopilotKit is beside it
/// if there is a folder with its packages. What the server takes by itself is measured if there is a program to start.
///
/// # Errors
/// If a server or a store fails, or a reader is given something else than was sent.
pub fn report(
    scale: &Scale,
    parent: &Path,
    copilotkit: Option<&Path>,
    program: Option<&Path>,
    only: &[Part],
) -> io::Result<Report> {
    let is_wanted = |part| only.is_empty() || only.contains(&part);
    let folder = Folder::new(parent, "server")?;
    let world = hosted::runtime("readers")?;
    let mut tables = Vec::new();
    if is_wanted(Part::Runs) {
        tables.push(running(&folder, &world, scale, scale.run_events, None)?);
        tables.push(running(&folder, &world, scale, SHORT_RUN_EVENTS, copilotkit)?);
    }
    if is_wanted(Part::Delay) {
        tables.push(delaying(&folder, &world, scale)?);
    }
    if is_wanted(Part::History) {
        tables.push(asking(&folder, &world, scale)?);
    }
    if is_wanted(Part::Attach) {
        tables.push(attaching(&folder, &world, scale)?);
    }
    let program =
        program.ok_or_else(|| io::Error::other("--program is missing: the server, built for release"));
    let crowd: [(Part, Measure); 6] = [
        (Part::Followers, followers),
        (Part::Overload, overload),
        (Part::Noisy, noisy),
        (Part::Slow, slow),
        (Part::Slow, heads),
        (Part::Transfer, transfer),
    ];
    let is_asked_for = crowd.iter().any(|(part, _)| only.contains(part));
    if is_asked_for || (only.is_empty() && program.is_ok()) {
        let agent = upstream::start(Repertoire::new(vec![Script::new(0, SHORT_RUN_EVENTS)?], scale))?;
        let (program, is_apart) = (program?, leave_the_first());
        let stage = Stage { program, agent: agent.address, folder: &folder, world: &world, is_apart };
        for (part, measure) in crowd {
            if is_wanted(part) {
                tables.push(measure(&stage, scale.crowd)?);
            }
        }
    }
    Ok(Report::new(tables, AIMS))
}

/// Measures something that many do at once.
type Measure = fn(&Stage<'_>, Crowd) -> io::Result<Table>;

/// In the order of the rows.
pub(super) const OURS: &str = "Threadline";
const ENGINE: &str = "engine alone";
const PASS_THROUGH: &str = "pass-through";
const DIRECT: &str = "agent directly";
const COPILOTKIT: &str = "CopilotKit";

pub(super) fn row(name: &'static str, cells: Vec<Cell>) -> Row {
    Row { name, is_ours: name == OURS, cells }
}

impl Repertoire {
    fn new(scripts: Vec<Script>, scale: &Scale) -> Self {
        Self { scripts, ticks: scale.ticks, every: scale.every, origin: Instant::now() }
    }
}

/// Many runs at once, each of so many events. CopilotKit takes part if it is there.
fn running(
    folder: &Folder,
    world: &Runtime,
    scale: &Scale,
    run_events: usize,
    copilotkit: Option<&Path>,
) -> io::Result<Table> {
    let scripts = || (0..RUNS).map(|thread| Script::new(thread, run_events)).collect();
    let (played, scripts): (io::Result<Vec<Script>>, io::Result<Vec<Script>>) = (scripts(), scripts());
    let scripts = scripts?;
    let agent = upstream::start(Repertoire::new(played?, scale))?;
    let between = pass_through::start(agent.address)?;
    let through = |address| runs::through(world, address, FLOOD_PATH, &scripts);
    let mut found: [Vec<Throughput>; 5] = Default::default();
    for _ in 0..REPEATS {
        let dir = folder.sub(OURS)?;
        let server = Threadline::start(dir.path(), agent.address)?;
        found[0].push(through(server.address)?);
        server.stop()?;
        let dir = folder.sub(ENGINE)?;
        found[1].push(runs::engine_alone(dir.path(), &scripts)?);
        found[2].push(through(between.address)?);
        found[3].push(through(agent.address)?);
        if let Some(packages) = copilotkit {
            let peer = CopilotKit::start(packages, &format!("http://{}{FLOOD_PATH}", agent.address))?;
            found[4].push(runs::through(world, peer.address, CopilotKit::PATH, &scripts)?);
        }
    }
    let names = [OURS, ENGINE, PASS_THROUGH, DIRECT, COPILOTKIT];
    let rows = names.into_iter().zip(&found).filter(|(_, all)| !all.is_empty());
    Ok(Table {
        title: format!("Runs of {run_events} events, {RUNS} at once"),
        note: "From a scripted agent to one reader each, in pieces of 1 to 8 events. The engine alone has the same batches, and \
               neither an agent nor readers. CPU is that of this process: agent, readers, and what is between them, but not \
               CopilotKit. More is better, except CPU."
            .to_owned(),
        columns: columns(&[
            "events/s",
            "against engine",
            "range",
            "against pass-through",
            "against agent",
            "CPU µs/event",
        ]),
        rows: rows.map(|(name, all)| row(name, throughput(all, &found))).collect(),
    })
}

/// The cells of one candidate.
fn throughput(all: &[Throughput], found: &[Vec<Throughput>; 5]) -> Vec<Cell> {
    let speed = |throughput: &Throughput| throughput.events_per_second;
    let [_, engine, pass_through, direct, _] = found;
    let against = ratios(all, engine, speed);
    let least = against.iter().copied().fold(f64::INFINITY, f64::min);
    let most = against.iter().copied().fold(0.0, f64::max);
    vec![
        Cell::Whole(middle(all, speed)),
        Cell::Times(median(against)),
        Cell::Range(least, most),
        Cell::Times(median(ratios(all, pass_through, speed))),
        Cell::Times(median(ratios(all, direct, speed))),
        Cell::Fine(middle(all, |throughput| throughput.cpu_us_per_event)),
    ]
}

fn delaying(folder: &Folder, world: &Runtime, scale: &Scale) -> io::Result<Table> {
    let repertoire = Repertoire::new(Vec::new(), scale);
    let (origin, ticks) = (repertoire.origin, repertoire.ticks);
    let agent = upstream::start(repertoire)?;
    let between = pass_through::start(agent.address)?;
    let dir = folder.sub(OURS)?;
    let server = Threadline::start(dir.path(), agent.address)?;
    let names = [OURS, PASS_THROUGH, DIRECT];
    let (mut found, mut syncs): ([Vec<Quantiles>; 3], Vec<Quantiles>) = Default::default();
    for repeat in 0..REPEATS {
        syncs.push(bare_sync(folder.path(), scale.bare_syncs, Pages::Written)?);
        for (address, found) in [server.address, between.address, agent.address].into_iter().zip(&mut found) {
            found.push(delay::through(world, address, &format!("delay-{repeat}"), ticks, origin)?);
        }
    }
    server.stop()?;
    let p50 = |quantiles: &Quantiles| quantiles.p50;
    let p99 = |quantiles: &Quantiles| quantiles.p99;
    let added = |all: &[Quantiles], figure: fn(&Quantiles) -> f64| -> Vec<f64> {
        all.iter().zip(&found[2]).map(|(ours, direct)| figure(ours) - figure(direct)).collect()
    };
    let mut rows: Vec<Row> = names
        .into_iter()
        .zip(&found)
        .map(|(name, all)| {
            let beyond = added(all, p50).into_iter().zip(&syncs).map(|(added, sync)| added - sync.p50);
            let cells = vec![
                Cell::Whole(middle(all, p50)),
                Cell::Whole(middle(all, p99)),
                Cell::Whole(median(added(all, p50))),
                Cell::Whole(median(added(all, p99))),
                Cell::Whole(median(beyond)),
            ];
            row(name, cells)
        })
        .collect();
    rows.push(row("bare sync", vec![Cell::Whole(middle(&syncs, p50)), Cell::Whole(middle(&syncs, p99))]));
    Ok(Table {
        title: "Delay of an event".to_owned(),
        note: format!(
            "From the agent to the reader of one run, with an event every {} ms. Added is against reading from the agent \
             directly, in the same repeat.",
            scale.every.as_millis()
        ),
        columns: columns(&["p50 µs", "p99 µs", "added p50 µs", "added p99 µs", "added p50 - sync µs"]),
        rows,
    })
}

fn asking(folder: &Folder, world: &Runtime, scale: &Scale) -> io::Result<Table> {
    let agent = upstream::start(Repertoire::new(Vec::new(), scale))?;
    let dir = folder.sub(OURS)?;
    asks::prepare(dir.path())?;
    let server = Threadline::start(dir.path(), agent.address)?;
    let mut found: [Vec<Answers>; 2] = Default::default();
    for _ in 0..REPEATS {
        found[0].push(asks::history(world, server.address, scale.ask_time)?);
        found[1].push(asks::snapshots(world, &server.engine, scale.ask_time)?);
    }
    server.stop()?;
    let speed = |answers: &Answers| answers.per_second;
    let rows = [OURS, ENGINE].into_iter().zip(&found).map(|(name, all)| {
        let cells = vec![
            Cell::Whole(middle(all, speed)),
            Cell::Times(median(ratios(all, &found[1], speed))),
            Cell::Whole(middle(all, |answers| answers.times.p50)),
            Cell::Whole(middle(all, |answers| answers.times.p99)),
        ];
        row(name, cells)
    });
    Ok(Table {
        title: "History".to_owned(),
        note: format!(
            "Requests for the history of a thread of {MESSAGES} messages of 3 KB, by {CLIENTS} clients. The engine alone gives \
             the messages and writes no JSON."
        ),
        columns: columns(&["requests/s", "against engine", "p50 µs", "p99 µs"]),
        rows: rows.collect(),
    })
}

fn attaching(folder: &Folder, world: &Runtime, scale: &Scale) -> io::Result<Table> {
    let scripts = || (0..).zip(HELD_EVENTS).map(|(thread, events)| Script::new(thread, events)).collect();
    let (played, scripts): (io::Result<Vec<Script>>, io::Result<Vec<Script>>) = (scripts(), scripts());
    let agent = upstream::start(Repertoire::new(played?, scale))?;
    let dir = folder.sub(OURS)?;
    let server = Threadline::start(dir.path(), agent.address)?;
    let mut found: [Vec<Quantiles>; 2] = Default::default();
    for (script, found) in scripts?.iter().zip(&mut found) {
        let held = asks::held(world, &server, script)?;
        for _ in 0..REPEATS {
            found.push(asks::attach(world, &server, &held, scale.attaches)?);
        }
    }
    server.stop()?;
    let cells = found.iter().flat_map(|all| {
        [Cell::Whole(middle(all, |times| times.p50)), Cell::Whole(middle(all, |times| times.p99))]
    });
    Ok(Table {
        title: "Attaching to a run".to_owned(),
        note: "From connecting to the last frame of what a client is told on arrival, in the middle of a run of 1,000 and of \
               10,000 events. Less is better."
            .to_owned(),
        columns: columns(&["1,000 p50 µs", "1,000 p99 µs", "10,000 p50 µs", "10,000 p99 µs"]),
        rows: vec![row(OURS, cells.collect())],
    })
}
