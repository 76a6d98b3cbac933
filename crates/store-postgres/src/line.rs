//! A committer's connection, and what it asks the database for: to append batches of different threads, all of them in one statement.

use crate::batch::Body;
use crate::committer::Waiting;
use crate::connection::{Backend, Connection, Connector, Failure};
use crate::names::{Key, escaped, interrupt_key};
use crate::numbers::Numbered;
use crate::outcome::{Asked, DONE, DONE_BEFORE, REPEATED};
use std::sync::Arc;
use std::time::Duration;
use threadline_log::store::{Ack, Append};
use threadline_log::{Error, Incarnation, Timestamp};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// Appends to the last runs of threads, by the threads' heads alone. What is not in the answer was not appended, for whatever reason.
///
/// The heads are locked as they are changed, in the order of their numbers, and whoever waited for one sees what it is by then.
///
/// The statement does not demand that order, which would take a second look at each head: it is that of the list, which the plan goes through from its
/// beginning (so it is planned with [`HOW`] for no heads, for three and for 200,000). With a plan that did otherwise two instances could wait for each other in a
/// circle. The database would refuse one of them, and what that wanted goes to the function `append`, which does demand the order.
const APPEND_TO_HEADS: &str = "WITH moved AS (\
      UPDATE head AS h SET tail = h.tail + w.count, bytes = h.bytes + w.size, updated = greatest(h.updated, w.time), \
        last = h.tail + w.count, records = h.records + w.count \
      FROM (SELECT unnest($1::bigint[]) AS thread, unnest($2::bigint[]) AS run, unnest($3::bigint[]) AS epoch, \
        unnest($4::integer[]) AS count, unnest($5::bigint[]) AS size, unnest($6::bigint[]) AS time, unnest($7::bigint[]) AS token, \
        unnest($8::bytea[]) AS body) AS w \
      WHERE h.thread = w.thread AND h.run = w.run AND h.epoch = w.epoch AND h.records > 0 \
      RETURNING h.thread, h.tail - w.count AS first, w.count, h.run, h.updated, w.token, w.body\
    ), appended AS (\
      INSERT INTO batch (thread, first, count, run, time, token, body) \
      SELECT thread, first, count, run, updated, token, body FROM moved\
    ) SELECT array_agg(thread), array_agg(first), array_agg(updated) FROM moved";
const APPEND_TO_ANY: &str = "SELECT place, outcome, at, count, taken, incarnation, epoch, detail, thread FROM append(\
    $1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::integer[], $8::bigint[], $9::bytea[], \
    $10::bigint[], $11::boolean[], $12::text[], $13::bigint[], $14::bigint[], $15::boolean[], $16::text[], $17::text[], \
    $18::integer[], $19::text[])";

/// Rows are looked up by their keys, however few of them the planner has seen; what passes through a call stays in memory; and one thread that somebody
/// has locked is waited for alone.
const HOW: &str = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; \
    SET plan_cache_mode = force_generic_plan; SET jit = off; SET work_mem = '32MB'; SET lock_timeout = '1s'";
/// Less than appends are held back, so that they can be asked for again.
const ANSWERS_MAX: Duration = Duration::from_secs(3);

/// What has become of an append.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Its place in the group.
    pub(crate) place: usize,
    pub(crate) outcome: Result<Ack, Error>,
    /// Its thread, if there is one.
    pub(crate) thread: Option<Numbered>,
}

/// A connection of a committer's own.
pub(crate) struct Line {
    connector: Arc<Connector>,
    connection: Option<Connection>,
    /// Who may still be appending what was asked before.
    lost: Option<Backend>,
}

impl Line {
    pub(crate) const fn new(connector: Arc<Connector>) -> Self {
        Self { connector, connection: None, lost: None }
    }

    /// Appends to the last runs of their threads, if that is where they belong. All have the number of their thread, and are in the order of these.
    pub(crate) async fn append_to_heads(&mut self, group: &[Waiting]) -> Result<Vec<Answer>, Failure> {
        let heads: Vec<Numbered> = group.iter().filter_map(|one| one.head).collect();
        let threads: Vec<i64> = heads.iter().map(|head| head.number).collect();
        let Columns { runs, epochs, counts, sizes, bodies, times, tokens } = Columns::of(group);
        let parameters: &[&(dyn ToSql + Sync)] =
            &[&threads, &runs, &epochs, &counts, &sizes, &times, &tokens, &bodies];
        let rows = self.ask(APPEND_TO_HEADS, parameters).await?;
        // One row, which costs both sides less than one for each.
        let column = |no| rows.first().and_then(|row| row.get::<_, Option<Vec<i64>>>(no)).unwrap_or_default();
        let answer = |((thread, first), time): ((i64, i64), i64)| {
            let place = threads.binary_search(&thread).ok()?;
            let ack = Ack {
                first: first.cast_unsigned(),
                count: group[place].append.records.len() as u64,
                time: Timestamp(time),
                repeated: false,
            };
            Some(Answer { place, outcome: Ok(ack), thread: Some(heads[place]) })
        };
        Ok(column(0).into_iter().zip(column(1)).zip(column(2)).filter_map(answer).collect())
    }

    /// Appends to whatever runs.
    pub(crate) async fn append_to_any(&mut self, group: &[Waiting]) -> Result<Vec<Answer>, Failure> {
        let keys: Vec<Key<'_>> = group.iter().map(|one| Key::of(&one.append.thread)).collect();
        let apps: Vec<&str> = keys.iter().map(|key| &*key.app).collect();
        let owners: Vec<&str> = keys.iter().map(|key| &*key.owner).collect();
        let names: Vec<&str> = keys.iter().map(|key| &*key.name).collect();
        let incarnations: Vec<Option<i64>> =
            group.iter().map(|one| one.append.incarnation.map(|thread| thread.0.cast_signed())).collect();
        let expected: Vec<Option<i64>> =
            group.iter().map(|one| one.append.expected_tail.map(u64::cast_signed)).collect();
        let only_rejected: Vec<bool> = group.iter().map(Waiting::is_rejected).collect();
        let append_keys: Vec<_> =
            group.iter().map(|one| one.append.key.as_ref().map(|key| escaped(key.as_str()))).collect();
        let append_keys: Vec<Option<&str>> = append_keys.iter().map(Option::as_deref).collect();
        let are_retried: Vec<bool> = group.iter().map(|one| one.is_retried).collect();
        let ends = || group.iter().map(|one| one.append.end.as_deref());
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
        let Columns { runs, epochs, counts, sizes, bodies, times, tokens } = Columns::of(group);
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
            &only_rejected,
            &append_keys,
            &times,
            &tokens,
            &are_retried,
            &endings,
            &statuses,
            &interrupts_of,
            &interrupts,
        ];
        let rows = self.ask(APPEND_TO_ANY, parameters).await?;
        let answer = |row: &Row| {
            let place = usize::try_from(row.get::<_, i64>(0) - 1).ok()?;
            let incarnation: Option<i64> = row.get(5);
            let number: Option<i64> = row.get(8);
            let thread = incarnation.zip(number).map(|(incarnation, number)| Numbered {
                incarnation: Incarnation(incarnation.cast_unsigned()),
                number,
            });
            Some(Answer { place, outcome: outcome(&group.get(place)?.append, row), thread })
        };
        Ok(rows.iter().filter_map(answer).collect())
    }

    async fn ask(
        &mut self,
        sql: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        let connection = match self.connection.take().filter(|open| !open.is_closed()) {
            Some(open) => open,
            None => self.connect().await?,
        };
        if let Some(lost) = &self.lost {
            // Nothing was asked yet.
            connection.end(lost).await.map_err(|failure| Failure::Unreachable(failure.to_string()))?;
            self.lost = None;
        }
        let rows = connection.query(sql, parameters).await;
        match &rows {
            Err(Failure::Lost(_)) => self.lost = Some(connection.backend().clone()),
            _ => self.connection = Some(connection),
        }
        rows
    }

    async fn connect(&self) -> Result<Connection, Failure> {
        let connection = self.connector.connect_for(ANSWERS_MAX).await?;
        connection.set(HOW).await?;
        Ok(connection)
    }
}

/// What is said of appends either way, column by column.
struct Columns<'a> {
    runs: Vec<i64>,
    epochs: Vec<i64>,
    counts: Vec<i32>,
    sizes: Vec<i64>,
    bodies: Vec<Body<'a>>,
    times: Vec<i64>,
    tokens: Vec<i64>,
}

impl<'a> Columns<'a> {
    fn of(group: &'a [Waiting]) -> Self {
        let size = |one: &Waiting| one.append.records.iter().map(|record| record.bytes.len()).sum::<usize>();
        Self {
            runs: group.iter().map(|one| i64::from(one.append.run.0)).collect(),
            epochs: group.iter().map(|one| i64::from(one.append.epoch.0)).collect(),
            counts: group
                .iter()
                .map(|one| i32::try_from(one.append.records.len()).unwrap_or(i32::MAX))
                .collect(),
            sizes: group.iter().map(|one| i64::try_from(size(one)).unwrap_or(i64::MAX)).collect(),
            bodies: group.iter().map(|one| Body(&one.append.records)).collect(),
            times: group.iter().map(|one| one.append.time.0).collect(),
            tokens: group.iter().map(|one| one.token).collect(),
        }
    }
}

/// What has become of an append to any run.
fn outcome(append: &Append, row: &Row) -> Result<Ack, Error> {
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
