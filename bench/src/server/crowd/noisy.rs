//! One user who asks for far more than it may have, beside others.

use super::overload::Asker;
use super::program::Program;
use super::{Crowd, Stage};
use crate::quantiles::Quantiles;
use crate::server::plans::{OURS, row};
use crate::table::{Cell, Table, columns};
use std::io;
use std::time::Duration;

/// How many requests a second one user may send.
const PER_SECOND: f64 = 50.0;
/// How much more than that the noisy one sends.
const TIMES: f64 = 10.0;
/// How many runs a second the others ask for, which is less than they may.
const OTHERS_PER_SECOND: f64 = 40.0;

/// What others notice.
pub(in crate::server) fn noisy(stage: &Stage<'_>, crowd: Crowd) -> io::Result<Table> {
    let settings =
        format!("limits.requests_per_scope_per_second = {PER_SECOND}\nscope.user_header = \"x-user\"");
    let program = Program::start(stage, "noisy", &settings)?;
    let (others, noisy) = (Asker::new(program.address, "ann"), Asker::new(program.address, "bob"));
    let time = crowd.time.min(Duration::from_secs(10));
    let calm = stage.world.block_on(others.open_loop(OTHERS_PER_SECOND, time))?;
    let (beside, _) = stage.world.block_on(async {
        tokio::try_join!(
            others.open_loop(OTHERS_PER_SECOND, crowd.time),
            noisy.open_loop(PER_SECOND * TIMES, crowd.time)
        )
    })?;
    let goodput = beside.per_second(crowd.time) / calm.per_second(time);
    let (usual, times) = (Quantiles::of(calm.done), Quantiles::of(beside.done));
    Ok(Table {
        title: format!("Noisy: a user at {TIMES} times its limit beside another"),
        note: format!(
            "Each may send {PER_SECOND} requests a second. One asks for {OTHERS_PER_SECOND} runs of 200 events a second, first alone, then beside one who asks for \
             {TIMES} times its limit, and is served as much as that and refused the rest."
        ),
        columns: columns(&[
            "goodput",
            "p50 ms before",
            "p50 ms",
            "p99 ms before",
            "p99 ms",
            "p99 against before",
        ]),
        rows: vec![row(
            OURS,
            vec![
                Cell::Fine(goodput),
                Cell::Fine(usual.p50 / 1e3),
                Cell::Fine(times.p50 / 1e3),
                Cell::Fine(usual.p99 / 1e3),
                Cell::Fine(times.p99 / 1e3),
                Cell::Fine(times.p99 / usual.p99),
            ],
        )],
    })
}
