//! `threadline clone`: a copy of a thread, or of a part of it.

use super::args::CloneArgs;
use super::opened::Opened;
use super::remote::{Remote, thread_path};
use super::told::ThreadTold;
use crate::report::{Failure, printable};
use serde_json::json;
use std::io::{self, Write};
use threadline_log::ThreadKey;
use threadline_log::cloning::ClonePoint;

pub(crate) fn run(args: &CloneArgs) -> Result<(), Failure> {
    if let Some(remote) = Remote::of(&args.place)? {
        let mut wanted = json!({ "threadId": args.new.as_str() });
        match (&args.run, args.at) {
            (Some(run), _) => wanted["runId"] = run.as_str().into(),
            (None, Some(offset)) => wanted["at"] = offset.into(),
            (None, None) => {}
        }
        let path = format!("{}/clone", thread_path(&args.thread));
        let made: ThreadTold = remote.post(&path, &wanted)?;
        return say(&made.info()?.key);
    }
    let opened = Opened::existing_for_writing(&args.place.store)?;
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
    say(&to)
}

fn say(thread: &ThreadKey) -> Result<(), Failure> {
    writeln!(io::stdout().lock(), "{}", printable(&thread.to_string())).map_err(Failure::write)
}
