//! The figures, for people and for programs.

use super::histogram::{Figures, Histogram, readable};
use super::measured::{Bench, Measured};
use crate::report::printable;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

pub(super) fn text(bench: &Bench, out: &mut impl Write) -> io::Result<()> {
    let Bench { url, message, concurrency, .. } = bench;
    writeln!(
        out,
        "{}: {concurrency} at a time, saying {}",
        printable(url),
        printable(&json!(message).to_string())
    )?;
    for (name, measured) in parts(bench) {
        write_part(name, measured, out)?;
    }
    Ok(())
}

fn write_part(name: &str, measured: &Measured, out: &mut impl Write) -> io::Result<()> {
    let (done, events) = (measured.samples.len() as u64, measured.events());
    writeln!(
        out,
        "\n{name}: {done} in {}, {:.0} a second; {events} events, {:.0} a second, {:.1} MB",
        readable(measured.took),
        measured.rate(done),
        measured.rate(events),
        measured.rate(measured.bytes()) * measured.took.as_secs_f64() / 1e6,
    )?;
    for (why, count) in reasons(measured) {
        writeln!(out, "  failed: {count} times: {}", printable(&why))?;
    }
    for (what, histogram) in [("first event", measured.first()), ("whole stream", measured.whole())] {
        let Some(Figures { min, p50, p90, p99, max }) = histogram.figures() else { continue };
        let figures = [("min", min), ("p50", p50), ("p90", p90), ("p99", p99), ("max", max)];
        let figures: Vec<String> =
            figures.iter().map(|(name, time)| format!("{name} {:>7}", readable(*time))).collect();
        writeln!(out, "  {what:<13} {}", figures.join("   "))?;
        for line in histogram.lines() {
            writeln!(out, "    {line}")?;
        }
    }
    Ok(())
}

pub(super) fn json(bench: &Bench, out: &mut impl Write) -> io::Result<()> {
    let mut document = json!({
        "url": bench.url, "message": bench.message, "concurrency": bench.concurrency,
    });
    for (name, measured) in parts(bench) {
        document[name] = part(measured);
    }
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

fn part(measured: &Measured) -> Value {
    let done = measured.samples.len() as u64;
    json!({
        "count": done,
        "failed": reasons(measured).iter().map(|(why, count)| json!({"why": why, "count": count})).collect::<Vec<_>>(),
        "seconds": measured.took.as_secs_f64(),
        "perSecond": measured.rate(done),
        "events": measured.events(),
        "eventsPerSecond": measured.rate(measured.events()),
        "bytes": measured.bytes(),
        "firstEvent": spread(&measured.first()),
        "wholeStream": spread(&measured.whole()),
    })
}

fn spread(histogram: &Histogram) -> Value {
    let Some(Figures { min, p50, p90, p99, max }) = histogram.figures() else { return Value::Null };
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let buckets = histogram.buckets().into_iter();
    let buckets: Vec<Value> =
        buckets.map(|bucket| json!({"fromMs": millis(bucket.from), "count": bucket.count})).collect();
    json!({
        "minMs": millis(min), "p50Ms": millis(p50), "p90Ms": millis(p90), "p99Ms": millis(p99), "maxMs": millis(max),
        "buckets": buckets,
    })
}

fn parts(bench: &Bench) -> impl Iterator<Item = (&'static str, &Measured)> {
    let parts = [
        ("runs", Some(&bench.runs)),
        ("followers", bench.followers.as_ref()),
        ("history", bench.history.as_ref()),
    ];
    parts.into_iter().filter_map(|(name, measured)| Some((name, measured?)))
}

/// Why something failed, and how often.
fn reasons(measured: &Measured) -> BTreeMap<String, usize> {
    let mut reasons = BTreeMap::new();
    for failed in &measured.failed {
        *reasons.entry(failed.why.clone()).or_default() += 1;
    }
    reasons
}
