//! Puts a server under load.

use super::measured::{Failed, Measured, Sample};
use crate::address::Address;
use crate::reach::ReachArgs;
use crate::report::Failure;
use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Value, json};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use threadline_client::{ClientError, Endpoint, EndpointOptions, ErrorKind, EventStream};
use threadline_protocol::Envelope;
use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

/// What is done, many times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    /// Runs, each on a thread of its own.
    Runs,
    /// Readers that attach to one run while it goes on.
    Followers,
    /// Histories of the threads of runs.
    History,
}

impl Job {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Followers => "followers",
            Self::History => "histories",
        }
    }
}

/// A server, and what it is asked.
pub(super) struct Load {
    asker: Arc<Asker>,
}

struct Asker {
    run: Endpoint,
    connect: Endpoint,
    /// Where history may be: below the URL, and below the host.
    histories: Vec<Endpoint>,
    message: String,
    /// How many threads there will be.
    threads: usize,
    /// What makes threads different from those of every other load.
    nonce: String,
    limit: std::time::Duration,
}

type Sampled = Result<Sample, Failed>;

impl Load {
    /// A load of so many threads.
    pub(super) fn new(
        address: &Address,
        reach: &ReachArgs,
        message: &str,
        threads: usize,
    ) -> Result<Self, Failure> {
        let endpoint = |url: &str| {
            let options = EndpointOptions {
                headers: reach.headers(),
                response_timeout: reach.timeout(),
                idle_timeout: reach.timeout(),
                ..EndpointOptions::default()
            };
            Endpoint::new(url, options).map_err(|error| Failure::Usage(error.to_string()))
        };
        let asker = Asker {
            run: endpoint(&address.http())?,
            connect: endpoint(&address.below("connect"))?,
            histories: [Some(address.below("history")), address.at_root("history")]
                .iter()
                .flatten()
                .map(|url| endpoint(url))
                .collect::<Result<_, _>>()?,
            message: message.to_owned(),
            threads,
            nonce: crate::address::nonce()?,
            limit: reach.timeout(),
        };
        Ok(Self { asker: Arc::new(asker) })
    }

    /// Does something so many times, and calls `done` after each.
    pub(super) async fn carry_out(
        &self,
        job: Job,
        count: usize,
        concurrency: usize,
        done: &mut impl FnMut(),
    ) -> Measured {
        let (samples, mut sampled) = channel(concurrency.max(16));
        let place = if job == Job::History { self.asker.place_of_history().await } else { 0 };
        let begun = Instant::now();
        let mut tasks = JoinSet::new();
        match job {
            Job::Runs | Job::History => {
                let next = Arc::new(AtomicUsize::new(0));
                for _ in 0..concurrency.min(count) {
                    let (asker, next, samples) =
                        (Arc::clone(&self.asker), Arc::clone(&next), samples.clone());
                    tasks.spawn(async move {
                        // One after the other until there are no more.
                        while let Some(nth) = taken(&next, count) {
                            let sample = match job {
                                Job::History => asker.history(place, nth).await,
                                Job::Runs | Job::Followers => {
                                    asker.ask(&asker.run, &asker.input(nth), |_| {}).await
                                }
                            };
                            // Nobody takes it if everything is over.
                            let _ = samples.send(sample).await;
                        }
                    });
                }
            }
            Job::Followers => follow(&self.asker, count, &samples, &mut tasks),
        }
        drop(samples);
        let mut measured = Measured::default();
        while let Some(sample) = sampled.recv().await {
            measured.add(sample);
            done();
        }
        measured.took = begun.elapsed();
        measured
    }
}

/// The next number, if there is one.
fn taken(next: &AtomicUsize, count: usize) -> Option<usize> {
    let nth = next.fetch_add(1, Ordering::Relaxed);
    (nth < count).then_some(nth)
}

/// One more run, and followers who attach as soon as its first event is there. The run itself does not count.
fn follow(asker: &Arc<Asker>, count: usize, samples: &Sender<Sampled>, tasks: &mut JoinSet<()>) {
    let (begun, _) = watch::channel(false);
    let begun = Arc::new(begun);
    for _ in 0..count {
        let (asker, samples, mut begun) = (Arc::clone(asker), samples.clone(), begun.subscribe());
        tasks.spawn(async move {
            // A run that never begins ends the wait, too.
            let has_begun = begun.wait_for(|begun| *begun).await.is_ok();
            let sample = match has_begun {
                true => asker.attach().await,
                false => {
                    let why = "the run that was to be followed did not begin".to_owned();
                    Err(Failed { why, is_unreachable: false })
                }
            };
            let _ = samples.send(sample).await;
        });
    }
    let asker = Arc::clone(asker);
    tasks.spawn(async move {
        let input = asker.input_of(&asker.thread("followed"));
        // Followers who have given up need not be told.
        let tell = |_: &Sample| begun.send(true).unwrap_or_default();
        let _ran = asker.ask(&asker.run, &input, tell).await;
    });
}

impl Asker {
    fn thread(&self, name: impl std::fmt::Display) -> String {
        format!("threadline-bench-{}-{name}", self.nonce)
    }

    fn input(&self, nth: usize) -> Value {
        self.input_of(&self.thread(nth))
    }

    fn input_of(&self, thread: &str) -> Value {
        json!({
            "threadId": thread, "runId": format!("{thread}-run"), "protocolVersion": "1.0", "state": {},
            "messages": [{"id": format!("{thread}-user"), "role": "user", "content": self.message}],
            "tools": [], "context": [], "forwardedProps": {},
        })
    }

    /// Attaches to the run that is followed.
    async fn attach(&self) -> Sampled {
        let input = json!({"threadId": self.thread("followed"), "protocolVersion": "1.0"});
        self.ask(&self.connect, &input, |_| {}).await
    }

    /// The first place where there is a history, or the first place of all.
    async fn place_of_history(&self) -> usize {
        for place in 0..self.histories.len() {
            if self.history(place, 0).await.is_ok() {
                return place;
            }
        }
        0
    }

    /// Asks for the history of a thread that a run has made.
    async fn history(&self, place: usize, nth: usize) -> Sampled {
        let thread = self.thread(nth % self.threads.max(1));
        let input = json!({
            "threadId": thread, "runId": format!("{thread}-history-{nth}"), "protocolVersion": "1.0", "messages": [],
        });
        match self.histories.get(place) {
            Some(endpoint) => self.ask(endpoint, &input, |_| {}).await,
            None => Err(Failed { why: "there is no history".to_owned(), is_unreachable: false }),
        }
    }

    /// Reads a stream to its end.
    async fn ask(&self, endpoint: &Endpoint, input: &Value, first: impl Fn(&Sample)) -> Sampled {
        let begun = Instant::now();
        let asked = async {
            let body = Bytes::from(input.to_string());
            let stream = endpoint.run(body, &HeaderMap::new()).await.map_err(|error| failed(&error))?;
            read(stream, begun, first).await
        };
        let late = || Failed { why: "it takes too long".to_owned(), is_unreachable: false };
        timeout(self.limit, asked).await.unwrap_or_else(|_elapsed| Err(late()))
    }
}

async fn read(mut stream: EventStream, begun: Instant, first: impl Fn(&Sample)) -> Sampled {
    let mut sample: Option<Sample> = None;
    let mut end: Option<String> = None;
    while let Some(event) = stream.next().await {
        let event = event.map_err(|error| failed(&error))?;
        let at = begun.elapsed();
        let so_far = sample.get_or_insert_with(|| {
            let sample = Sample { first: at, whole: at, events: 0, bytes: 0 };
            first(&sample);
            sample
        });
        so_far.whole = at;
        so_far.events += 1;
        so_far.bytes += event.bytes.len() as u64;
        let text = std::str::from_utf8(&event.bytes).unwrap_or_default();
        end = Envelope::read(text).ok().map(|envelope| envelope.type_name().to_string());
    }
    let not = |why: &str| Failed { why: why.to_owned(), is_unreachable: false };
    match (sample, end.as_deref()) {
        (Some(sample), Some("RUN_FINISHED")) => Ok(sample),
        (_, Some("RUN_ERROR")) => Err(not("it ends with RUN_ERROR")),
        (Some(_), _) => Err(not("it does not end with RUN_FINISHED")),
        (None, _) => Err(not("it has no events")),
    }
}

fn failed(error: &ClientError) -> Failed {
    let mut why = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        why = format!("{why}: {error}");
        cause = error.source();
    }
    Failed { why, is_unreachable: error.kind() == ErrorKind::Unreachable }
}
