//! Appends: what waits is committed together, in one call of the database, and nothing waits for more to come.
//!
//! A thread is in one call at a time. If the connection is lost in the middle, the old backend is ended first, so that it has appended or never will,
//! and then it is asked again: what is there is known by its token.

use crate::batch;
use crate::connection::{Backend, Connection, Connector, Failure, Remedy};
use crate::names::{Key, escaped, interrupt_key};
use crate::news::{Grapevine, Told};
use crate::outcome::{Asked, DONE, DONE_BEFORE, REPEATED};
use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use threadline_log::record::Kind;
use threadline_log::store::{Ack, Append};
use threadline_log::{Error, Incarnation, ThreadKey, Timestamp};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// How many may be committed at once. While one waits for the disk, another is prepared.
pub(crate) const COMMITTERS: usize = 2;
/// No more batches than these are committed together.
const BATCHES_MAX: usize = 1024;
/// No more bytes than these, but for a batch that has more alone.
const BYTES_MAX: usize = 4 * 1024 * 1024;
/// So many that can be appended by the rows of their threads alone are a commit of their own beside others that cannot.
const PLAIN_MIN: usize = 16;
/// How long to wait before a database that is away is asked again: at first, and at most.
const AGAIN: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(250));

/// Appends to the last runs of threads, by the threads' rows alone. What is not in the answer was not appended, for whatever reason.
///
/// The rows are locked as they are changed, in the order of their names, and whoever waited for one sees what it is by then.
const APPEND_TO_HEADS: &str = "WITH moved AS (\
      UPDATE thread AS t SET tail = t.tail + w.count, bytes = t.bytes + w.size, updated = greatest(t.updated, w.time), \
        head_last = t.tail + w.count, head_records = t.head_records + w.count \
      FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::integer[], $8::bigint[], \
        $9::bytea[], $10::bigint[], $11::bigint[], $12::bigint[]) WITH ORDINALITY \
        AS w (app, owner, name, incarnation, run, epoch, count, size, body, expected, time, token, place) \
      WHERE t.app = w.app AND t.owner = w.owner AND t.name = w.name AND t.runs - 1 = w.run AND t.head_epoch = w.epoch \
        AND t.head_records > 0 AND (w.incarnation IS NULL OR w.incarnation = t.incarnation) \
        AND (w.expected IS NULL OR w.expected = t.tail) \
      RETURNING w.place, t.id, t.incarnation, t.app, t.owner, t.tail - w.count AS first, t.updated, w.run, w.count, w.size, w.token, w.body\
    ), put AS (\
      INSERT INTO batch (thread, first, count, run, time, token, body) \
        SELECT id, first, count, run, updated, token, body FROM moved\
    ), used AS (\
      INSERT INTO usage AS u (app, owner, slot, threads, bytes) \
        SELECT app, owner, pg_backend_pid() & 15, 0, sum(size) FROM moved GROUP BY app, owner ORDER BY app, owner \
        ON CONFLICT (app, owner, slot) DO UPDATE SET bytes = u.bytes + excluded.bytes\
    ) SELECT place, 0, first, count, updated, incarnation, NULL::bigint, NULL::text FROM moved";
const APPEND: &str = "SELECT place, outcome, at, count, taken, incarnation, epoch, detail FROM append(\
    $1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::integer[], $8::bigint[], $9::bytea[], \
    $10::bigint[], $11::boolean[], $12::text[], $13::bigint[], $14::bigint[], $15::boolean[], $16::text[], $17::text[], \
    $18::integer[], $19::text[])";

/// Rows are looked up by their keys, however few of them the planner has seen; what passes through a call stays in memory; and one thread that somebody
/// has locked is waited for alone.
const HOW: &str = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET work_mem = '32MB'; SET lock_timeout = '1s'";
/// Less than appends are held back, so that they can be asked for again.
const ANSWERS_MAX: Duration = Duration::from_secs(3);

/// An append that waits.
struct Waiting {
    append: Append,
    body: Vec<u8>,
    /// What its row is known by.
    token: i64,
    /// When it is given up.
    deadline: Instant,
    /// It was asked for, and the answer was lost.
    is_retried: bool,
    answer: oneshot::Sender<Result<Ack, Error>>,
}

impl Waiting {
    /// Whether the row of the thread may be enough to decide about it.
    const fn is_plain(&self) -> bool {
        let Append { records, key, end, .. } = &self.append;
        !records.is_empty() && key.is_none() && end.is_none() && !self.is_retried
    }
}

/// How batches are appended.
#[derive(Clone, Copy)]
enum Way {
    /// To the last runs of their threads, if that is where they belong.
    ToHeads,
    /// To whatever run.
    ToAny,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
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
                    queue.waiting.push_back(Waiting {
                        append,
                        body,
                        token,
                        deadline,
                        is_retried: false,
                        answer,
                    });
                    drop(queue);
                    self.wake.notify_one();
                }
            }
        }
        answered
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
        let mut line = Line { connector, connection: None, lost: None };
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

    /// Appends what the rows of threads alone can decide about, and gives back the rest.
    async fn commit_to_heads(&self, line: &mut Line, group: Vec<Waiting>) -> Vec<Waiting> {
        let plain = group.iter().filter(|one| one.is_plain()).count();
        // Two commits for a few are slower than one that looks at more.
        if plain < group.len() && plain < PLAIN_MIN {
            return group;
        }
        let (mut plain, mut rest): (Vec<_>, Vec<_>) = group.into_iter().partition(Waiting::is_plain);
        plain.sort_by(|a, b| a.append.thread.cmp(&b.append.thread));
        match line.append(&plain, Way::ToHeads).await {
            Ok(rows) => rest.extend(self.answer(plain, &rows)),
            Err(failure) => {
                let is_lost = matches!(failure, Failure::Lost(_));
                plain.iter_mut().for_each(|one| one.is_retried |= is_lost);
                rest.extend(plain);
            }
        }
        rest
    }

    /// Commits a group: every one of it is answered in the end.
    async fn commit(&self, line: &mut Line, group: Vec<Waiting>) {
        let mut group = self.commit_to_heads(line, group).await;
        let mut pause = AGAIN.0;
        while !group.is_empty() {
            let failure = match line.append(&group, Way::ToAny).await {
                Ok(rows) => {
                    let unanswered = Failure::Lost("the database did not answer for it".to_owned());
                    return give_up(self.answer(group, &rows), &unanswered);
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
    fn answer(&self, group: Vec<Waiting>, rows: &[Row]) -> Vec<Waiting> {
        let mut told = Vec::new();
        let mut group: Vec<Option<Waiting>> = group.into_iter().map(Some).collect();
        for row in rows {
            let place = usize::try_from(row.get::<_, i64>(0) - 1).unwrap_or(usize::MAX);
            let Some(one) = group.get_mut(place).and_then(Option::take) else { continue };
            let answer = answered(&one.append, row);
            if let (Ok(ack), Some(thread)) = (&answer, row.get::<_, Option<i64>>(5)) {
                told.push(Told::Reached(Incarnation(thread.cast_unsigned()), ack.offsets().end));
                if one.append.end.is_some() {
                    told.push(Told::Changed(one.append.thread.clone()));
                }
            }
            // Whoever asked may have gone.
            _ = one.answer.send(answer);
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
        let mut group = Vec::new();
        let (mut bytes, mut place) = (0, 0);
        let mut passed_over: HashSet<ThreadKey> = HashSet::new();
        while place < self.waiting.len() && group.len() < BATCHES_MAX && bytes < BYTES_MAX {
            let one = &self.waiting[place];
            let thread = &one.append.thread;
            let is_too_much = !group.is_empty() && bytes + one.body.len() > BYTES_MAX;
            if is_too_much || self.in_flight.contains(thread) || passed_over.contains(thread) {
                passed_over.insert(thread.clone());
                place += 1;
                continue;
            }
            self.in_flight.insert(thread.clone());
            let Some(one) = self.waiting.remove(place) else { break };
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

/// What has become of an append.
fn answered(append: &Append, row: &Row) -> Result<Ack, Error> {
    let (outcome, at) = (row.get::<_, i32>(1), row.get::<_, Option<i64>>(2).unwrap_or_default());
    let count: Option<i32> = row.get(3);
    match outcome {
        DONE | DONE_BEFORE | REPEATED => Ok(Ack {
            first: at.cast_unsigned(),
            count: u64::try_from(count.unwrap_or_default()).unwrap_or_default(),
            time: Timestamp(row.get::<_, Option<i64>>(4).unwrap_or_default()),
            repeated: outcome == REPEATED,
        }),
        refused => {
            let asked = Asked {
                thread: &append.thread,
                run: append.run,
                epoch: append.epoch,
                expected_tail: append.expected_tail.unwrap_or_default(),
            };
            let epoch: Option<i64> = row.get(6);
            Err(asked.refused(refused, at, epoch.unwrap_or_default(), row.get(7)))
        }
    }
}

/// A connection of a committer's own.
struct Line {
    connector: Arc<Connector>,
    connection: Option<Connection>,
    /// Who may still be appending what was asked before.
    lost: Option<Backend>,
}

impl Line {
    async fn connect(&self) -> Result<Connection, Failure> {
        let connection = self.connector.connect_for(ANSWERS_MAX).await?;
        connection.set(HOW).await?;
        Ok(connection)
    }

    async fn append(&mut self, group: &[Waiting], way: Way) -> Result<Vec<Row>, Failure> {
        let connection = match self.connection.take().filter(|open| !open.is_closed()) {
            Some(open) => open,
            None => self.connect().await?,
        };
        if let Some(lost) = &self.lost {
            // Nothing was asked yet.
            connection.end(lost).await.map_err(|failure| Failure::Unreachable(failure.to_string()))?;
            self.lost = None;
        }
        let rows = ask(&connection, group, way).await;
        match &rows {
            Err(Failure::Lost(_)) => self.lost = Some(connection.backend().clone()),
            _ => self.connection = Some(connection),
        }
        rows
    }
}

async fn ask(connection: &Connection, group: &[Waiting], way: Way) -> Result<Vec<Row>, Failure> {
    let keys: Vec<Key<'_>> = group.iter().map(|one| Key::of(&one.append.thread)).collect();
    let apps: Vec<&str> = keys.iter().map(|key| &*key.app).collect();
    let owners: Vec<&str> = keys.iter().map(|key| &*key.owner).collect();
    let names: Vec<&str> = keys.iter().map(|key| &*key.name).collect();
    let incarnations: Vec<Option<i64>> =
        group.iter().map(|one| one.append.incarnation.map(|thread| thread.0.cast_signed())).collect();
    let runs: Vec<i64> = group.iter().map(|one| i64::from(one.append.run.0)).collect();
    let epochs: Vec<i64> = group.iter().map(|one| i64::from(one.append.epoch.0)).collect();
    let counts: Vec<i32> =
        group.iter().map(|one| i32::try_from(one.append.records.len()).unwrap_or(i32::MAX)).collect();
    let size = |one: &Waiting| one.append.records.iter().map(|record| record.bytes.len()).sum::<usize>();
    let sizes: Vec<i64> = group.iter().map(|one| i64::try_from(size(one)).unwrap_or(i64::MAX)).collect();
    let bodies: Vec<&[u8]> = group.iter().map(|one| &one.body[..]).collect();
    let expected: Vec<Option<i64>> =
        group.iter().map(|one| one.append.expected_tail.map(u64::cast_signed)).collect();
    let times: Vec<i64> = group.iter().map(|one| one.append.time.0).collect();
    let tokens: Vec<i64> = group.iter().map(|one| one.token).collect();
    if matches!(way, Way::ToHeads) {
        let parameters: &[&(dyn ToSql + Sync)] = &[
            &apps,
            &owners,
            &names,
            &incarnations,
            &runs,
            &epochs,
            &counts,
            &sizes,
            &bodies,
            &expected,
            &times,
            &tokens,
        ];
        return connection.query(APPEND_TO_HEADS, parameters).await;
    }
    let is_rejected = |one: &Waiting| one.append.records.iter().all(|record| record.kind == Kind::Rejected);
    let only_rejected: Vec<bool> = group.iter().map(is_rejected).collect();
    let append_keys: Vec<_> =
        group.iter().map(|one| one.append.key.as_ref().map(|key| escaped(key.as_str()))).collect();
    let append_keys: Vec<Option<&str>> = append_keys.iter().map(Option::as_deref).collect();
    let are_retried: Vec<bool> = group.iter().map(|one| one.is_retried).collect();
    let ends = || group.iter().map(|one| one.append.end.as_ref());
    let endings: Vec<Option<String>> = ends().map(|end| end.map(crate::write::ending)).collect();
    let statuses: Vec<Option<&str>> = ends().map(|end| end.map(|end| end.status.name())).collect();
    let mut interrupts_of: Vec<i32> = Vec::new();
    let mut interrupts = Vec::new();
    for (place, end) in (1..).zip(ends()) {
        for id in end.iter().flat_map(|end| &end.interrupts) {
            interrupts_of.push(place);
            interrupts.push(interrupt_key(id));
        }
    }
    let interrupts: Vec<&str> = interrupts.iter().map(|id| &**id).collect();
    connection
        .query(
            APPEND,
            &[
                &apps,
                &owners,
                &names,
                &incarnations,
                &runs,
                &epochs,
                &counts,
                &sizes,
                &bodies,
                &expected,
                &only_rejected,
                &append_keys,
                &times,
                &tokens,
                &are_retried,
                &endings,
                &statuses,
                &interrupts_of,
                &interrupts,
            ],
        )
        .await
}
