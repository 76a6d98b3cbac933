//! Many who follow a run that stands still.

use super::program::{Program, mib};
use super::{Crowd, Stage};
use crate::quantiles::Quantiles;
use crate::server::asks::{read_arrival, run_to_middle};
use crate::server::exchange::{Answer, post};
use crate::server::plans::{OURS, SHORT_RUN_EVENTS, row};
use crate::server::upstream::{HOLD, Script, path};
use crate::table::{Cell, Table, columns};
use std::io;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::sleep;

const FOLLOWERS: usize = 10_000;
/// How many arrive at once.
const ARRIVING: usize = 64;

/// What so many take who hear nothing.
pub(in crate::server) fn followers(stage: &Stage<'_>, crowd: Crowd) -> io::Result<Table> {
    let settings = "http.connections_max = 11000\nhttp.keep_alive = \"15s\"";
    let program = Program::start(stage, "followers", settings)?;
    let address = program.address;
    let script = Script::new(0, SHORT_RUN_EVENTS)?;
    let (found, idle) = stage.world.block_on(async {
        let _first = run_to_middle(address, &script).await?;
        let [before, _] = program.memory()?;
        let (mut there, mut times): (Vec<Answer>, Vec<Duration>) = Default::default();
        let (mut arriving, mut asked) = (JoinSet::new(), 0);
        let begun = Instant::now();
        while there.len() < FOLLOWERS {
            while asked < FOLLOWERS && arriving.len() < ARRIVING {
                asked += 1;
                arriving.spawn(async move {
                    let start = Instant::now();
                    let connect = format!("{}/connect", path(HOLD));
                    let mut answer = post(address, &connect, r#"{"threadId":"0"}"#).await?;
                    read_arrival(&mut answer).await?;
                    Ok::<_, io::Error>((answer, start.elapsed()))
                });
            }
            let arrived = arriving.join_next().await.ok_or(io::ErrorKind::UnexpectedEof)?;
            let (answer, time) = arrived.map_err(io::Error::other)??;
            there.push(answer);
            times.push(time);
        }
        let arrived = begun.elapsed();
        let [after, _] = program.memory()?;
        let busy = program.busy()?;
        sleep(crowd.time).await;
        let idle = program.busy()?.saturating_sub(busy).as_secs_f64() / crowd.time.as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
        let each = mib(after.saturating_sub(before)) * 1024.0 / FOLLOWERS as f64;
        Ok::<_, io::Error>(((each, mib(after), arrived, Quantiles::of(times)), idle))
    })?;
    let (each, all, arrived, times) = found;
    Ok(Table {
        title: format!("Followers: {FOLLOWERS} of a run that stands still"),
        note: "Each over a connection of its own, told how things are, and then nothing but comments every 15 s. Memory is that of the \
               server's process, before and after they came; idle is what it takes of one processor while they are there."
            .to_owned(),
        columns: columns(&["KiB each", "MiB in all", "seconds to arrive", "arrival p50 ms", "arrival p99 ms", "idle % of a CPU"]),
        rows: vec![row(
            OURS,
            vec![
                Cell::Fine(each),
                Cell::Whole(all),
                Cell::Fine(arrived.as_secs_f64()),
                Cell::Fine(times.p50 / 1e3),
                Cell::Fine(times.p99 / 1e3),
                Cell::Fine(idle * 100.0),
            ],
        )],
    })
}
