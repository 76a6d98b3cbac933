//! Whether an event costs more the more there is before it.

use crate::measure::{Aim, Candidate, Plan, Selection};
use std::time::{Duration, Instant};
use threadline_protocol::stages::fold::Fold;
use threadline_protocol::stages::verify::{Options, Verifier};
use threadline_protocol::{Event, Received};

const FEW: &str = "10";
const MANY: &str = "10,000";

/// Caches make some difference, which nothing can be done about.
const INDEPENDENT: &[Aim] = &[Aim { subject: MANY, baseline: FEW, ratio_max: 1.3 }];

/// The same for ten and for ten thousand of something.
struct Case {
    title: &'static str,
    note: &'static str,
    aims: &'static [Aim],
    script: fn(usize) -> Script,
    time: fn(&Script) -> Duration,
}

const CASES: &[Case] = &[
    Case {
        title: "Fold, by the length of the message",
        note: "TEXT_MESSAGE_CONTENT for messages that have so many pieces already.",
        aims: INDEPENDENT,
        script: long_messages,
        time: time_fold,
    },
    Case {
        title: "Fold, by the length of the arguments",
        note: "TOOL_CALL_ARGS for calls that have so many pieces already.",
        aims: INDEPENDENT,
        script: long_calls,
        time: time_fold,
    },
    Case {
        title: "Fold, by the number of messages",
        note: "TEXT_MESSAGE_CONTENT for a new message, after so many others.",
        aims: INDEPENDENT,
        script: many_messages,
        time: time_fold,
    },
    Case {
        title: "Fold, by the size of the state",
        note: "STATE_DELTA for a state of so many members.",
        aims: INDEPENDENT,
        script: large_state,
        time: time_fold,
    },
    Case {
        title: "Fold, by the size of the activity",
        note: "ACTIVITY_DELTA for an activity of so many members.",
        aims: INDEPENDENT,
        script: large_activity,
        time: time_fold,
    },
    Case {
        title: "Verifier, by the number of messages",
        note: "TEXT_MESSAGE_CONTENT for a new message, after so many others.",
        aims: INDEPENDENT,
        script: many_messages,
        time: time_verifier,
    },
];

/// What is measured.
pub(super) fn plans() -> impl Iterator<Item = Plan<'static>> {
    CASES.iter().map(|case| {
        let (few, many) = ((case.script)(10), (case.script)(10_000));
        let whole = few.selection();
        let candidate = |name, script| Candidate::timed(name, move || (case.time)(&script)).ours();
        Plan {
            title: case.title,
            note: case.note.to_owned(),
            candidates: vec![candidate(FEW, few), candidate(MANY, many)],
            baselines: &[FEW],
            aims: case.aims,
            whole,
            families: Vec::new(),
        }
    })
}

/// Scenes that are alike, one after the other.
struct Script(Vec<Scene>);

/// An event that comes again and again. It is the same one before the clock starts, so that it is not memory that is
/// measured.
struct Scene {
    before: Vec<Event<'static>>,
    event: Event<'static>,
    untimed: usize,
    timed: usize,
}

impl Script {
    fn selection(&self) -> Selection {
        let count = self.0.iter().map(|scene| scene.timed).sum();
        let bytes = self.0.iter().map(|scene| scene.event.to_json().len() * scene.timed).sum();
        Selection { name: "all", events: (0..count).collect(), bytes }
    }

    /// As if all scenes took as long as the median one, because other work of the machine hits some.
    fn time(&self, mut take: impl FnMut(&Event<'static>)) -> Duration {
        let scenes = self.0.iter().map(|Scene { before, event, untimed, timed }| {
            before.iter().for_each(&mut take);
            (0..*untimed).for_each(|_| take(event));
            let start = Instant::now();
            (0..*timed).for_each(|_| take(event));
            start.elapsed()
        });
        let mut taken: Vec<Duration> = scenes.collect();
        taken.sort_unstable();
        taken[taken.len() / 2] * u32::try_from(taken.len()).expect("there are few")
    }
}

fn time_fold(script: &Script) -> Duration {
    let mut fold = Fold::new();
    script.time(|event| fold.apply(event).expect("it fits what is held"))
}

fn time_verifier(script: &Script) -> Duration {
    let mut verifier = Verifier::new(Options::new());
    script.time(|event| assert!(verifier.check(event).is_empty(), "the stream is legal"))
}

/// Messages, each of which gets ten more pieces as soon as it has this length.
fn long_messages(pieces: usize) -> Script {
    let scene = |id: String| Scene {
        before: vec![text_start(&id)],
        event: text_content(&id),
        untimed: pieces,
        timed: 10,
    };
    Script((0..100).map(id).map(scene).collect())
}

/// The same for calls.
fn long_calls(pieces: usize) -> Script {
    let scene = |id: String| {
        let start =
            format!(r#"{{"type":"TOOL_CALL_START","toolCallId":"{id}","toolCallName":"search_orders"}}"#);
        let arguments =
            format!(r#"{{"type":"TOOL_CALL_ARGS","toolCallId":"{id}","delta":"{{\"order_id\""}}"#);
        Scene { before: vec![event(&start)], event: event(&arguments), untimed: pieces, timed: 10 }
    };
    Script((0..100).map(id).map(scene).collect())
}

/// So many messages, and a last one that gets a thousand pieces.
fn many_messages(count: usize) -> Script {
    let others = (0..count).map(id).flat_map(|id| [text_start(&id), text_content(&id), text_end(&id)]);
    let last = id(count);
    Script(vec![Scene {
        before: [run_started()].into_iter().chain(others).chain([text_start(&last)]).collect(),
        event: text_content(&last),
        untimed: 1,
        timed: 1000,
    }])
}

/// An object of so many members, one of which changes a thousand times.
fn large_state(members: usize) -> Script {
    let snapshot = event(&format!(r#"{{"type":"STATE_SNAPSHOT","snapshot":{}}}"#, object(members)));
    let delta = event(r#"{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/member5","value":0.75}]}"#);
    // The first change of a state also reads it.
    Script(vec![Scene { before: vec![snapshot], event: delta, untimed: 1, timed: 1000 }])
}

/// The same for an activity.
fn large_activity(members: usize) -> Script {
    let snapshot = event(&format!(
        r#"{{"type":"ACTIVITY_SNAPSHOT","messageId":"{}","activityType":"PLAN","content":{}}}"#,
        id(0),
        object(members)
    ));
    let delta = event(&format!(
        r#"{{"type":"ACTIVITY_DELTA","messageId":"{}","activityType":"PLAN","patch":[{{"op":"replace","path":"/member5","value":0.75}}]}}"#,
        id(0)
    ));
    Script(vec![Scene { before: vec![snapshot], event: delta, untimed: 1, timed: 1000 }])
}

fn id(number: usize) -> String {
    format!("0198c0de-7a3f-4000-8000-{number:012x}")
}

fn object(members: usize) -> String {
    let members: Vec<String> = (0..members).map(|number| format!(r#""member{number}":{number}"#)).collect();
    format!("{{{}}}", members.join(","))
}

fn run_started() -> Event<'static> {
    event(r#"{"type":"RUN_STARTED","threadId":"thread","runId":"run"}"#)
}

fn text_start(id: &str) -> Event<'static> {
    event(&format!(r#"{{"type":"TEXT_MESSAGE_START","messageId":"{id}"}}"#))
}

fn text_content(id: &str) -> Event<'static> {
    event(&format!(
        r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"{id}","delta":"the order is processing "}}"#
    ))
}

fn text_end(id: &str) -> Event<'static> {
    event(&format!(r#"{{"type":"TEXT_MESSAGE_END","messageId":"{id}"}}"#))
}

fn event(json: &str) -> Event<'static> {
    Received::read(json).expect("these are events").into_event().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_can_be_played() {
        for case in CASES {
            (case.time)(&(case.script)(20));
        }
    }
}
