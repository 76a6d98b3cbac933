//! Appends: what waits is committed together, in one call of the database, and nothing waits for more to come.
//!
//! A thread is in one call at a time. If the connection is lost in the middle, the old backend is ended first, so that it has appended or never will,
//! and then it is asked again: what is there is known by its token.

use crate::batch;
use crate::connection::{Connector, Failure, Remedy};
use crate::line::{Answer, Line};
use crate::news::{Grapevine, Told};
use crate::numbers::{Numbered, Numbers};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use threadline_log::store::{Ack, Append};
use threadline_log::{Error, ThreadKey};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep};

/// How many may be committed at once. While one waits for the disk, another is prepared.
pub(crate) const COMMITTERS: usize = 2;
/// No more batches than these are committed together.
const BATCHES_MAX: usize = 1024;
/// No more bytes than these, but for a batch that has more alone.
const BYTES_MAX: usize = 4 * 1024 * 1024;
/// So many that can be appended by the heads of their threads alone are a commit of their own beside others that cannot.
const PLAIN_MIN: usize = 16;
/// How long to wait before a database that is away is asked again: at first, and at most.
const AGAIN: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(250));

/// An append that waits.
pub(crate) struct Waiting {
    pub(crate) append: Append,
    pub(crate) body: Vec<u8>,
    /// What its row is known by.
    pub(crate) token: i64,
    /// Where the thread is in the database, if that is known and the head of the thread may be enough to decide about it.
    pub(crate) head: Option<Numbered>,
    /// It was asked for, and the answer was lost.
    pub(crate) is_retried: bool,
    /// When it is given up.
    deadline: Instant,
    answer: oneshot::Sender<Result<Ack, Error>>,
}

#[derive(Default)]
struct Queue {
    numbers: Numbers,
    waiting: Vec<Waiting>,
    in_flight: HashSet<ThreadKey>,
    is_closed: bool,
}

/// What waits to be appended.
pub(crate) struct Committer {
    queue: Mutex<Queue>,
    /// Something has come, or a thread is free.
    wake: Notify,
    /// Nothing is left.
    idle: Notify,
    hold_back: Duration,
    grapevine: Arc<Grapevine>,
}

impl std::fmt::Debug for Committer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Committer").field("hold_back", &self.hold_back).finish_non_exhaustive()
    }
}

impl Committer {
    pub(crate) fn new(hold_back: Duration, grapevine: Arc<Grapevine>) -> Self {
        Self { queue: Mutex::default(), wake: Notify::new(), idle: Notify::new(), hold_back, grapevine }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Nothing here panics half way.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends, whoever waits for it.
    pub(crate) fn submit(&self, append: Append, token: i64) -> oneshot::Receiver<Result<Ack, Error>> {
        let (answer, answered) = oneshot::channel();
        match batch::encode(&append.records) {
            Err(error) => _ = answer.send(Err(error)),
            Ok(body) => {
                let deadline = Instant::now() + self.hold_back;
                let mut queue = self.lock();
                if queue.is_closed {
                    _ = answer.send(Err(closed()));
                } else {
                    let head = queue.numbers.head(&append);
                    let is_retried = false;
                    let waiting = Waiting { append, body, token, head, is_retried, deadline, answer };
                    queue.waiting.push(waiting);
                    drop(queue);
                    self.wake.notify_one();
                }
            }
        }
        answered
    }

    /// Learns which number a thread has.
    pub(crate) fn learn(&self, thread: &ThreadKey, numbered: Numbered) {
        self.lock().numbers.learn(thread, numbered);
    }

    /// Takes no more, and waits until what was taken is answered.
    pub(crate) async fn close(&self) {
        self.lock().is_closed = true;
        loop {
            let idle = self.idle.notified();
            self.wake.notify_waiters();
            {
                let queue = self.lock();
                if queue.waiting.is_empty() && queue.in_flight.is_empty() {
                    return;
                }
            }
            idle.await;
        }
    }

    /// Commits what waits, until the store is closed.
    pub(crate) async fn work(self: Arc<Self>, connector: Arc<Connector>) {
        let mut line = Line::new(connector);
        loop {
            let group = self.take().await;
            let threads: Vec<ThreadKey> = group.iter().map(|one| one.append.thread.clone()).collect();
            self.commit(&mut line, group).await;
            let mut queue = self.lock();
            for thread in &threads {
                queue.in_flight.remove(thread);
            }
            let is_idle = queue.waiting.is_empty() && queue.in_flight.is_empty();
            drop(queue);
            // Others may wait for these threads.
            self.wake.notify_one();
            if is_idle {
                self.idle.notify_waiters();
            }
        }
    }

    async fn take(&self) -> Vec<Waiting> {
        loop {
            let woken = self.wake.notified();
            let group = self.lock().take();
            if !group.is_empty() {
                return group;
            }
            woken.await;
        }
    }

    /// Appends what the heads of threads alone can decide about, and gives back the rest.
    async fn commit_to_heads(&self, line: &mut Line, group: Vec<Waiting>) -> Vec<Waiting> {
        let plain = group.iter().filter(|one| one.head.is_some()).count();
        // Two commits for a few are slower than one that looks at more.
        if plain < group.len() && plain < PLAIN_MIN {
            return group;
        }
        let (mut plain, mut rest): (Vec<_>, Vec<_>) = group.into_iter().partition(|one| one.head.is_some());
        plain.sort_unstable_by_key(|one| one.head.map(|head| head.number));
        match line.append_to_heads(&plain).await {
            Ok(answers) => rest.extend(self.answer(plain, answers)),
            Err(failure) => {
                let is_lost = matches!(failure, Failure::Lost(_));
                plain.iter_mut().for_each(|one| one.is_retried |= is_lost);
                rest.extend(plain);
            }
        }
        rest.iter_mut().for_each(|one| one.head = None);
        rest
    }

    /// Commits a group: every one of it is answered in the end.
    async fn commit(&self, line: &mut Line, group: Vec<Waiting>) {
        let mut group = self.commit_to_heads(line, group).await;
        let mut pause = AGAIN.0;
        while !group.is_empty() {
            let failure = match line.append_to_any(&group).await {
                Ok(answers) => {
                    let unanswered = Failure::Lost("the database did not answer for it".to_owned());
                    return give_up(self.answer(group, answers), &unanswered);
                }
                Err(failure) => failure,
            };
            match &failure {
                Failure::Lost(_) => group.iter_mut().for_each(|one| one.is_retried = true),
                // One of them may be what it does not take; the others need not suffer for it.
                Failure::Refused { remedy: Remedy::None | Remedy::WaitAlone, .. } if group.len() > 1 => {
                    for one in group {
                        Box::pin(self.commit(line, vec![one])).await;
                    }
                    return;
                }
                Failure::Refused { remedy: Remedy::None, .. } => return give_up(group, &failure),
                Failure::Unreachable(_) | Failure::Refused { .. } => {}
            }
            let now = Instant::now();
            let (over, left): (Vec<_>, Vec<_>) = group.into_iter().partition(|one| one.deadline <= now);
            give_up(over, &failure);
            group = left;
            if group.is_empty() {
                return;
            }
            sleep(pause).await;
            pause = (pause * 2).min(AGAIN.1);
        }
    }

    /// Answers, and gives back those that there is no answer for.
    fn answer(&self, group: Vec<Waiting>, answers: Vec<Answer>) -> Vec<Waiting> {
        let mut told = Vec::new();
        let mut group: Vec<Option<Waiting>> = group.into_iter().map(Some).collect();
        for Answer { place, outcome, thread } in answers {
            let Some(one) = group.get_mut(place).and_then(Option::take) else { continue };
            if let (Ok(ack), Some(thread)) = (&outcome, thread) {
                if one.head.is_none() {
                    self.learn(&one.append.thread, thread);
                }
                told.push(Told::Reached(thread.incarnation, ack.offsets().end));
                if one.append.end.is_some() {
                    told.push(Told::Changed(one.append.thread.clone()));
                }
            }
            // Whoever asked may have gone.
            _ = one.answer.send(outcome);
        }
        if !told.is_empty() {
            self.grapevine.tell(told);
        }
        group.into_iter().flatten().collect()
    }
}

impl Queue {
    /// What can be committed now: of each thread what came first, and of none that is being committed.
    fn take(&mut self) -> Vec<Waiting> {
        let (mut group, mut bytes, mut is_full) = (Vec::new(), 0, false);
        for one in std::mem::take(&mut self.waiting) {
            is_full |= group.len() >= BATCHES_MAX || (bytes > 0 && bytes + one.body.len() > BYTES_MAX);
            if is_full || !self.in_flight.insert(one.append.thread.clone()) {
                self.waiting.push(one);
                continue;
            }
            bytes += one.body.len();
            group.push(one);
        }
        group
    }
}

fn closed() -> Error {
    Error::Unavailable("the store is closed".to_owned())
}

fn give_up(group: Vec<Waiting>, failure: &Failure) {
    for one in group {
        let error = match one.is_retried {
            true => Error::Indeterminate(format!("the database: {failure}")),
            false => failure.clone().of_write(),
        };
        _ = one.answer.send(Err(error));
    }
}
