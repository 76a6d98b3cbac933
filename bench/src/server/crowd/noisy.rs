//! One user who asks for far more than it may have, beside others.

use super::overload::Asker;
use super::program::Program;
use super::{Crowd, Stage};
use crate::quantiles::Quantiles;
use crate::repeats::middle;
use crate::server::plans::{OURS, row};
use crate::table::{Cell, Table, columns};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How many requests a second one user may send.
const PER_SECOND: f64 = 50.0;
/// How much more than that the noisy one sends.
const TIMES: f64 = 10.0;
/// How many runs a second the others ask for, which is less than they may.
const OTHERS_PER_SECOND: f64 = 40.0;

/// How often the others are beside one who behaves, and then beside the noisy one.
const TURNS: u32 = 12;
/// Some of them take as long as what else is measured: few of their requests are slow, and these are what matters.
const TURNS_IN_TIME: u32 = 4;

/// For how long the noisy one asks before the others do: what it may have at once, after it was silent, is used up by then.
const LEAD: Duration = Duration::from_secs(1);

/// What others notice.
pub(in crate::server) fn noisy(stage: &Stage<'_>, crowd: Crowd) -> io::Result<Table> {
    let settings =
        format!("limits.requests_per_scope_per_second = {PER_SECOND}\nscope.user_header = \"x-user\"");
    let program = Program::start(stage, "noisy", &settings)?;
    let (others, noisy) = (Asker::new(program.address, "ann"), Asker::new(program.address, "bob"));
    let time = crowd.time.min(Duration::from_secs(10));
    let alone = stage.world.block_on(others.open_loop(OTHERS_PER_SECOND, time))?;
    let beside = |times: f64, time: Duration| {
        let (others, noisy) = (Arc::clone(&others), Arc::clone(&noisy));
        stage.world.block_on(async move {
            let others = async {
                tokio::time::sleep(LEAD).await;
                others.open_loop(OTHERS_PER_SECOND, time).await
            };
            let (others, _) = tokio::try_join!(others, noisy.open_loop(PER_SECOND * times, LEAD + time))?;
            Ok::<_, io::Error>(others)
        })
    };
    // In turns, so that whatever else holds up the machine hits both; and many, because one such moment is the p99 of its turn.
    let turn = crowd.time / TURNS_IN_TIME;
    let (mut behaved, mut refused, mut served) = (Vec::new(), Vec::new(), 0);
    for _ in 0..TURNS {
        behaved.push(Quantiles::of(beside(1.0, turn)?.done));
        let done = beside(TIMES, turn)?.done;
        served += done.len();
        refused.push(Quantiles::of(done));
    }
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    let goodput = served as f64 / (turn * TURNS).as_secs_f64() / alone.per_second(time);
    let p50 = |turns: &[Quantiles]| middle(turns, |turn| turn.p50 / 1e3);
    let p99 = |turns: &[Quantiles]| middle(turns, |turn| turn.p99 / 1e3);
    let alone = Quantiles::of(alone.done);
    Ok(Table {
        title: format!("Noisy: a user at {TIMES} times its limit beside another"),
        note: format!(
            "Each may send {PER_SECOND} requests a second. One asks for {OTHERS_PER_SECOND} runs of 200 events a second: first alone, then in {TURNS} turns beside one who asks for as many as it \
             may, and beside one who asks for {TIMES} times its limit, and is served as much as that and refused the rest. In each turn it begins a second before the others, and uses up what it had saved. What that makes worse is told \
             against the former. Figures are medians of turns. {}",
            stage.processors()
        ),
        columns: columns(&[
            "goodput",
            "p50 ms alone",
            "p50 ms beside 1x",
            "p50 ms",
            "p99 ms alone",
            "p99 ms beside 1x",
            "p99 ms",
            "p99 against 1x",
        ]),
        rows: vec![row(
            OURS,
            vec![
                Cell::Fine(goodput),
                Cell::Fine(alone.p50 / 1e3),
                Cell::Fine(p50(&behaved)),
                Cell::Fine(p50(&refused)),
                Cell::Fine(alone.p99 / 1e3),
                Cell::Fine(p99(&behaved)),
                Cell::Fine(p99(&refused)),
                Cell::Fine(p99(&refused) / p99(&behaved)),
            ],
        )],
    })
}
