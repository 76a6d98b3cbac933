//! What to do when a connection is lost: a state machine without clock, randomness or network.
//!
//! What a server has seen decides. A request that did not reach it can be sent again; one that may have reached it cannot, unless
//! the server can say what became of it. Reading can always be begun again, behind the last cursor where there is one.

use crate::{ClientError, ErrorKind, Phase};
use std::time::Duration;

/// How hard to try to get back to a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveryOptions {
    /// How often to try in a row without getting any further. 8; 0 gives up at once.
    pub attempts_max: u32,
    /// How long to wait before the first time. 200 ms; twice as long before each that follows.
    pub wait_min: Duration,
    /// The longest time to wait. 30 s. A connection that held for so long was a good one, and the count begins anew.
    pub wait_max: Duration,
    /// How long a server may ask to be left alone (`Retry-After`). 5 min; one that asks for more is given up.
    pub retry_after_max: Duration,
}

impl Default for RecoveryOptions {
    fn default() -> Self {
        Self {
            attempts_max: 8,
            wait_min: Duration::from_millis(200),
            wait_max: Duration::from_secs(30),
            retry_after_max: Duration::from_secs(5 * 60),
        }
    }
}

/// What is sent to get at a run's events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// The run itself.
    Run,
    /// How things are, and what follows.
    Attach,
    /// What follows a cursor.
    Resume(String),
}

/// What happened to a request, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault<'a> {
    /// There was no connection: the server knows nothing of it.
    Unreachable,
    /// The connection broke, or nothing came for too long, or the answer ended too early.
    Lost,
    /// The server said no.
    Refused { status: u16, code: Option<&'a str>, retry_after: Option<Duration> },
    /// Trying again would give the same.
    Final,
}

impl<'a> Fault<'a> {
    /// `code` is what the body of a refusal says.
    pub(crate) fn of(error: &ClientError, code: Option<&'a str>) -> Self {
        match error.kind() {
            ErrorKind::Unreachable | ErrorKind::Timeout(Phase::Connect) => Self::Unreachable,
            ErrorKind::Timeout(_) | ErrorKind::Broken => Self::Lost,
            ErrorKind::Protocol | ErrorKind::TooLarge => Self::Final,
            ErrorKind::Status => match error {
                ClientError::Status { status, retry_after, .. } => {
                    Self::Refused { status: status.as_u16(), code, retry_after: *retry_after }
                }
                _ => Self::Final,
            },
        }
    }
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Send this, after a while.
    Try { request: Request, after: Duration },
    /// Ask the server whether it can resume, after a while.
    Ask { after: Duration },
    /// There is no way.
    GiveUp(Reason),
}

impl Decision {
    /// The same, without a wait.
    pub(crate) fn at_once(self) -> Self {
        match self {
            Self::Try { request, .. } => Self::Try { request, after: Duration::ZERO },
            Self::Ask { .. } => Self::Ask { after: Duration::ZERO },
            Self::GiveUp(reason) => Self::GiveUp(reason),
        }
    }
}

/// Why a run was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// What happened will happen again.
    Final,
    /// It was tried often enough.
    Exhausted,
    /// The server has no way to get at a run that was begun.
    NotResumable,
}

/// How a run's events are got at, whatever happens to connections.
#[derive(Clone, Debug)]
pub(crate) struct Recovery {
    options: RecoveryOptions,
    /// What is under way.
    request: Request,
    /// Behind the last event, if that had one.
    cursor: Option<String>,
    /// Whether the server can resume, if that is known.
    resumable: Option<bool>,
    /// Whether anything was heard of the run.
    has_heard: bool,
    attempts: u32,
}

impl Recovery {
    /// Begins with a run.
    pub(crate) const fn run(options: RecoveryOptions) -> Self {
        Self::new(options, Request::Run, None)
    }

    /// Begins by attaching, which only makes sense where that can be done.
    pub(crate) const fn attach(options: RecoveryOptions) -> Self {
        Self::new(options, Request::Attach, Some(true))
    }

    const fn new(options: RecoveryOptions, request: Request, resumable: Option<bool>) -> Self {
        Self { options, request, cursor: None, resumable, has_heard: false, attempts: 0 }
    }

    /// What is to be sent, or was.
    pub(crate) const fn request(&self) -> &Request {
        &self.request
    }

    /// Takes note of an event and of its cursor. False if it is the one that was heard last.
    pub(crate) fn heard(&mut self, cursor: Option<&str>) -> bool {
        self.has_heard = true;
        let Some(cursor) = cursor.filter(|cursor| !cursor.is_empty()) else {
            self.cursor = None;
            return true;
        };
        if self.cursor.as_deref() == Some(cursor) {
            return false;
        }
        // The place to come back to has moved: this server is worth the effort.
        self.attempts = 0;
        self.resumable = Some(true);
        match &mut self.cursor {
            Some(held) => cursor.clone_into(held),
            none => *none = Some(cursor.to_owned()),
        }
        true
    }

    /// The reader went away by itself, and has come back.
    pub(crate) fn left(&mut self) -> Decision {
        if matches!(self.request, Request::Run) && !self.has_heard {
            return self.failed(Fault::Lost, Duration::ZERO, 0);
        }
        self.request = self.reading();
        match self.resumable {
            Some(false) => Decision::GiveUp(Reason::NotResumable),
            Some(true) => Decision::Try { request: self.request.clone(), after: Duration::ZERO },
            None => Decision::Ask { after: Duration::ZERO },
        }
    }

    /// What to do after a fault of a connection that held for so long. Of `random`, every bit is.
    pub(crate) fn failed(&mut self, fault: Fault<'_>, held: Duration, random: u64) -> Decision {
        if held >= self.options.wait_max {
            self.attempts = 0;
        }
        let next = match (&self.request, fault) {
            (Request::Run, Fault::Unreachable) => Some(Request::Run),
            (_, Fault::Unreachable | Fault::Lost)
            | (Request::Run, Fault::Refused { code: Some("outcome_unknown"), .. }) => None,
            (request, Fault::Refused { retry_after: Some(_), .. }) => Some(request.clone()),
            (_, Fault::Final) | (Request::Run, Fault::Refused { .. }) => {
                return Decision::GiveUp(Reason::Final);
            }
            (request, Fault::Refused { status, code, .. }) => {
                match self.after_refusal(request, status, code) {
                    Ok(next) => Some(next),
                    Err(reason) => return Decision::GiveUp(reason),
                }
            }
        };
        let asked_to_wait = match fault {
            Fault::Refused { retry_after, .. } => retry_after.unwrap_or_default(),
            _ => Duration::ZERO,
        };
        if asked_to_wait > self.options.retry_after_max {
            return Decision::GiveUp(Reason::Final);
        }
        if next.is_none() && self.resumable == Some(false) {
            return Decision::GiveUp(Reason::NotResumable);
        }
        let Some(after) = self.wait(asked_to_wait, random) else {
            return Decision::GiveUp(Reason::Exhausted);
        };
        match next {
            Some(request) => {
                self.request = request.clone();
                Decision::Try { request, after }
            }
            None if self.resumable.is_none() => Decision::Ask { after },
            None => {
                self.request = self.reading();
                Decision::Try { request: self.request.clone(), after }
            }
        }
    }

    /// What to send after reading was refused.
    fn after_refusal(&self, request: &Request, status: u16, code: Option<&str>) -> Result<Request, Reason> {
        match (status, code) {
            // What was lost on its way never arrived.
            (404, Some("run_not_found")) if !self.has_heard && self.resumable == Some(true) => {
                Ok(Request::Run)
            }
            // The place is gone, or was never one; how things are can still be said.
            (410, Some("compacted")) | (400, Some("invalid_cursor"))
                if matches!(request, Request::Resume(_)) =>
            {
                Ok(Request::Attach)
            }
            (404 | 405 | 501, None) => Err(Reason::NotResumable),
            (500..=599, _) => Ok(request.clone()),
            _ => Err(Reason::Final),
        }
    }

    /// What to do now that the server has said whether it can resume.
    pub(crate) fn told(&mut self, is_resumable: bool) -> Decision {
        self.resumable = Some(is_resumable);
        if !is_resumable {
            return Decision::GiveUp(Reason::NotResumable);
        }
        self.request = self.reading();
        Decision::Try { request: self.request.clone(), after: Duration::ZERO }
    }

    /// What to do if it could not be asked.
    pub(crate) fn not_told(&mut self, random: u64) -> Decision {
        match self.wait(Duration::ZERO, random) {
            Some(after) => Decision::Ask { after },
            None => Decision::GiveUp(Reason::Exhausted),
        }
    }

    /// How to read on.
    fn reading(&self) -> Request {
        self.cursor.clone().map_or(Request::Attach, Request::Resume)
    }

    /// How long to wait, or nothing if it was tried often enough. Between half of the time and all of it, so that those who were cut off
    /// together do not come back together.
    fn wait(&mut self, at_least: Duration, random: u64) -> Option<Duration> {
        if self.attempts >= self.options.attempts_max {
            return None;
        }
        let doubled =
            self.options.wait_min.saturating_mul(1_u32.checked_shl(self.attempts).unwrap_or(u32::MAX));
        let whole = doubled.min(self.options.wait_max);
        self.attempts += 1;
        let share = u32::try_from(random >> 32).unwrap_or(u32::MAX);
        let jitter = u64::try_from(whole.as_nanos() / 2).unwrap_or(u64::MAX);
        let jitter = u128::from(jitter) * u128::from(share) / u128::from(u32::MAX);
        let waited = whole / 2 + Duration::from_nanos(u64::try_from(jitter).unwrap_or(u64::MAX));
        Some(waited.max(at_least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NEVER: Duration = Duration::ZERO;

    fn refused(status: u16, code: Option<&str>) -> Fault<'_> {
        Fault::Refused { status, code, retry_after: None }
    }

    fn busy(seconds: u64) -> Fault<'static> {
        Fault::Refused {
            status: 503,
            code: Some("overloaded"),
            retry_after: Some(Duration::from_secs(seconds)),
        }
    }

    fn tried(decision: Decision) -> Request {
        let Decision::Try { request, .. } = decision else { panic!("{decision:?}") };
        request
    }

    fn run() -> Recovery {
        Recovery::run(RecoveryOptions::default())
    }

    fn after(cursor: &str) -> Recovery {
        let mut recovery = run();
        assert!(recovery.heard(Some(cursor)));
        recovery
    }

    #[test]
    fn what_did_not_arrive_is_sent_again() {
        assert_eq!(tried(run().failed(Fault::Unreachable, NEVER, 0)), Request::Run);
        let mut recovery = run();
        let Decision::Try { request, after } = recovery.failed(busy(7), NEVER, 0) else { panic!() };
        assert_eq!((request, after), (Request::Run, Duration::from_secs(7)));
        assert_eq!(recovery.failed(busy(301), NEVER, 0), Decision::GiveUp(Reason::Final));
    }

    #[test]
    fn what_may_have_arrived_is_not_sent_again_unasked() {
        for fault in [Fault::Lost, refused(503, Some("outcome_unknown"))] {
            let mut recovery = run();
            assert!(matches!(recovery.failed(fault, NEVER, 0), Decision::Ask { .. }), "{fault:?}");
            assert_eq!(recovery.clone().told(false), Decision::GiveUp(Reason::NotResumable));
            assert_eq!(tried(recovery.told(true)), Request::Attach);
            // It knows nothing of the run: it never arrived.
            assert_eq!(tried(recovery.failed(refused(404, Some("run_not_found")), NEVER, 0)), Request::Run);
        }
        // What was heard of has arrived.
        let mut recovery = after("c");
        recovery.failed(Fault::Lost, NEVER, 0);
        let lost = recovery.failed(refused(404, Some("run_not_found")), NEVER, 0);
        assert_eq!(lost, Decision::GiveUp(Reason::Final));
    }

    #[test]
    fn a_refused_run_stays_refused() {
        for fault in [refused(409, Some("run_active")), refused(500, None), refused(404, None), Fault::Final]
        {
            assert_eq!(run().failed(fault, NEVER, 0), Decision::GiveUp(Reason::Final), "{fault:?}");
        }
    }

    #[test]
    fn reading_goes_on_behind_the_last_event() {
        let mut recovery = after("1");
        recovery.heard(Some("2"));
        assert_eq!(tried(recovery.failed(Fault::Lost, NEVER, 0)), Request::Resume("2".to_owned()));
        assert!(!recovery.heard(Some("2")), "a repetition");
        assert!(recovery.heard(Some("3")));
        assert_eq!(tried(recovery.failed(Fault::Unreachable, NEVER, 0)), Request::Resume("3".to_owned()));
        // An event without a cursor is a place that cannot be named.
        assert!(recovery.heard(None));
        assert_eq!(tried(recovery.failed(Fault::Lost, NEVER, 0)), Request::Attach);
    }

    #[test]
    fn a_place_that_is_gone_is_attached_to_anew() {
        for gone in [refused(410, Some("compacted")), refused(400, Some("invalid_cursor"))] {
            let mut recovery = after("1");
            recovery.failed(Fault::Lost, NEVER, 0);
            assert_eq!(tried(recovery.failed(gone, NEVER, 0)), Request::Attach, "{gone:?}");
        }
        let mut recovery = after("1");
        recovery.failed(Fault::Lost, NEVER, 0);
        let replaced = recovery.clone().failed(refused(410, Some("thread_replaced")), NEVER, 0);
        assert_eq!(replaced, Decision::GiveUp(Reason::Final));
        // Reading has no effects, so that a server in trouble can be asked again.
        assert_eq!(tried(recovery.failed(refused(502, None), NEVER, 0)), Request::Resume("1".to_owned()));
    }

    #[test]
    fn a_server_without_cursors_is_asked_once() {
        let mut recovery = run();
        recovery.heard(None);
        assert!(matches!(recovery.failed(Fault::Lost, NEVER, 0), Decision::Ask { .. }));
        assert!(matches!(recovery.not_told(0), Decision::Ask { .. }));
        assert_eq!(recovery.told(false), Decision::GiveUp(Reason::NotResumable));
        let lost = Recovery::attach(RecoveryOptions::default()).failed(refused(404, None), NEVER, 0);
        assert_eq!(lost, Decision::GiveUp(Reason::NotResumable));
    }

    #[test]
    fn it_is_not_tried_for_ever() {
        let mut recovery = after("1");
        for _ in 0..8 {
            assert_eq!(tried(recovery.failed(Fault::Lost, NEVER, 0)), Request::Resume("1".to_owned()));
        }
        assert_eq!(recovery.clone().failed(Fault::Lost, NEVER, 0), Decision::GiveUp(Reason::Exhausted));
        // Getting further counts, and so does having held for long.
        let mut further = recovery.clone();
        further.heard(Some("2"));
        tried(further.failed(Fault::Lost, NEVER, 0));
        tried(recovery.failed(Fault::Lost, Duration::from_secs(30), 0));
    }

    #[test]
    fn coming_back_after_leaving_costs_no_attempt() {
        assert_eq!(tried(after("1").left()), Request::Resume("1".to_owned()));
        assert!(matches!(run().left(), Decision::Ask { .. }));
        let mut heard = run();
        heard.heard(None);
        assert!(matches!(heard.left(), Decision::Ask { .. }));
    }

    proptest! {
        #[test]
        fn waits_grow_within_their_bounds(random in proptest::collection::vec(any::<u64>(), 8)) {
            let options = RecoveryOptions { wait_max: Duration::from_secs(2), ..RecoveryOptions::default() };
            let mut recovery = Recovery::attach(options);
            for (attempt, random) in (0_u32..).zip(random) {
                let Decision::Try { after, .. } = recovery.failed(Fault::Lost, NEVER, random) else { panic!() };
                let whole = Duration::from_millis(200).saturating_mul(1 << attempt).min(Duration::from_secs(2));
                prop_assert!(after >= whole / 2 && after <= whole, "{after:?} of {whole:?}");
            }
        }

        /// Whatever happens, a run is sent a second time only if the server cannot have seen it, or says that it has not.
        #[test]
        fn no_run_is_begun_twice(happens in proptest::collection::vec((0_u8..8, any::<u64>()), 0..40)) {
            let mut recovery = run();
            let mut may_be_there = false;
            let mut decision = Decision::Try { request: Request::Run, after: NEVER };
            for (what, random) in happens {
                match decision {
                    Decision::GiveUp(_) => break,
                    Decision::Ask { .. } => {
                        decision = if what < 2 { recovery.not_told(random) } else { recovery.told(what < 6) };
                        continue;
                    }
                    Decision::Try { request: Request::Run, .. } => {
                        prop_assert!(!may_be_there);
                    }
                    Decision::Try { .. } => {}
                }
                let is_run = matches!(recovery.request(), Request::Run);
                let fault = match what {
                    0 => Fault::Unreachable,
                    1 | 2 => Fault::Lost,
                    3 => busy(1),
                    4 => refused(404, Some("run_not_found")),
                    5 => refused(503, Some("outcome_unknown")),
                    6 => {
                        recovery.heard(Some(&random.to_string()));
                        Fault::Lost
                    }
                    _ => refused(500, None),
                };
                // Whoever was heard of a run of has it, and who says that there is none has not.
                may_be_there = match what {
                    1 | 2 | 5 => may_be_there || is_run,
                    4 => may_be_there && is_run,
                    6 => true,
                    _ => may_be_there,
                };
                decision = recovery.failed(fault, NEVER, random);
            }
        }
    }
}
