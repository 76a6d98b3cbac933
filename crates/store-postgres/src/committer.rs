//! Appends: what waits is committed together, in one call of the database, and nothing waits for more to come, but for a commit that goes on.
//!
//! A thread is in one call at a time. If the connection is lost in the middle, the old backend is ended first, so that it has appended or never will,
//! and then it is asked again: what is there is known by its token.

use crate::batch;
use crate::connection::{Connector, Failure, Remedy};
use crate::health::{Health, closed};
use crate::line::{Answer, Line};
use crate::news::{Grapevine, Told};
use crate::numbers::{Numbered, Numbers};
use smallvec::{SmallVec, smallvec};
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use threadline_log::store::{Ack, Append};
use threadline_log::{Error, Kind, ThreadKey};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep, sleep_until};

/// How many may be committed at once. While one waits for the disk, another is prepared.
pub(crate) const COMMITTERS: usize = 2;
/// Where other instances do that to a database, for how long nothing is committed beside a commit, unless as much waits as goes into one: it would be for
/// less, at the same cost. One that takes longer may wait for somebody's lock.
const ALONE: Duration = Duration::from_millis(20);
/// No more batches than these are committed together.
const BATCHES_MAX: usize = 1024;
/// No more bytes than these, but for a batch that has more alone.
const BYTES_MAX: usize = 4 * 1024 * 1024;
/// No more bytes than these are joined in a row.
const JOINED_BYTES_MAX: usize = 64 * 1024;
/// So many that can be appended by the heads of their threads alone are a commit of their own beside others that cannot.
const PLAIN_MIN: usize = 16;
/// How long to wait before a database that is away is asked again: at first, and at most.
const AGAIN: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(250));

type Answering = oneshot::Sender<Result<Ack, Error>>;

/// An append that waits, or several to the same run, which are one row.
pub(crate) struct Waiting {
    /// With the records of all.
    pub(crate) append: Append,
    bytes: usize,
    /// The hash of its thread.
    hash: u64,
    /// What its row is known by.
    pub(crate) token: i64,
    /// Where the thread is in the database, if that is known and the head of the thread may be enough to decide about it.
    pub(crate) head: Option<Numbered>,
    /// It was asked for, and the answer was lost.
    pub(crate) is_retried: bool,
    /// When it is given up.
    deadline: Instant,
    /// Who waits, and for how many records each.
    asked: SmallVec<[(u64, Answering); 1]>,
}

impl Waiting {
    /// Whether it has nothing but records that were rejected: a run takes these after its end, too.
    pub(crate) fn is_rejected(&self) -> bool {
        self.append.records.iter().all(|record| record.kind == Kind::Rejected)
    }

    /// Whether both can be one row: what the head of the thread may decide, and where whatever is decided about one is right for the other.
    fn can_join(&self, next: &Self) -> bool {
        let asked =
            |one: &Self| (one.append.incarnation, one.append.run, one.append.epoch, one.is_rejected());
        let is_same = self.head.is_some() && self.head == next.head && asked(self) == asked(next);
        is_same && self.bytes + next.bytes <= JOINED_BYTES_MAX
    }

    fn join(&mut self, next: Self) {
        self.append.records.extend(next.append.records);
        self.append.time = self.append.time.max(next.append.time);
        self.bytes += next.bytes;
        // Those before wait a little longer with it.
        self.deadline = self.deadline.max(next.deadline);
        self.asked.extend(next.asked);
    }

    /// Tells all who wait. Whoever asked may have gone.
    fn answer(self, outcome: &Result<Ack, Error>) {
        // An answer for one alone may be about what was there before, and that may have been more or less.
        let is_joined = self.asked.len() > 1;
        let mut first = outcome.as_ref().map_or(0, |ack| ack.first);
        for (count, answer) in self.asked {
            let own = |ack| if is_joined { Ack { first, count, ..ack } } else { ack };
            _ = answer.send(outcome.clone().map(own));
            first += count;
        }
    }
}

#[derive(Default)]
struct Queue {
    numbers: Numbers,
    waiting: Vec<Waiting>,
    /// The hashes of threads that are being committed. Two that have the same one wait for each other.
    in_flight: HashSet<u64>,
    /// When the commits that go on have begun.
    begun: Vec<Instant>,
    is_closed: bool,
}

/// What waits to be appended.
pub(crate) struct Committer {
    queue: Mutex<Queue>,
    /// How threads are hashed.
    hashes: RandomState,
    /// Something has come, or a thread is free.
    wake: Notify,
    /// Nothing is left.
    idle: Notify,
    hold_back: Duration,
    grapevine: Arc<Grapevine>,
    health: Arc<Health>,
}

impl std::fmt::Debug for Committer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Committer").field("hold_back", &self.hold_back).finish_non_exhaustive()
    }
}

impl Committer {
    pub(crate) fn new(hold_back: Duration, grapevine: Arc<Grapevine>, health: Arc<Health>) -> Self {
        Self {
            queue: Mutex::default(),
            hashes: RandomState::new(),
            wake: Notify::new(),
            idle: Notify::new(),
            hold_back,
            grapevine,
            health,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Nothing here panics half way.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends, whoever waits for it.
    pub(crate) fn submit(&self, append: Append, token: i64) -> oneshot::Receiver<Result<Ack, Error>> {
        let (answer, answered) = oneshot::channel();
        match batch::bytes_of(&append.records) {
            Err(error) => _ = answer.send(Err(error)),
            Ok(bytes) => {
                let (deadline, hash) =
                    (Instant::now() + self.hold_back, self.hashes.hash_one(&append.thread));
                let mut queue = self.lock();
                if queue.is_closed {
                    _ = answer.send(Err(closed()));
                } else {
                    let head = queue.numbers.head(&append);
                    let is_retried = false;
                    let asked = smallvec![(append.records.len() as u64, answer)];
                    let waiting = Waiting { append, bytes, hash, token, head, is_retried, deadline, asked };
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
            let (group, begun) = self.take().await;
            let mut threads: Vec<u64> = group.iter().map(|one| one.hash).collect();
            let mut locked = VecDeque::from(self.commit(&mut line, group).await);
            threads.retain(|thread| locked.iter().all(|one| one.hash != *thread));
            self.lock().begun.retain(|other| *other != begun);
            self.free(&threads);
            // Each in turn, until its lock is free or its time is over.
            while let Some(one) = locked.pop_front() {
                let thread = one.hash;
                match self.commit(&mut line, vec![one]).await {
                    again if again.is_empty() => self.free(&[thread]),
                    again => locked.extend(again),
                }
            }
        }
    }

    /// Others may go on with these threads.
    fn free(&self, threads: &[u64]) {
        let mut queue = self.lock();
        for thread in threads {
            queue.in_flight.remove(thread);
        }
        let is_idle = queue.waiting.is_empty() && queue.in_flight.is_empty();
        drop(queue);
        self.wake.notify_one();
        if is_idle {
            self.idle.notify_waiters();
        }
    }

    /// What is to be committed, and when that begins.
    async fn take(&self) -> (Vec<Waiting>, Instant) {
        loop {
            let woken = self.wake.notified();
            let alone_until = {
                let mut queue = self.lock();
                let alone_until = queue.alone_until().filter(|_| self.grapevine.are_others_busy());
                if alone_until.is_none() {
                    let group = queue.take();
                    if !group.is_empty() {
                        let begun = Instant::now();
                        queue.begun.push(begun);
                        return (group, begun);
                    }
                }
                alone_until
            };
            match alone_until {
                // Who commits now goes on with what waits.
                Some(until) => sleep_until(until).await,
                None => woken.await,
            }
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

    /// Commits a group, and answers every one of it but those that somebody's lock is in the way of, which it gives back: others need not wait with them.
    async fn commit(&self, line: &mut Line, group: Vec<Waiting>) -> Vec<Waiting> {
        let mut group = self.commit_to_heads(line, group).await;
        let mut pause = AGAIN.0;
        while !group.is_empty() {
            let failure = match line.append_to_any(&group).await {
                Ok(answers) => {
                    let unanswered = Failure::Lost("the database did not answer for it".to_owned());
                    give_up(self.answer(group, answers), &unanswered);
                    return Vec::new();
                }
                Err(failure) => failure,
            };
            self.health.note(&failure);
            match &failure {
                Failure::Lost(_) => group.iter_mut().for_each(|one| one.is_retried = true),
                // One of them may be what it does not take; the others need not suffer for it.
                Failure::Refused { remedy: Remedy::None | Remedy::WaitAlone, .. } if group.len() > 1 => {
                    let mut locked = Vec::new();
                    for one in group {
                        locked.extend(Box::pin(self.commit(line, vec![one])).await);
                    }
                    return locked;
                }
                Failure::Refused { remedy: Remedy::None, .. } => {
                    give_up(group, &failure);
                    return Vec::new();
                }
                Failure::Unreachable(_) | Failure::Refused { .. } => {}
            }
            let now = Instant::now();
            let (over, left): (Vec<_>, Vec<_>) = group.into_iter().partition(|one| one.deadline <= now);
            give_up(over, &failure);
            group = left;
            let is_locked = matches!(failure, Failure::Refused { remedy: Remedy::WaitAlone, .. });
            if is_locked || group.is_empty() {
                break;
            }
            sleep(pause).await;
            pause = (pause * 2).min(AGAIN.1);
        }
        group
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
            one.answer(&outcome);
        }
        if !told.is_empty() {
            self.grapevine.tell(told);
        }
        group.into_iter().flatten().collect()
    }
}

impl Queue {
    /// Until when a commit that goes on may be left alone, if there is one.
    fn alone_until(&self) -> Option<Instant> {
        let until = *self.begun.iter().max()? + ALONE;
        (Instant::now() < until && self.waiting.len() < BATCHES_MAX).then_some(until)
    }

    /// What can be committed now: of each thread what came first, with as much of what came next as can be one row with it; and of none that is being
    /// committed.
    fn take(&mut self) -> Vec<Waiting> {
        let (mut group, mut bytes, mut is_full) = (Vec::<Waiting>::new(), 0, false);
        // Where the threads of the group are in it, but for those of which something stays: nothing goes before that.
        let mut places: HashMap<u64, usize> = HashMap::new();
        for one in std::mem::take(&mut self.waiting) {
            is_full |= group.len() >= BATCHES_MAX || (bytes > 0 && bytes + one.bytes > BYTES_MAX);
            let place = places.get(&one.hash).copied();
            let joined =
                place.and_then(|place| group.get_mut(place)).filter(|first| !is_full && first.can_join(&one));
            if let Some(first) = joined {
                bytes += one.bytes;
                first.join(one);
            } else if !is_full && self.in_flight.insert(one.hash) {
                bytes += one.bytes;
                places.insert(one.hash, group.len());
                group.push(one);
            } else {
                places.remove(&one.hash);
                self.waiting.push(one);
            }
        }
        group
    }
}

fn give_up(group: Vec<Waiting>, failure: &Failure) {
    for one in group {
        let error = match one.is_retried {
            true => Error::Indeterminate(format!("the database: {failure}")),
            false => failure.clone().of_write(),
        };
        one.answer(&Err(error));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadline_log::names::Owner;
    use threadline_log::{AppendKey, Epoch, Incarnation, NewRecord, RunNo, Scope, ThreadId, Timestamp};

    fn key(thread: &str) -> ThreadKey {
        let scope = Scope { app: Owner::new("app").unwrap(), user: Owner::new("user").unwrap() };
        ThreadKey::new(scope, ThreadId::new(thread).unwrap())
    }

    fn append(thread: &str, records: &[&'static str]) -> Append {
        Append {
            thread: key(thread),
            incarnation: None,
            run: RunNo(1),
            epoch: Epoch(1),
            records: records.iter().map(|text| NewRecord::event(*text)).collect(),
            key: None,
            expected_tail: None,
            end: None,
            time: Timestamp(7),
        }
    }

    fn committer() -> Committer {
        let committer = Committer::new(Duration::from_secs(1), Arc::new(Grapevine::silent()), Arc::default());
        for (number, thread) in (1..).zip(["a", "b", "c"]) {
            committer.learn(&key(thread), Numbered { incarnation: Incarnation(1), number });
        }
        committer
    }

    /// What is taken: of each row its thread and its records.
    fn taken(committer: &Committer) -> (Vec<Waiting>, Vec<(String, Vec<String>)>) {
        let group = committer.lock().take();
        let text = |record: &NewRecord| String::from_utf8(record.bytes.to_vec()).unwrap();
        let row = |one: &Waiting| {
            (one.append.thread.thread.as_str().to_owned(), one.append.records.iter().map(text).collect())
        };
        let rows = group.iter().map(row).collect();
        (group, rows)
    }

    fn rows(rows: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        rows.iter().map(|(thread, texts)| ((*thread).to_owned(), owned(texts))).collect()
    }

    #[tokio::test]
    async fn appends_to_the_same_run_are_one_row_and_each_has_its_own_answer() {
        let committer = committer();
        let first = committer.submit(append("a", &["1", "2"]), 1);
        let other = committer.submit(append("b", &["x"]), 2);
        let second = committer.submit(Append { time: Timestamp(9), ..append("a", &["3"]) }, 3);
        let (mut group, found) = taken(&committer);
        assert_eq!(found, rows(&[("a", &["1", "2", "3"]), ("b", &["x"])]));
        assert_eq!((group[0].token, group[0].append.time), (1, Timestamp(9)));
        let ack = Ack { first: 10, count: 3, time: Timestamp(9), repeated: false };
        let refused = Error::Unavailable("not now".to_owned());
        group.pop().unwrap().answer(&Err(refused.clone()));
        group.pop().unwrap().answer(&Ok(ack));
        assert_eq!(first.await.unwrap(), Ok(Ack { count: 2, ..ack }));
        assert_eq!(second.await.unwrap(), Ok(Ack { first: 12, count: 1, ..ack }));
        assert_eq!(other.await.unwrap(), Err(refused));
    }

    #[tokio::test]
    async fn what_cannot_be_joined_waits_and_nothing_goes_before_it() {
        let committer = committer();
        let keyed = Append { key: AppendKey::new("key").ok(), ..append("a", &["2"]) };
        let other_epoch = Append { epoch: Epoch(2), ..append("b", &["y"]) };
        let mut rejected = append("c", &["n"]);
        rejected.records[0].kind = Kind::Rejected;
        let _waiting = [
            committer.submit(append("a", &["1"]), 1),
            committer.submit(keyed, 2),
            committer.submit(append("a", &["3"]), 3),
            committer.submit(append("b", &["x"]), 4),
            committer.submit(other_epoch, 5),
            committer.submit(append("unknown", &["?"]), 6),
            committer.submit(append("unknown", &["!"]), 7),
            committer.submit(append("c", &["m"]), 8),
            committer.submit(rejected, 9),
        ];
        let (group, found) = taken(&committer);
        assert_eq!(found, rows(&[("a", &["1"]), ("b", &["x"]), ("unknown", &["?"]), ("c", &["m"])]));
        assert_eq!(taken(&committer).1, rows(&[]), "all threads are being committed");
        for one in group {
            committer.lock().in_flight.remove(&one.hash);
        }
        let later = rows(&[("a", &["2"]), ("b", &["y"]), ("unknown", &["!"]), ("c", &["n"])]);
        assert_eq!(taken(&committer).1, later);
    }

    #[tokio::test(start_paused = true)]
    async fn where_others_append_nothing_is_committed_beside_a_commit_unless_that_takes_long() {
        let committer = committer();
        let take = async |thread, token| {
            let _waiting = committer.submit(append(thread, &["1"]), token);
            let asked = Instant::now();
            let (group, begun) = committer.take().await;
            assert_eq!((group.len(), begun), (1, Instant::now()));
            (begun, begun - asked)
        };
        let end = |begun| committer.lock().begun.retain(|other| *other != begun);
        let moment = Duration::from_millis(1);
        assert_eq!(take("a", 1).await.1, Duration::ZERO);
        tokio::time::advance(moment).await;
        let (second, waited) = take("b", 2).await;
        assert_eq!(waited, Duration::ZERO, "nobody else appends");
        end(second);
        committer.grapevine.hear_of(1);
        let (third, waited) = take("c", 3).await;
        assert!(waited >= ALONE - moment, "the first has just begun");
        end(third);
        committer.lock().in_flight.clear();
        assert_eq!(take("b", 4).await.1, Duration::ZERO, "it takes long");
        let _waiting: Vec<_> =
            (0..BATCHES_MAX).map(|no| committer.submit(append(&no.to_string(), &["1"]), 5)).collect();
        let asked = Instant::now();
        let (group, begun) = committer.take().await;
        assert_eq!((group.len(), begun), (BATCHES_MAX, asked), "as much as goes into a commit");
    }
}
