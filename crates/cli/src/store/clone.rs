//! `threadline clone`: a copy of a thread, or of a part of it.

use super::args::CloneArgs;
use super::opened::Opened;
use crate::report::{Failure, printable};
use std::io::{self, Write};
use threadline_log::cloning::ClonePoint;

pub(crate) fn run(args: &CloneArgs) -> Result<(), Failure> {
    let opened = Opened::existing_for_writing(&args.store)?;
    let (from, to) = (args.scope.thread(&args.thread), args.scope.thread(&args.new));
    let point = match (&args.run, args.at) {
        (Some(run), _) => ClonePoint::Run(opened.run(&from, run)?.no),
        (None, Some(offset)) => ClonePoint::Offset(offset),
        (None, None) => {
            let tail = opened.wait(opened.engine.store().thread(&from))?.offsets.end;
            ClonePoint::Offset(tail.saturating_sub(1))
        }
    };
    opened.wait(opened.engine.clone_thread(&from, point, &to))?;
    opened.close();
    writeln!(io::stdout().lock(), "{}", printable(&to.to_string())).map_err(Failure::write)
}
