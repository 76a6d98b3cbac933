//! The raw events of a run, wherever they are.

use super::args::RunArgs;
use crate::args::SourceArgs;
use crate::events::{self, Command};
use crate::report::{Failure, Report};
use crate::store::opened::Opened;
use crate::store::records::{Gone, told_raw};
use crate::store::remote::{Remote, escaped, thread_path};
use threadline_evidence::{
    ChainValue, Derived, Deriver, Refusal, Refused, Scope, SourceKind, Statement, Times,
};
use threadline_log::{Kind, RunId, ThreadId};
use threadline_protocol::codec::Place;
use threadline_server::evidence::{self, Logged, LoggedRun};

/// What raw events give, and where they were.
pub(super) struct Raw {
    pub(super) derived: Result<Derived, Refused>,
    pub(super) kind: SourceKind,
    pub(super) scope: Option<Scope>,
    pub(super) chain: Option<ChainValue>,
}

impl Raw {
    fn logged(run: LoggedRun) -> Self {
        Self { derived: run.derived, kind: SourceKind::Log, scope: Some(run.scope), chain: run.chain }
    }
}

/// Those of a recording.
pub(super) fn recorded(source: &SourceArgs, times: Times, report: &mut Report<'_>) -> Result<Raw, Failure> {
    let mut derived = None;
    let deriver = Deriver::new(times);
    events::run(source, report, Recorded { deriver, next: 0, derived: &mut derived })?;
    let derived = derived.ok_or(Failure::Unreadable)?;
    Ok(Raw { derived, kind: SourceKind::Recording, scope: None, chain: None })
}

/// Takes the events of a recording, which are counted from 0.
struct Recorded<'a> {
    deriver: Deriver,
    next: u64,
    derived: &'a mut Option<Result<Derived, Refused>>,
}

impl Command for Recorded<'_> {
    const PRINTS_AT_THE_END: bool = true;

    fn event(&mut self, json: &str, _place: Place, _report: &mut Report<'_>) -> Result<(), Failure> {
        self.deriver.push(self.next, None, json.as_bytes());
        self.next += 1;
        Ok(())
    }

    fn transcoded(&mut self) {
        self.deriver
            .refuse_source(Refusal::raw_not_kept("the events came as protobuf, and are JSON of ours"));
    }

    fn idle(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn finish(self, _report: &mut Report<'_>) -> Result<(), Failure> {
        *self.derived = Some(self.deriver.finish());
        Ok(())
    }
}

/// Those of a run in a log.
pub(super) fn logged(args: &RunArgs, thread: &ThreadId, run: &str) -> Result<Raw, Failure> {
    match Remote::of(&args.place)? {
        Some(remote) => told(&remote, thread, run),
        None => {
            let opened = Opened::existing(&args.place.store)?;
            let raw = stored(&opened, args, thread, run);
            opened.close();
            raw
        }
    }
}

fn stored(opened: &Opened, args: &RunArgs, thread: &ThreadId, run: &str) -> Result<Raw, Failure> {
    let key = args.scope.thread(thread);
    let logged = opened.wait(evidence::derive(&opened.engine, &key, &RunId::new(run)?))?;
    Ok(Raw::logged(logged))
}

fn told(remote: &Remote, thread: &ThreadId, run: &str) -> Result<Raw, Failure> {
    let info = remote.thread(thread)?;
    let runs = remote.runs(thread)?;
    let id = RunId::new(run)?;
    let run = runs.iter().find(|one| one.id == id);
    let run = run.ok_or_else(|| Failure::from(threadline_log::Error::NoRun(id.to_string())))?;
    let mut logged = Logged::new(&info, run);
    if logged.has_raw() {
        let read = told_raw(remote, thread, Some(&run.id), run.offsets.clone(), |record| {
            if let Some(kind) = Kind::from_name(record.kind()) {
                logged.push(record.offset(), record.time().0, kind, &record.bytes());
            }
        })?;
        if let Err(Gone) = read {
            logged.lose();
        }
    }
    Ok(Raw::logged(logged.finish()))
}

/// What a server says about its chain after a run: only it can know without all records of the thread.
pub(super) fn told_chain(args: &RunArgs, derived: &Derived) -> Result<Option<ChainValue>, Failure> {
    let (Some(remote), Some(thread)) = (Remote::of(&args.place)?, &args.thread) else { return Ok(None) };
    let run = escaped(derived.artifact.run_id());
    let path = format!("{}/runs/{run}/artifact/statement", thread_path(thread));
    Ok(remote.get::<Statement>(&path)?.chain().cloned())
}
