use super::*;
use crate::names::{Epoch, Timestamp};
use crate::run::{RunEnd, RunStatus};
use serde_json::json;

/// A run that has ended, having asked these.
fn ended(no: u32, asked: &[&str], lineage: Option<RunLineage>) -> RunInfo {
    let id = RunId::new(format!("r{no}")).expect("a short name");
    let interrupts = asked.iter().map(|&id| id.to_owned()).collect();
    let end =
        RunEnd { status: RunStatus::Finished, outcome: None, error_code: None, usage: None, interrupts };
    let unknown = RunInfo::unknown(RunNo(no), id, 0, Timestamp(0));
    RunInfo { end: Some(end), lineage, epoch: Epoch(1), ..unknown }
}

fn lineage(said: u64, ids: &[u64]) -> RunLineage {
    RunLineage { said, hash: said * 100, ids: ids.to_vec() }
}

/// Everything that the tests below put into an index.
fn everything() -> Sought {
    Sought {
        runs: Vec::new(),
        interrupts: ["i", "j", "k"].map(str::to_owned).into(),
        messages: (0..10).collect(),
        histories: (0..10).map(|said| (said, said * 100)).collect(),
    }
}

#[test]
fn the_last_run_is_found_in_whatever_order_they_were_folded() {
    let runs = [
        ended(0, &["i", "j"], Some(lineage(2, &[1, 2]))),
        ended(1, &["j", "k"], Some(lineage(4, &[3, 4]))),
        ended(2, &["k"], Some(lineage(2, &[]))),
    ];
    let expected = Kin {
        interrupts: [("i", 0), ("j", 1), ("k", 2)].map(|(id, no)| (id.to_owned(), RunNo(no))).into(),
        messages: [1, 2, 3, 4].into(),
        histories: [((2, 200), RunNo(2)), ((4, 400), RunNo(1))].into(),
        ..Kin::default()
    };
    assert_eq!(KinIndex::of(&runs).find(&everything()), expected);
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut index = KinIndex::default();
        for no in order {
            index.end(&RunInfo { lineage: None, ..runs[no].clone() });
        }
        assert_eq!(index.find(&everything()).unfolded, [RunNo(0), RunNo(1), RunNo(2)], "{order:?}");
        for no in order {
            index.fold(runs[no].no, runs[no].lineage.as_ref().expect("it is known"));
        }
        assert_eq!(index.find(&everything()), expected, "{order:?}");
    }
}

#[test]
fn what_a_run_holds_is_known_when_it_has_ended_and_was_folded() {
    let mut run = ended(0, &["i"], None);
    let is_over = run.end.take();
    let mut index = KinIndex::of(std::slice::from_ref(&run));
    index.end(&run);
    assert_eq!(index.find(&everything()), Kin::default(), "it goes on");
    run.end = is_over;
    index.end(&run);
    let found = index.find(&everything());
    assert_eq!((found.interrupts.get("i"), &found.unfolded[..]), (Some(&RunNo(0)), &[RunNo(0)][..]));
    assert_eq!(found, KinIndex::of(std::slice::from_ref(&run)).find(&everything()));
    index.fold(run.no, &lineage(1, &[7]));
    assert_eq!(index.find(&everything()).unfolded, []);
    assert_eq!(index.find(&everything()).messages, [7].into());
}

#[test]
fn nothing_is_told_that_was_not_asked_for() {
    let index = KinIndex::of(&[ended(0, &["i", "j"], Some(lineage(2, &[1, 2])))]);
    let sought = Sought { interrupts: vec!["j".to_owned()], messages: vec![2, 9], ..Sought::default() };
    let found = index.find(&sought);
    assert_eq!(found.interrupts, [("j".to_owned(), RunNo(0))].into());
    assert_eq!((found.messages, found.histories), ([2].into(), HashMap::new()));
    assert_eq!(index.find(&Sought::default()), Kin::default());
}

/// Answers as the runs behind it do, and sees to it that everything was sought that is asked.
struct Watched<'a> {
    kin: &'a Kin,
    sought: &'a Sought,
}

impl Runs for Watched<'_> {
    type Run = RunNo;

    fn named(&self, run_id: &Text<'_>) -> Option<RunNo> {
        let id = run_id.as_str().and_then(|id| RunId::new(id).ok());
        assert!(id.is_none_or(|id| self.sought.runs.contains(&id)), "{run_id}");
        self.kin.named(run_id)
    }

    fn that_asked(&self, interrupt_id: &Text<'_>) -> Option<RunNo> {
        let id = interrupt_id.as_str().map(str::to_owned);
        assert!(id.is_none_or(|id| self.sought.interrupts.contains(&id)), "{interrupt_id}");
        self.kin.that_asked(interrupt_id)
    }

    fn head(&self) -> Option<RunNo> {
        self.kin.head()
    }

    fn head_is_running(&self) -> bool {
        self.kin.head_is_running()
    }

    fn has_seen(&self, message_id: &Text<'_>) -> bool {
        assert!(self.sought.messages.contains(&id_hash(message_id)), "{message_id}");
        self.kin.has_seen(message_id)
    }

    fn with_history(&self, history: History) -> Option<RunNo> {
        assert!(self.sought.histories.contains(&(history.said, history.hash)), "{history:?}");
        self.kin.with_history(history)
    }
}

#[test]
fn all_that_a_parent_is_found_by_was_sought() {
    let long = "x".repeat(300);
    let message = |role: &str, id: &str| json!({"role": role, "id": id, "content": "."});
    let messages = [
        json!([]),
        json!([message("user", "u1")]),
        json!([message("user", "u1"), message("reasoning", "r1"), message("assistant", "a1")]),
        json!([message("oracle", "o1"), message("user", "")]),
    ];
    for named in [None, Some("r0"), Some("elsewhere"), Some(""), Some(long.as_str())] {
        for own in [None, Some("r1"), Some(long.as_str())] {
            for answers in [&[][..], &["i"], &["x", "i"], &["x"]] {
                for messages in &messages {
                    let mut request = json!({"threadId": "t", "runId": "r", "messages": messages});
                    let answer = |id: &&str| json!({"interruptId": id, "status": "resolved"});
                    request["resume"] = answers.iter().map(answer).collect();
                    if let Some(own) = own {
                        request["parentRunId"] = own.into();
                    }
                    assert_sought(named, &request.to_string());
                }
            }
        }
    }
}

/// Tries a request on a thread where everything is found, on one where only messages are, and on an empty one.
fn assert_sought(named: Option<&str>, request: &str) {
    let input = RunAgentInput::read_json(request).expect("a request").0;
    let named = named.map(Text::from);
    let sought = Sought::for_parent(named.as_ref(), Some(&input));
    let messages = sought.messages.iter().copied().collect();
    let histories = sought.histories.iter().map(|history| (*history, RunNo(3))).collect();
    let found = Kin { head: Some(RunNo(4)), messages, histories, ..Kin::default() };
    let runs = sought.runs.iter().map(|id| (id.clone(), RunNo(1))).collect();
    let interrupts = sought.interrupts.iter().map(|id| (id.clone(), RunNo(2))).collect();
    let known = Kin { runs, interrupts, ..found.clone() };
    for kin in [&known, &found, &Kin::default()] {
        let watched = Watched { kin, sought: &sought };
        let parent = parent_of(&watched, named.as_ref(), Some(&input));
        assert_eq!(parent, kin.parent(named.as_ref(), Some(&input)));
    }
}

#[test]
fn a_label_is_what_names_no_run() {
    let id = RunId::new("r0").expect("a short name");
    assert_eq!(Sought::default().with_run(id.clone()).runs, std::slice::from_ref(&id));
    let kin = Kin { runs: [(id, RunNo(0))].into(), ..Kin::default() };
    let spawned_by = |label: Option<&str>| kin.spawned_by(label.map(Text::from).as_ref());
    assert_eq!(spawned_by(None), None);
    assert_eq!(spawned_by(Some("r0")), None);
    // What cannot be the id of a run is a label as well.
    for label in ["elsewhere", "", &"x".repeat(300)] {
        assert_eq!(spawned_by(Some(label)).as_deref(), Some(label));
    }
}
