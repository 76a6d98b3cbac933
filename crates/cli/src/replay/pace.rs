//! How long to wait between events.

use std::time::Duration;

/// At which speed a recording is played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pace {
    /// So many times as fast as it was.
    Speed(f64),
    /// With the same time between all events.
    Interval(Duration),
}

impl Pace {
    pub(crate) async fn wait(self, after: Duration) {
        let wait = self.of(after);
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }

    fn of(self, after: Duration) -> Duration {
        match self {
            Self::Interval(interval) => interval,
            Self::Speed(factor) => {
                Duration::try_from_secs_f64(after.as_secs_f64() / factor).unwrap_or(Duration::MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_follow_the_speed() {
        let second = Duration::from_secs(1);
        assert_eq!(Pace::Speed(1.0).of(second), second);
        assert_eq!(Pace::Speed(4.0).of(second), second / 4);
        assert_eq!(Pace::Speed(0.5).of(second), second * 2);
        assert_eq!(Pace::Interval(Duration::from_millis(7)).of(second), Duration::from_millis(7));
    }
}
