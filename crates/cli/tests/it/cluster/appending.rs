//! Clients that append with keys, and repeat what they do not know the outcome of.

use super::instances::Cluster;
use super::watching::{assert_unavailable, records};
use crate::serving::client::Client;
use hyper::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

/// How long a client waits before it asks again.
const AGAIN: Duration = Duration::from_millis(20);
/// How many clients append at once: some of them always at each instance.
const CLIENTS: usize = 6;
/// How many events are one append.
const EVENTS: usize = 3;

/// What was acknowledged of a run.
#[derive(Debug)]
pub(super) struct Appended {
    thread: String,
    /// Where the events of each append lie.
    acks: Vec<Ack>,
    pub(super) repeated: usize,
    asked: Vec<Asked>,
}

/// A request.
#[derive(Debug)]
struct Asked {
    sent: Instant,
    /// When it was known what has become of it, if it came to that.
    acked: Option<Instant>,
}

impl Appended {
    /// Whether something was under way when things went wrong: it has failed, or had to wait until they were right again.
    pub(super) fn was_struck(&self, gone: Instant, back: Instant) -> bool {
        let is_late = |acked: Option<Instant>| acked.is_none_or(|acked| acked >= back);
        self.asked.iter().any(|one| one.sent <= gone && is_late(one.acked))
    }
}

#[derive(Debug)]
struct Ack {
    first: usize,
    next: usize,
}

/// Clients that append while something goes wrong.
#[derive(Debug)]
pub(super) struct Appending {
    stop: Arc<AtomicBool>,
    clients: JoinSet<Appended>,
}

impl Appending {
    /// Each appends to a thread of its own.
    pub(super) fn begin(cluster: &Cluster, round: u32) -> Self {
        let (stop, mut clients) = (Arc::new(AtomicBool::new(false)), JoinSet::new());
        for at in 0..CLIENTS {
            clients.spawn(append(cluster.anyone(), format!("appended-{round}-{at}"), Arc::clone(&stop)));
        }
        Self { stop, clients }
    }

    /// Ends their runs, and looks at one instance whether all is there, once.
    pub(super) async fn end(self, client: Client) -> Vec<Appended> {
        self.stop.store(true, Ordering::Relaxed);
        let all = self.clients.join_all().await;
        for appended in &all {
            check_appended(client, appended).await;
        }
        all
    }
}

/// Appends numbered events one append after the other, to whoever takes them, until it is told to stop.
async fn append(anyone: Client, thread: String, stop: Arc<AtomicBool>) -> Appended {
    let mut appended = Appended { thread, acks: Vec::new(), repeated: 0, asked: Vec::new() };
    while !stop.load(Ordering::Relaxed) {
        let number = appended.acks.len();
        let event =
            |at| json!({"type": "CUSTOM", "name": "piece", "value": number * EVENTS + at}).to_string();
        let events: Vec<String> = (0..EVENTS).map(event).collect();
        let ack = until_known(&mut appended, anyone, &format!("append-{number}"), events.join("\n")).await;
        appended.acks.push(ack);
    }
    let end = json!({"type": "RUN_FINISHED", "threadId": appended.thread, "runId": "run"}).to_string();
    until_known(&mut appended, anyone, "end", end).await;
    appended
}

async fn until_known(appended: &mut Appended, anyone: Client, key: &str, events: String) -> Ack {
    loop {
        let sent = Instant::now();
        let answer = anyone.try_append(&appended.thread, "run", key, events.clone()).await;
        match answer {
            Ok(answer) if answer.status == StatusCode::OK => {
                // An answer that is cut is none.
                if let Some(ack) = answer.try_json().await {
                    let place = |name: &str| {
                        let offset = ack[name].as_u64().expect("an offset");
                        usize::try_from(offset).expect("a thread that can be held")
                    };
                    appended.repeated += usize::from(ack["repeated"] == true);
                    appended.asked.push(Asked { sent, acked: Some(Instant::now()) });
                    return Ack { first: place("first"), next: place("next") };
                }
            }
            Ok(answer) => assert_unavailable(&answer, key),
            Err(_) => {}
        }
        appended.asked.push(Asked { sent, acked: None });
        sleep(AGAIN).await;
    }
}

/// Whether everything is there once, where it was said to be, and nothing else.
async fn check_appended(client: Client, appended: &Appended) {
    let Appended { thread, acks, .. } = appended;
    let records = records(client, thread).await;
    let value = |record: &Value| record["event"]["value"].as_u64();
    let values: Vec<u64> = records.iter().filter_map(value).collect();
    assert!(values.iter().copied().eq(0..(acks.len() * EVENTS) as u64), "{thread}: {values:?}");
    for (number, Ack { first, next }) in acks.iter().enumerate() {
        let within = records[*first..*next].iter().filter_map(value);
        let said = (number * EVENTS) as u64..((number + 1) * EVENTS) as u64;
        assert!(within.eq(said), "{thread}, append {number}");
    }
}
