//! Clients that read a run to its end, wherever it goes on.

use super::instances::{Cluster, INSTANCES};
use crate::serving::client::{Answer, Client, Frame, Next};
use hyper::StatusCode;
use serde_json::Value;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{Instant, sleep};

/// How long a client waits before it asks again.
const AGAIN: Duration = Duration::from_millis(20);

/// A run of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) agent: &'static str,
    pub(super) thread: String,
    pub(super) id: String,
}

/// What happens to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tick {
    Frame,
    /// It was cut off, and is about to come back.
    Cut,
}

/// What a client has seen of a run, from a frame on that it could come back to, up to its end.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) run: Run,
    pub(super) frames: Vec<Frame>,
    pub(super) cuts: usize,
    pub(super) ended: Instant,
}

impl Seen {
    /// How the run has ended.
    pub(super) fn end(&self) -> String {
        self.frames.last().map(Frame::kind).expect("a run that was seen")
    }
}

/// Reads a run to its end. Whenever it is cut off, it comes back to whoever takes it, with its cursor.
pub(super) async fn watch(
    run: Run,
    mut answer: Answer,
    anyone: Client,
    ticks: UnboundedSender<Tick>,
) -> Seen {
    assert_eq!(answer.status, StatusCode::OK);
    let (mut frames, mut cuts) = (Vec::<Frame>::new(), 0);
    loop {
        match answer.next().await {
            // What it is told on arrival is of no offset, up to the last of it.
            Next::Frame(frame) if frames.is_empty() && frame.id.is_none() => {}
            Next::Frame(frame) => {
                frames.push(frame);
                // Nobody may count any more.
                _ = ticks.send(Tick::Frame);
                if is_end(frames.last().expect("a frame")) {
                    return Seen { run, frames, cuts, ended: Instant::now() };
                }
            }
            Next::Cut => {
                cuts += 1;
                _ = ticks.send(Tick::Cut);
                answer = come_back(&run, frames.last().map(Frame::cursor), anyone).await;
            }
            Next::Over => panic!("{run:?}: an end that is none, after {:?}", frames.last()),
        }
    }
}

/// Attaches to a run that goes on, or has ended, as soon as somebody answers.
async fn come_back(run: &Run, after: Option<&str>, anyone: Client) -> Answer {
    loop {
        match anyone.try_connect(run.agent, &run.thread, after).await {
            Ok(answer) if answer.status == StatusCode::OK => return answer,
            Ok(answer) => assert_unavailable(&answer, &format!("{run:?}")),
            Err(_) => {}
        }
        sleep(AGAIN).await;
    }
}

/// Whether a refusal is that of a server whose database is away.
pub(super) fn assert_unavailable(answer: &Answer, what: &str) {
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{what}");
    assert!(answer.headers.contains_key("retry-after"), "{what}");
}

fn is_end(frame: &Frame) -> bool {
    let kind = frame.kind();
    kind == "RUN_FINISHED" || kind.starts_with("RUN_ERROR")
}

/// The number of a piece of what an agent says.
fn piece(delta: &Value) -> Option<usize> {
    delta.as_str()?.trim().parse().ok()
}

/// Whether every instance tells what a client has seen, and no more.
pub(super) async fn check(cluster: &Cluster, seen: &Seen) {
    let Seen { run, frames, .. } = seen;
    let pieces: Vec<usize> = frames.iter().filter_map(|frame| piece(&frame.value()["delta"])).collect();
    assert!(pieces.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{run:?}: {pieces:?}");
    for instance in 0..INSTANCES {
        let answer = cluster.client(instance).connect(run.agent, &run.thread, Some(frames[0].cursor())).await;
        assert_eq!(answer.all().await, frames[1..], "{run:?}, instance {instance}");
    }
}

/// Whether the records of a thread are all there, each run in one piece, from its start to its end.
pub(super) async fn check_records(client: Client, thread: &str) {
    let mut runs: Vec<(String, Vec<Value>)> = Vec::new();
    for record in records(client, thread).await {
        let run = record["run"].to_string();
        let event = record["event"].clone();
        match runs.iter_mut().find(|(known, _)| *known == run) {
            Some((_, events)) => events.push(event),
            None => runs.push((run, vec![event])),
        }
    }
    for (run, events) in &runs {
        let types: Vec<&str> = events.iter().map(|event| event["type"].as_str().expect("a type")).collect();
        let ends = |of: &str| of == "RUN_FINISHED" || of == "RUN_ERROR";
        assert_eq!(types.first(), Some(&"RUN_STARTED"), "{thread}, {run}");
        let end = types.iter().position(|of| ends(of));
        assert_eq!(end, Some(types.len() - 1), "{thread}, {run}: {types:?}");
        let pieces: Vec<usize> = events.iter().filter_map(|event| piece(&event["delta"])).collect();
        assert!(pieces.iter().copied().eq(0..pieces.len()), "{thread}, {run}: {pieces:?}");
    }
}

/// All records of a thread, whose offsets must be dense.
pub(super) async fn records(client: Client, thread: &str) -> Vec<Value> {
    let (mut records, mut after) = (Vec::new(), String::new());
    loop {
        let mut page =
            client.get(&format!("/v1/threads/{thread}/events?limit=10000{after}")).await.json().await;
        let Value::Array(more) = page["records"].take() else { panic!("{page}") };
        for record in more {
            assert_eq!(record["offset"], records.len(), "{thread}");
            records.push(record);
        }
        let Some(cursor) = page["next"].as_str() else {
            assert_eq!(page["tail"], records.len(), "{thread}");
            return records;
        };
        after = format!("&after={cursor}");
    }
}
