//! The artifact of a run that a log has.

use threadline_evidence::verify::Outcome;
use threadline_evidence::{ChainValue, Derived, Deriver, Refusal, Refused, Scope, SourceKind, Statement};
use threadline_log::run::RunInfo;
use threadline_log::thread::ThreadInfo;
use threadline_log::{Engine, Error, Kind, RunId, ThreadKey};

/// About how many bytes of records are read at once.
const PAGE_BYTES: usize = 1024 * 1024;

/// What the records of a run give.
#[derive(Debug)]
pub struct LoggedRun {
    /// The artifact, or why there is none.
    pub derived: Result<Derived, Refused>,
    /// Whose thread it is.
    pub scope: Scope,
    /// The value of the thread's chain after the run, where it can be had.
    pub chain: Option<ChainValue>,
}

impl LoggedRun {
    /// The artifact and what is known about where it came from.
    ///
    /// # Errors
    /// Why there is none.
    pub fn stated(self) -> Result<(Derived, Statement), Refused> {
        let derived = self.derived?;
        let statement = Statement::about(&derived, SourceKind::Log, Some(self.scope), self.chain);
        Ok((derived, statement))
    }
}

/// Derives the artifact of a run from its records.
///
/// # Errors
/// If there is no such run, or it cannot be read. That it gives no artifact is no error.
pub async fn derive(engine: &Engine, thread: &ThreadKey, run: &RunId) -> Result<LoggedRun, Error> {
    let info = engine.store().thread(thread).await?;
    let run = engine.run_named(thread, run).await?;
    let mut logged = Logged::new(&info, &run);
    let mut next = run.offsets.start;
    while logged.has_raw() && next < run.offsets.end {
        let page = engine.store().read(thread, next..run.offsets.end, Some(run.no), PAGE_BYTES).await?;
        next = page.next;
        for record in &page.records {
            logged.push(record.offset, record.time.0, record.kind, &record.bytes);
        }
    }
    let chain = engine.chain(thread, Some(run.offsets.end)).await.ok().map(|chain| ChainValue {
        from: chain.from,
        at: chain.at,
        value: chain.value.to_string(),
    });
    Ok(LoggedRun { chain, ..logged.finish() })
}

/// Whether the log still has the records that a statement's chain value is over: all of the thread's records are read again.
///
/// # Errors
/// If there is no such thread, or it cannot be read.
pub async fn recheck(
    engine: &Engine,
    thread: &ThreadKey,
    said: &ChainValue,
) -> Result<(Outcome, String), Error> {
    let rechecked = engine.recheck(thread).await?;
    if let Some(broken) = rechecked.broken.iter().find(|broken| broken.from < said.at) {
        let (from, at) = (broken.from, broken.at);
        return Ok((Outcome::Failed, format!("records were rewritten. offsets={from}..{at}")));
    }
    let chain = match engine.chain(thread, Some(said.at)).await {
        Ok(chain) => chain,
        Err(Error::BeyondTail { tail, .. }) => {
            return Ok((
                Outcome::Failed,
                format!("the thread has fewer records. tail={tail}, expected={}", said.at),
            ));
        }
        Err(Error::Trimmed { .. } | Error::Compacted { .. }) => {
            return Ok((Outcome::NotChecked, "records that are needed are gone".to_owned()));
        }
        Err(error) => return Err(error),
    };
    Ok(if chain.from != said.from {
        (Outcome::NotChecked, "the log's chain begins elsewhere now".to_owned())
    } else if chain.value.to_string() != said.value {
        (Outcome::Failed, "the log's records give another value".to_owned())
    } else if rechecked.not_checked > 0 {
        (Outcome::NotChecked, "the log has the same value, but not all records that it is over".to_owned())
    } else {
        (
            Outcome::Passed,
            format!("the log's records give the same value. offsets={}..{}", said.from, said.at),
        )
    })
}

/// Takes the records of one run, wherever they are read from.
#[derive(Debug)]
pub struct Logged {
    deriver: Deriver,
    scope: Scope,
    has_raw: bool,
}

impl Logged {
    /// Of this run.
    #[must_use]
    pub fn new(thread: &ThreadInfo, run: &RunInfo) -> Self {
        let mut deriver = Deriver::of_logged_run(thread.key.thread.as_str(), run.id.as_str());
        let has_raw = !run.compacted && run.offsets.start >= thread.offsets.start;
        if !has_raw {
            deriver.refuse_source(Refusal::raw_not_kept("the run's records were compacted or trimmed"));
        }
        if run.is_running() {
            deriver.refuse_source(Refusal::run_not_ended());
        }
        let scope = &thread.key.scope;
        let scope = Scope { app: scope.app.to_string(), user: scope.user.to_string() };
        Self { deriver, scope, has_raw }
    }

    /// Whether the records are there to be read.
    #[must_use]
    pub const fn has_raw(&self) -> bool {
        self.has_raw
    }

    /// Notes that they went away while they were read.
    pub fn lose(&mut self) {
        self.deriver.refuse_source(Refusal::raw_not_kept("the run's records are gone"));
    }

    /// Takes the next record.
    pub fn push(&mut self, offset: u64, time_ms: i64, kind: Kind, bytes: &[u8]) {
        match kind {
            Kind::Event => self.deriver.push(offset, Some(time_ms), bytes),
            Kind::Rejected => self.deriver.push_rejected(offset, bytes),
            Kind::Transcoded => {
                let why = "the log has JSON of ours in place of the source's bytes";
                self.deriver.refuse_source(Refusal::raw_not_kept(why));
            }
            // What Threadline wrote is not the source's.
            Kind::Made => {}
        }
    }

    /// What they give.
    #[must_use]
    pub fn finish(self) -> LoggedRun {
        LoggedRun { derived: self.deriver.finish(), scope: self.scope, chain: None }
    }
}
