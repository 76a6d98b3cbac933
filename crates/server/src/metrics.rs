//! What is counted and measured, for Prometheus.

use crate::error::Code;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// What is counted and measured.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    request_seconds: Family<RouteLabels, Histogram, fn() -> Histogram>,
    refusals: Family<CodeLabels, Counter>,
    runs: Family<OutcomeLabels, Counter>,
    events: Counter,
    event_bytes: Counter,
    commit_seconds: Histogram,
    streams_behind: Gauge,
    now: Now,
}

/// What is looked at when somebody asks.
#[derive(Debug, Default)]
struct Now {
    runs: Gauge,
    streams: Gauge,
    store_available: Gauge,
    store_ailments: Gauge,
}

/// How things are when somebody asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Runs that are executed.
    pub(crate) runs: usize,
    /// Streams that are open.
    pub(crate) streams: usize,
    /// Whether the store takes writes.
    pub(crate) store_available: bool,
    /// What is damaged in it.
    pub(crate) store_ailments: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: String,
    route: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CodeLabels {
    code: Code,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}

impl EncodeLabelValue for Code {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        self.name().encode(encoder)
    }
}

/// From a tenth of a millisecond to some minutes.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.000_1, 2.0, 21))
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("threadline");
        let (requests, refusals, runs) = (Family::default(), Family::default(), Family::default());
        let request_seconds: Family<_, _, fn() -> Histogram> = Family::new_with_constructor(seconds);
        let (events, event_bytes) = (Counter::<u64, AtomicU64>::default(), Counter::default());
        let (commit_seconds, streams_behind) = (seconds(), Gauge::default());
        let now = Now::default();
        registry.register("requests", "Requests, when their answer has begun", requests.clone());
        registry.register_with_unit(
            "request",
            "How long answers took to begin",
            Unit::Seconds,
            request_seconds.clone(),
        );
        registry.register("refusals", "Requests that were refused, by code", refusals.clone());
        registry.register("runs_ended", "Runs that have ended here, by outcome", runs.clone());
        registry.register("events", "Events of runs that were kept", events.clone());
        registry.register_with_unit("event", "Their size", Unit::Bytes, event_bytes.clone());
        registry.register_with_unit(
            "commit",
            "How long batches of events took to be durable",
            Unit::Seconds,
            commit_seconds.clone(),
        );
        registry.register(
            "streams_behind",
            "Open streams that have more to read than they have sent",
            streams_behind.clone(),
        );
        registry.register("runs", "Runs that are executed here", now.runs.clone());
        registry.register("streams", "Streams that are open", now.streams.clone());
        let available = now.store_available.clone();
        registry.register("store_available", "Whether the store takes writes", available);
        registry.register("store_ailments", "Damages that the store knows of", now.store_ailments.clone());
        Self {
            registry,
            requests,
            request_seconds,
            refusals,
            runs,
            events,
            event_bytes,
            commit_seconds,
            streams_behind,
            now,
        }
    }
}

impl Metrics {
    /// A request was answered, or its answer has begun.
    pub(crate) fn answered(&self, method: &str, route: &str, status: u16, took: Duration) {
        let (method, route) = (method.to_owned(), route.to_owned());
        self.request_seconds.get_or_create(&RouteLabels { route: route.clone() }).observe(took.as_secs_f64());
        self.requests.get_or_create(&RequestLabels { method, route, status }).inc();
    }

    /// A request was refused.
    pub(crate) fn refused(&self, code: Code) {
        self.refusals.get_or_create(&CodeLabels { code }).inc();
    }

    /// Events of a run were taken over.
    pub(crate) fn kept(&self, events: usize, bytes: usize) {
        self.events.inc_by(events as u64);
        self.event_bytes.inc_by(bytes as u64);
    }

    /// A batch of events is durable.
    pub(crate) fn committed(&self, took: Duration) {
        self.commit_seconds.observe(took.as_secs_f64());
    }

    /// A run has ended.
    pub(crate) fn ended(&self, outcome: &'static str) {
        self.runs.get_or_create(&OutcomeLabels { outcome }).inc();
    }

    /// A stream that is not behind yet.
    pub(crate) fn lag(&self) -> Lag {
        Lag { behind: self.streams_behind.clone(), is_behind: false }
    }

    /// All of it, as Prometheus reads it.
    pub(crate) fn text(&self, seen: Seen) -> String {
        let set = |gauge: &Gauge, value: usize| gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        set(&self.now.runs, seen.runs);
        set(&self.now.streams, seen.streams);
        set(&self.now.store_available, seen.store_available.into());
        set(&self.now.store_ailments, seen.store_ailments);
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

/// Whether one stream is behind.
#[derive(Debug)]
pub(crate) struct Lag {
    behind: Gauge,
    is_behind: bool,
}

impl Lag {
    pub(crate) fn set(&mut self, is_behind: bool) {
        if is_behind != self.is_behind {
            self.is_behind = is_behind;
            if is_behind {
                self.behind.inc()
            } else {
                self.behind.dec()
            };
        }
    }
}

impl Drop for Lag {
    fn drop(&mut self) {
        self.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_prometheus_reads() {
        let metrics = Metrics::default();
        metrics.answered("GET", "/agents", 200, Duration::from_millis(3));
        metrics.refused(Code::RunActive);
        metrics.kept(7, 900);
        metrics.committed(Duration::from_micros(150));
        metrics.ended("finished");
        let mut lag = metrics.lag();
        lag.set(true);
        lag.set(true);
        let seen = Seen { runs: 2, streams: 3, store_available: true, store_ailments: 0 };
        let text = metrics.text(seen);
        for line in [
            r#"threadline_requests_total{method="GET",route="/agents",status="200"} 1"#,
            r#"threadline_request_seconds_count{route="/agents"} 1"#,
            r#"threadline_refusals_total{code="run_active"} 1"#,
            r#"threadline_runs_ended_total{outcome="finished"} 1"#,
            "threadline_events_total 7",
            "threadline_event_bytes_total 900",
            r#"threadline_commit_seconds_bucket{le="0.0002"} 1"#,
            "threadline_streams_behind 1",
            "threadline_runs 2",
            "threadline_streams 3",
            "threadline_store_available 1",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
        drop(lag);
        assert!(metrics.text(seen).contains("threadline_streams_behind 0\n"));
    }
}
