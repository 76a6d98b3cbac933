//! What is measured, and beside what.

use super::reference::Reference;
use super::run::Played;
use crate::quantiles::median;
use crate::repeats::{REPEATS, middle, ratios};
use crate::server::hosted::runtime;
use crate::table::{Cell, Report, Row, Table, columns};
use ag_ui::client::Thread as PeerThread;
use ag_ui::client::transport::HttpTransport;
use futures_util::StreamExt;
use serde_json::Value;
use std::io;
use std::time::{Duration, Instant};
use threadline_client::{Client, ClientOptions, Heard, Quiet, Thread, Turn};
use threadline_protocol::{Event, Message, RunAgentInput};
use tokio::runtime::Runtime;

/// How often a run is read in a repeat; the one in the middle counts.
const READS: usize = 5;

/// A run that was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    pub(super) took: Duration,
    /// How many messages there are then.
    pub(super) messages: usize,
    /// How many characters they have.
    pub(super) chars: usize,
}

type Reader<'a> = Box<dyn FnMut(&Played) -> io::Result<Read> + 'a>;

/// Reads runs of so many events.
///
/// # Errors
/// If a client fails, or does not hold what the others hold.
pub fn report(sizes: &[usize]) -> io::Result<Report> {
    let runtime = runtime("client")?;
    let mut reference = Reference::start()?;
    let mut tables = Vec::new();
    for &events in sizes {
        let played = Played::start(events)?;
        let mut readers: Vec<(&'static str, Reader<'_>)> = vec![
            ("Threadline, messages and state", Box::new(|played| thread(&runtime, played))),
            ("Threadline, typed events", Box::new(|played| typed(&runtime, played))),
            ("`ag-ui` 0.5.0-alpha.3", Box::new(|played| peer(&runtime, played))),
        ];
        if let Some(reference) = &mut reference {
            readers.push(("`@ag-ui/client` 1.0.0 in Node", Box::new(|played| reference.read(played))));
        }
        tables.push(table(&played, &mut readers)?);
    }
    Ok(Report::new(tables, &[]))
}

fn table(played: &Played, readers: &mut [(&'static str, Reader<'_>)]) -> io::Result<Table> {
    // Everybody once before anybody counts; and everybody must have understood the same.
    let first: Vec<Read> = readers.iter_mut().map(|(_, read)| read(played)).collect::<io::Result<_>>()?;
    for ((name, _), read) in readers.iter().zip(&first) {
        if (read.messages, read.chars) != (first[0].messages, first[0].chars) {
            return Err(io::Error::other(format!("{name} holds something else: {read:?}, {:?}", first[0])));
        }
    }
    let mut found: Vec<Vec<f64>> = vec![Vec::new(); readers.len()];
    for _ in 0..REPEATS {
        for ((_, read), found) in readers.iter_mut().zip(&mut found) {
            let reads: Vec<Read> = (0..READS).map(|_| read(played)).collect::<io::Result<_>>()?;
            found.push(median(reads.iter().map(|read| read.took.as_secs_f64())));
        }
    }
    let rows = readers.iter().zip(&found).map(|((name, _), seconds)| {
        let a_second = played.events as f64 / middle(seconds, |it| *it);
        let slower = median(ratios(seconds, &found[0], |it| *it));
        let cells =
            vec![Cell::Whole(a_second), Cell::Fine(middle(seconds, |it| it * 1e3)), Cell::Times(slower)];
        Row { name, is_ours: name.starts_with("Threadline"), cells }
    });
    Ok(Table {
        title: format!("A client reads a run of {} events", played.events),
        note: "Over loopback, from the request to the end of the answer, a connection each. The server is the same for all and plays as fast as \
               it is read."
            .to_owned(),
        columns: columns(&["events/s", "ms a run", "time, in ours"]),
        rows: rows.collect(),
    })
}

fn client(played: &Played) -> io::Result<Client> {
    let options = ClientOptions { proxy_of_environment: false, ..ClientOptions::default() };
    Client::new(&played.url(), options).map_err(io::Error::other)
}

/// Through the stages into messages and state.
fn thread(runtime: &Runtime, played: &Played) -> io::Result<Read> {
    let client = client(played)?;
    let (mut thread, start) = (Thread::new(&client, played.thread.clone()), Instant::now());
    let turn = Turn::new().with_run_id(played.run.clone());
    let run = thread.run(turn).map_err(io::Error::other)?;
    runtime.block_on(run.finish(&mut Quiet)).map_err(io::Error::other)?;
    let took = start.elapsed();
    let chars = thread.held().messages().map(|message| match message {
        Message::Assistant(message) => {
            message.content.as_ref().map_or(0, |text| text.to_str().chars().count())
        }
        Message::Reasoning(message) => message.content.to_str().chars().count(),
        _ => 0,
    });
    Ok(Read { took, messages: thread.held().messages().len(), chars: chars.sum() })
}

/// Read and typed, not judged and not folded.
fn typed(runtime: &Runtime, played: &Played) -> io::Result<Read> {
    let client = client(played)?;
    let input = RunAgentInput::new(played.thread.clone(), played.run.clone(), Vec::new());
    let start = Instant::now();
    let mut events = client.run(&input);
    let (mut messages, mut chars) = (0, 0);
    runtime.block_on(async {
        while let Some(heard) = events.next().await {
            let Heard::Event(event) = heard.map_err(io::Error::other)? else { continue };
            match event.event() {
                Event::TextMessageStart(_) => messages += 1,
                Event::TextMessageContent(content) => chars += content.delta.to_str().chars().count(),
                _ => {}
            }
        }
        Ok::<_, io::Error>(())
    })?;
    Ok(Read { took: start.elapsed(), messages, chars })
}

/// The crate's client, with its own way over HTTP and its own stages.
fn peer(runtime: &Runtime, played: &Played) -> io::Result<Read> {
    runtime.block_on(async {
        let transport = HttpTransport::new(played.url()).map_err(io::Error::other)?;
        let mut thread: PeerThread<_, Value> = PeerThread::new(transport, played.thread.as_str());
        thread.set_next_run_id(played.run.as_str());
        let start = Instant::now();
        let mut run = thread.run().map_err(io::Error::other)?;
        while run.next().await.is_some() {}
        drop(run);
        let took = start.elapsed();
        let text = |message: &ag_ui::Message| {
            let message = serde_json::to_value(message).unwrap_or_default();
            message["content"].as_str().map_or(0, |text| text.chars().count())
        };
        let chars = thread.messages().iter().map(text).sum();
        Ok(Read { took, messages: thread.messages().len(), chars })
    })
}
