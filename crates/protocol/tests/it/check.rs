//! The checker agrees with the stages, and survives everything.

use proptest::prelude::*;
use threadline_protocol::Received;
use threadline_protocol::check::{CheckReport, Checker, Severity, Verdict};
use threadline_protocol::stages::consumer::Consumer;
use threadline_protocol::stages::fold::Fold;
use threadline_testkit::random::Random;
use threadline_testkit::{any_event, mutate, streams};

fn check(events: &[String]) -> CheckReport {
    let mut checker = Checker::new();
    for event in events {
        checker.push(event);
    }
    checker.finish()
}

/// The first event with an error.
fn first_error(report: &CheckReport) -> Option<u64> {
    let errors = report.findings.iter().filter(|found| found.severity == Severity::Error);
    errors.filter_map(|found| found.positions.first().copied()).min()
}

/// The first event that ends the stream for a client, or that it drops.
fn first_loss(events: &[String]) -> Option<u64> {
    let mut consumer = Consumer::new(Fold::new());
    (0..).zip(events).find_map(|(position, event)| {
        let is_dropped = Received::read(event).is_ok_and(|read| read.event().event_type().is_none());
        let is_lost = consumer.push(event, |_| {}).is_err() || is_dropped;
        is_lost.then_some(position)
    })
}

proptest! {
    #[test]
    fn valid_streams_have_no_faults(seed: u64) {
        let events: Vec<String> =
            streams::valid(&mut Random::new(seed)).iter().map(ToString::to_string).collect();
        let report = check(&events);
        prop_assert_eq!((report.errors, report.warnings), (0, 0), "{:?}", report.findings);
        prop_assert_eq!(report.verdict, Verdict::Conformant);
    }

    #[test]
    fn the_first_error_is_where_a_client_stops(seed: u64) {
        let events: Vec<String> =
            streams::wild(&mut Random::new(seed)).iter().map(ToString::to_string).collect();
        let report = check(&events);
        prop_assert_eq!(first_error(&report), first_loss(&events), "{:?}", report.findings);
    }

    #[test]
    fn events_that_are_wrong_are_so_for_both(seed: u64) {
        let mut random = Random::new(seed);
        let mut event = any_event(&mut random);
        for _ in 0..1 + random.below(4) {
            mutate(&mut event, &mut random);
        }
        let start = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#.to_owned();
        let events = [start, event.to_string()];
        let report = check(&events);
        let is_stopped = first_loss(&events) == Some(1);
        let has_error = first_error(&report) == Some(1);
        prop_assert!(has_error || !is_stopped, "{} {:?}", events[1], report.findings);
        // What a client loses is an error, too, though it goes on.
        let losses = ["unknown_variant", "unknown_role", "member_name", "member_spelling", "reasoning_role"];
        let mut errors = report.findings.iter().filter(|found| found.severity == Severity::Error);
        let is_lost = errors.any(|found| losses.contains(&found.code.name()));
        prop_assert!(is_stopped || !has_error || is_lost, "{} {:?}", events[1], report.findings);
    }

    #[test]
    fn nothing_makes_it_panic(seed: u64, cut: u16, byte: u8) {
        let mut random = Random::new(seed);
        let mut checker = Checker::new();
        let mut pushed = 0;
        for value in streams::wild(&mut random) {
            let mut value = value;
            for _ in 0..random.below(4) {
                mutate(&mut value, &mut random);
            }
            let mut json = value.to_string();
            if random.chance(20) {
                // Any text, most of them no longer JSON.
                let at = (0..=usize::from(cut) % json.len()).rev().find(|&at| json.is_char_boundary(at));
                json.insert(at.unwrap_or(0), char::from(byte));
            }
            checker.push(&json);
            pushed += 1;
        }
        let report = checker.finish();
        prop_assert_eq!(report.events, pushed);
        let listed: u64 = report.findings.iter().map(|found| found.count).sum();
        prop_assert_eq!(listed + report.omitted, report.errors + report.warnings + report.notes);
        for found in &report.findings {
            prop_assert!(!found.positions.is_empty() && found.positions.iter().all(|&at| at <= pushed));
            prop_assert!(!found.message.is_empty() && !found.advice.is_empty());
        }
    }
}
