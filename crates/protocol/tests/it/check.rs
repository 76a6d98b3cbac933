//! The checker agrees with the stages, and survives everything.

use proptest::prelude::*;
use threadline_protocol::check::{CheckReport, Checker, Code, Finding, Severity, Verdict};
use threadline_protocol::stages::consumer::Consumer;
use threadline_protocol::stages::fold::Fold;
use threadline_protocol::{Event, Received};
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

fn unappliable(report: &CheckReport) -> Vec<&Finding> {
    report.findings.iter().filter(|found| found.code == Code::PatchNotAppliable).collect()
}

/// Runs with little but patches and what they change, many of which do not fit.
fn changes(random: &mut Random) -> Vec<String> {
    let mut events = Vec::new();
    for run in 0..3 {
        let input = match random.below(3) {
            0 => String::new(),
            1 => format!(r#","input":{{"threadId":"t","runId":"{run}","messages":[]}}"#),
            _ => format!(r#","input":{{"threadId":"t","runId":"{run}","messages":[],"state":{{"a":1}}}}"#),
        };
        events.push(format!(r#"{{"type":"RUN_STARTED","threadId":"t","runId":"{run}"{input}}}"#));
        for _ in 0..random.below(12) {
            let event = *random.pick(CHANGES);
            let [operation, id] = [OPERATIONS, &["m", "n"]].map(|choices| *random.pick(choices));
            events.push(event.replace("<operation>", operation).replace("<id>", id));
        }
        events.push(r#"{"type":"RUN_ERROR","message":"no"}"#.to_owned());
    }
    events
}

const CHANGES: &[&str] = &[
    r#"{"type":"STATE_SNAPSHOT","snapshot":{}}"#,
    r#"{"type":"STATE_DELTA","delta":[<operation>]}"#,
    r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/b","value":[]},<operation>]}"#,
    r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"<id>","activityType":"t","content":{"a":1}}"#,
    r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"<id>","activityType":"t","content":{},"replace":false}"#,
    r#"{"type":"ACTIVITY_DELTA","messageId":"<id>","activityType":"t","patch":[<operation>]}"#,
    r#"{"type":"ACTIVITY_DELTA","messageId":"<id>","activityType":"t","patch":[<operation>]}"#,
    r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#,
    r#"{"type":"TOOL_CALL_RESULT","messageId":"<id>","toolCallId":"c","content":"x"}"#,
];

const OPERATIONS: &[&str] = &[
    r#"{"op":"add","path":"/a","value":1}"#,
    r#"{"op":"remove","path":"/a"}"#,
    r#"{"op":"replace","path":"/a","value":{"b":1}}"#,
    r#"{"op":"move","from":"/a","path":"/b"}"#,
    r#"{"op":"test","path":"/a","value":1}"#,
    r#"{"op":"replace","path":"","value":{"a":2}}"#,
    r#"{"op":"replace","path":"","value":3}"#,
];

/// The events with patches that a client cannot apply.
fn refused_patches(events: &[String]) -> Vec<u64> {
    let read = |event| Received::read(event).expect("no event is lost");
    let fold = events.iter().find_map(|event| match read(event).event() {
        Event::RunStarted(started) => Some(started.input.as_deref().map_or_else(Fold::new, Fold::from_input)),
        _ => None,
    });
    let mut consumer = Consumer::new(fold.unwrap_or_default());
    for event in events {
        consumer.push(event, |_| {}).expect("no event is lost");
    }
    let notices = consumer.notices().iter().filter(|notice| notice.message.contains("patch"));
    notices.map(|notice| notice.position).collect()
}

proptest! {
    #[test]
    fn valid_streams_have_no_faults(seed: u64) {
        let events: Vec<String> =
            streams::valid(&mut Random::new(seed)).iter().map(ToString::to_string).collect();
        let report = check(&events);
        let unappliable = unappliable(&report);
        let warnings: u64 = unappliable.iter().map(|found| found.count).sum();
        prop_assert_eq!((report.errors, report.warnings), (0, warnings), "{:?}", report.findings);
        let is_conformant = report.verdict == Verdict::Conformant;
        prop_assert_eq!(is_conformant, unappliable.is_empty());
    }

    #[test]
    fn patches_that_do_not_fit_do_not_for_clients(seed: u64, is_about_patches: bool) {
        let mut random = Random::new(seed);
        let mut events = match is_about_patches {
            true => changes(&mut random),
            false => streams::wild(&mut random).iter().map(ToString::to_string).collect(),
        };
        // From there on a client has not what the check assumes.
        if let Some(end) = first_loss(&events) {
            events.truncate(usize::try_from(end).expect("it is an index"));
        }
        let report = check(&events);
        let refused = refused_patches(&events);
        let mut count = 0;
        for found in unappliable(&report) {
            prop_assert!(found.positions.iter().all(|at| refused.contains(at)), "{found:?} {refused:?}");
            count += found.count;
        }
        prop_assert!(count <= refused.len() as u64);
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
