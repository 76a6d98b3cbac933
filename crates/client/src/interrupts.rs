//! Whether a turn answers what waits for an answer.

use thiserror::Error;
use threadline_protocol::rfc3339;
use threadline_protocol::run::{Interrupt, ResumeEntry, ResumeStatus};

/// Why a turn was not sent. Nothing has happened.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InterruptError {
    /// Questions of the last run are left open. Each must be answered or given up.
    #[error("interrupts are not answered. ids={}", .0.join(", "))]
    Uncovered(Vec<String>),
    /// The answer is to no question of the last run.
    #[error("no such interrupt. id={0}")]
    Unknown(String),
    /// There is more than one answer to a question.
    #[error("interrupt is answered twice. id={0}")]
    Repeated(String),
    /// The time for an answer is over, so that the question can only be given up.
    #[error("interrupt has expired and can only be cancelled. id={id}, at={at}")]
    Expired {
        /// The interrupt.
        id: String,
        /// Until when it could be answered.
        at: String,
    },
}

/// Whether the time for an answer is over. A time that cannot be read never comes.
#[must_use]
pub fn has_expired(interrupt: &Interrupt<'_>, now_ms: i64) -> bool {
    let at = interrupt.expires_at.as_ref().and_then(|at| rfc3339::parse_ms(&at.to_str()));
    at.is_some_and(|at| at <= now_ms)
}

/// Whether every open question is answered once, and nothing else is.
pub(crate) fn cover(
    open: &[Interrupt<'_>],
    resume: &[ResumeEntry<'_>],
    now_ms: i64,
) -> Result<(), InterruptError> {
    for (at, entry) in resume.iter().enumerate() {
        let id = &entry.interrupt_id;
        let Some(interrupt) = open.iter().find(|interrupt| interrupt.id == *id) else {
            return Err(InterruptError::Unknown(id.to_string()));
        };
        if resume.iter().take(at).any(|earlier| earlier.interrupt_id == *id) {
            return Err(InterruptError::Repeated(id.to_string()));
        }
        if has_expired(interrupt, now_ms) && entry.status != ResumeStatus::Cancelled {
            let at = interrupt.expires_at.as_ref().map(ToString::to_string).unwrap_or_default();
            return Err(InterruptError::Expired { id: id.to_string(), at });
        }
    }
    let is_answered =
        |interrupt: &&Interrupt<'_>| resume.iter().any(|entry| entry.interrupt_id == interrupt.id);
    let left: Vec<String> = open
        .iter()
        .filter(|interrupt| !is_answered(interrupt))
        .map(|interrupt| interrupt.id.to_string())
        .collect();
    if left.is_empty() { Ok(()) } else { Err(InterruptError::Uncovered(left)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: i64 = 1_793_707_200_000; // 2026-11-03T12:00:00Z

    fn answer(id: &'static str) -> ResumeEntry<'static> {
        ResumeEntry::new(id, ResumeStatus::Resolved)
    }

    #[test]
    fn every_question_is_answered_once() {
        let open = [Interrupt::new("a", "confirmation"), Interrupt::new("b", "confirmation")];
        assert_eq!(cover(&[], &[], NOON), Ok(()));
        assert_eq!(cover(&open, &[answer("b"), answer("a")], NOON), Ok(()));
        let left =
            |ids: &[&str]| Err(InterruptError::Uncovered(ids.iter().map(|id| (*id).to_owned()).collect()));
        assert_eq!(cover(&open, &[], NOON), left(&["a", "b"]));
        assert_eq!(cover(&open, &[answer("a")], NOON), left(&["b"]));
        assert_eq!(cover(&open, &[answer("c")], NOON), Err(InterruptError::Unknown("c".to_owned())));
        let twice = cover(&open, &[answer("a"), answer("a")], NOON);
        assert_eq!(twice, Err(InterruptError::Repeated("a".to_owned())));
    }

    #[test]
    fn what_has_expired_can_only_be_given_up() {
        let until = |at: &'static str| [Interrupt::new("a", "confirmation").with_expires_at(at)];
        let given_up = [ResumeEntry::new("a", ResumeStatus::Cancelled)];
        for (at, is_good) in [
            ("2026-11-03T12:00:00Z", false),
            ("2026-11-03T12:00:00.001Z", true),
            ("2026-11-03T13:00:00+02:00", false),
            ("tomorrow", true),
        ] {
            assert_eq!(cover(&until(at), &[answer("a")], NOON).is_ok(), is_good, "{at}");
            assert_eq!(cover(&until(at), &given_up, NOON), Ok(()), "{at}");
        }
        let error = cover(&until("2026-11-03T12:00:00Z"), &[answer("a")], NOON).unwrap_err();
        assert_eq!(
            error.to_string(),
            "interrupt has expired and can only be cancelled. id=a, at=2026-11-03T12:00:00Z"
        );
    }
}
