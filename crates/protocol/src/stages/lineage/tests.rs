use super::*;
use serde_json::{Value, json};

/// A run of the thread. Messages are ids, of reasoning with `?` before them, of activities with `!`.
#[derive(Clone, Copy)]
struct Past {
    id: &'static str,
    asked: &'static str,
    /// What its branch holds at its end; none while it goes on.
    held: Option<&'static str>,
}

const fn ended(id: &'static str, held: &'static str) -> Past {
    Past { id, asked: "", held: Some(held) }
}

const fn asking(id: &'static str, asked: &'static str, held: &'static str) -> Past {
    Past { id, asked, held: Some(held) }
}

const fn running(id: &'static str) -> Past {
    Past { id, asked: "", held: None }
}

/// What the new run says. Without messages there is no input at all; none but `""` are an empty list.
#[derive(Clone, Copy, Default)]
struct New {
    /// The source's own `parentRunId`.
    parent: Option<&'static str>,
    /// That of its input.
    input_parent: Option<&'static str>,
    answers: Option<&'static str>,
    messages: Option<&'static str>,
}

const fn saying(messages: &'static str) -> New {
    New { parent: None, input_parent: None, answers: None, messages: Some(messages) }
}

const fn from(parent: &'static str, new: New) -> New {
    New { parent: Some(parent), ..new }
}

const fn answering(answers: &'static str, new: New) -> New {
    New { answers: Some(answers), ..new }
}

/// What is not a request at all, as when a source says that a run has started.
const NOTHING: New = New { parent: None, input_parent: None, answers: None, messages: None };

fn message(id: &str) -> Value {
    match id.split_at_checked(1) {
        Some(("?", id)) => json!({"role": "reasoning", "id": id, "content": "hm"}),
        Some(("!", id)) => json!({"role": "activity", "id": id, "activityType": "PLAN", "content": {}}),
        Some(("u", _)) => json!({"role": "user", "id": id, "content": "?"}),
        _ => json!({"role": "assistant", "id": id, "content": "."}),
    }
}

fn messages(ids: &str) -> Vec<Message<'static>> {
    let read = |id| Message::read_json(&message(id).to_string()).unwrap().0.into_owned();
    ids.split_whitespace().map(read).collect()
}

fn history(ids: &str) -> History {
    let mut history = History::default();
    messages(ids).iter().for_each(|message| history.push(message));
    history
}

/// Looks for everything in the runs themselves.
impl Runs for &[Past] {
    type Run = &'static str;

    fn named(&self, run_id: &Text<'_>) -> Option<&'static str> {
        self.iter().find(|run| *run_id == run.id).map(|run| run.id)
    }

    fn that_asked(&self, interrupt_id: &Text<'_>) -> Option<&'static str> {
        let asked = |run: &&Past| run.asked.split_whitespace().any(|id| *interrupt_id == id);
        self.iter().rfind(asked).map(|run| run.id)
    }

    fn head(&self) -> Option<&'static str> {
        self.last().map(|run| run.id)
    }

    fn head_is_running(&self) -> bool {
        self.last().is_some_and(|run| run.held.is_none())
    }

    fn has_seen(&self, message_id: &Text<'_>) -> bool {
        self.iter()
            .flat_map(|run| messages(run.held.unwrap_or_default()))
            .any(|message| message.id() == Some(message_id))
    }

    fn with_history(&self, wanted: History) -> Option<&'static str> {
        self.iter().rfind(|run| run.held.is_some_and(|held| history(held) == wanted)).map(|run| run.id)
    }
}

impl New {
    fn parent_among(&self, past: &[Past]) -> Option<&'static str> {
        let mut request = json!({"threadId": "t", "runId": "new"});
        let ids = self.messages.unwrap_or_default().split_whitespace();
        request["messages"] = ids.map(message).collect();
        if let Some(parent) = self.input_parent {
            request["parentRunId"] = parent.into();
        }
        if let Some(answers) = self.answers {
            let answer = |id| json!({"interruptId": id, "status": "resolved"});
            request["resume"] = answers.split_whitespace().map(answer).collect();
        }
        let request = request.to_string();
        let input = self.messages.map(|_| RunAgentInput::read_json(&request).unwrap().0);
        parent_of(&past, self.parent.map(Text::from).as_ref(), input.as_ref())
    }
}

/// Of each row: what it shows, the new run, and the run that it continues.
type Rows<'a> = &'a [(&'a str, New, Option<&'a str>)];

fn assert_continues(past: &[Past], rows: Rows<'_>) {
    for (rule, new, parent) in rows {
        assert_eq!(new.parent_among(past), *parent, "{rule}");
    }
}

/// A conversation whose second message was edited, and whose first answer was asked for again.
const EDITED: &[Past] = &[
    ended("one", "u1 a1"),
    ended("two", "u1 a1 u2 a2"),
    ended("edited", "u1 a1 u2b a2b"),
    ended("again", "u1 a1b"),
];

#[test]
fn a_run_that_is_named_is_continued() {
    let past = &[asking("one", "i", "u1 a1"), ended("two", "u1 a1 u2 a2"), running("three")];
    let of_input = |parent, new| New { input_parent: Some(parent), ..new };
    assert_continues(
        past,
        &[
            ("by the source", from("one", NOTHING), Some("one")),
            ("by the input", of_input("one", saying("")), Some("one")),
            ("by both: the source counts", from("one", of_input("two", saying(""))), Some("one")),
            ("one that goes on", from("three", NOTHING), Some("three")),
            ("before who asked", from("two", answering("i", saying(""))), Some("two")),
            ("before the head that goes on", from("two", NOTHING), Some("two")),
            ("before what the messages continue", from("one", saying("u1 a1 u2 a2 u3")), Some("one")),
        ],
    );
}

#[test]
fn a_name_from_elsewhere_is_a_label() {
    let past = &[asking("one", "i", "u1 a1"), ended("two", "u1 a1 u2 a2"), ended("three", "u3")];
    assert_continues(
        past,
        &[
            ("else the head", from("elsewhere", NOTHING), Some("three")),
            ("an empty one, too", from("", NOTHING), Some("three")),
            ("who asked", from("elsewhere", answering("i", saying(""))), Some("one")),
            ("what the messages continue", from("elsewhere", saying("u1 a1 u2 a2 u4")), Some("two")),
            (
                "no other name is looked up in its place",
                New { input_parent: Some("one"), ..from("elsewhere", saying("")) },
                Some("three"),
            ),
        ],
    );
    assert_continues(&[], &[("of no run at all", from("elsewhere", saying("u1")), None)]);
    let past = &[ended("one", "u1 a1"), running("two")];
    assert_continues(past, &[("the head that goes on", from("elsewhere", saying("u1 a1")), Some("two"))]);
}

#[test]
fn an_answer_goes_to_who_asked() {
    let past = &[asking("one", "i j", "u1 a1"), asking("two", "j k", "u1 a1 u2 a2"), ended("three", "u3 a3")];
    assert_continues(
        past,
        &[
            ("the run that asked", answering("i", saying("")), Some("one")),
            ("the last that did", answering("j", saying("")), Some("two")),
            ("by the first answer", answering("k i", saying("")), Some("two")),
            ("and by the first that somebody asked for", answering("x i k", saying("")), Some("one")),
            ("before what the messages continue", answering("i", saying("u1 a1 u2 a2 u4")), Some("one")),
            ("nobody asked: the messages", answering("x", saying("u1 a1 u4")), Some("one")),
            ("nobody asked: the head", answering("x", saying("")), Some("three")),
            ("no answers at all: the head", answering("", saying("")), Some("three")),
        ],
    );
    let past = &[asking("one", "i", "u1 a1"), running("two")];
    assert_continues(
        past,
        &[
            ("before the head that goes on", answering("i", saying("")), Some("one")),
            ("nobody asked: the head that goes on", answering("x", saying("")), Some("two")),
        ],
    );
}

#[test]
fn a_head_that_goes_on_is_continued_whatever_is_said() {
    let past = &[ended("one", "u1 a1"), ended("two", "u1 a1 u2 a2"), running("three")];
    for said in ["", "u1", "u1 a1", "u1 a1 u2 a2 u3", "u9"] {
        assert_continues(past, &[(said, saying(said), Some("three"))]);
    }
    assert_continues(past, &[("without an input", NOTHING, Some("three"))]);
    // One that goes on and is not the head is in nobody's way, and what it holds is not known yet.
    let past = &[ended("one", "u1 a1"), running("two"), ended("three", "u1 a1 u3 a3")];
    assert_continues(
        past,
        &[
            ("the messages", saying("u1 a1 u2"), Some("one")),
            ("the head", saying("u9"), Some("three")),
            ("by its name alone", from("two", saying("u1 a1 u2")), Some("two")),
        ],
    );
}

#[test]
fn messages_continue_the_run_that_they_hold_all_of() {
    assert_continues(
        EDITED,
        &[
            ("on from the head", saying("u1 a1b u3"), Some("again")),
            ("on from an older branch", saying("u1 a1 u2 a2 u3"), Some("two")),
            ("nothing new", saying("u1 a1 u2 a2"), Some("two")),
            ("the second message, edited once more", saying("u1 a1 u2c"), Some("one")),
            ("the second answer, once more", saying("u1 a1 u2"), Some("one")),
            ("the first answer, once more: no run", saying("u1"), None),
            ("the first message, edited: no run", saying("u1b a1 u2 a2 u3"), None),
            ("a message left out in the middle", saying("u1 a1 a2 u3"), Some("one")),
            ("the first one left out: no run", saying("a1 u2 a2 u3"), None),
            ("another order: no run", saying("a1 u1"), None),
            ("something before the first: no run", saying("u0 u1 a1"), None),
            ("a message twice", saying("u1 a1 u2 a2 a2"), Some("two")),
        ],
    );
}

#[test]
fn the_longest_prefix_counts_and_then_the_latest_run() {
    let past = &[
        ended("long", "u1 a1 u2 a2"),
        ended("short", "u1 a1"),
        // These added no message of their own.
        ended("long too", "u1 a1 u2 a2"),
        ended("short too", "u1 a1"),
        ended("other", "u9"),
    ];
    assert_continues(
        past,
        &[
            ("the latest of the longest", saying("u1 a1 u2 a2 u3"), Some("long too")),
            ("the latest of the next", saying("u1 a1 u3"), Some("short too")),
        ],
    );
    // Nothing at all is a prefix of everything, and a run may have ended with that.
    let past = &[ended("silent", ""), ended("silent too", ""), ended("one", "u1 a1"), ended("two", "u9")];
    assert_continues(
        past,
        &[
            ("the latest of those that hold nothing", saying("u1"), Some("silent too")),
            ("one that holds more", saying("u1 a1 u2"), Some("one")),
        ],
    );
}

#[test]
fn reasoning_and_activities_are_not_what_was_said() {
    let past = &[
        ended("one", "?r1 u1 !p1 a1"),
        ended("two", "?r1 u1 !p1 a1 u2 ?r2 a2 !p2"),
        ended("three", "u3 a3"),
    ];
    assert_continues(
        past,
        &[
            ("clients that send neither", saying("u1 a1 u2 a2 u4"), Some("two")),
            ("that send both", saying("?r1 u1 !p1 a1 u2 ?r2 a2 !p2 u4"), Some("two")),
            ("that send some", saying("u1 ?r1 a1 u4"), Some("one")),
            ("that send what nobody knows", saying("?x u1 !y a1 ?z u4"), Some("one")),
            // Their ids are ones that the thread has seen all the same: this client means to begin anew.
            ("that send nothing else: no run", saying("?r1 u4"), None),
        ],
    );
    // A run that only thought holds as much as the one before it.
    let past = &[ended("one", "u1 a1"), ended("thought", "u1 a1 ?r2"), ended("three", "u3 a3")];
    assert_continues(past, &[("a tie", saying("u1 a1 u2"), Some("thought"))]);
}

#[test]
fn else_the_head_is_continued() {
    assert_continues(
        EDITED,
        &[
            ("only what is new", saying("u3"), Some("again")),
            ("several that are new", saying("u3 a3 u4"), Some("again")),
            ("no messages", saying(""), Some("again")),
            ("no input", NOTHING, Some("again")),
        ],
    );
    assert_continues(
        &[],
        &[
            ("nothing to go on from", saying("u1 a1 u2"), None),
            ("nor anything said", saying(""), None),
            ("nor asked", NOTHING, None),
            ("nor to be answered", answering("i", saying("u1")), None),
        ],
    );
}

#[test]
fn messages_of_roles_that_are_not_known_are_passed_over() {
    let unknown = Message::read_json(r#"{"role":"oracle","id":"o1","content":"."}"#).unwrap().0;
    let mut with = history("u1");
    with.push(&unknown);
    assert_eq!(with, history("u1"));
}

#[test]
fn histories_are_those_of_their_ids_in_order() {
    let all = ["", "u1", "u2", "u1 u2", "u2 u1", "u1 u1", "u1u2", "u1 u2 u1"];
    for one in all {
        for other in all {
            assert_eq!(history(one) == history(other), one == other, "{one:?}, {other:?}");
        }
    }
    // Stores keep them.
    let of_two = History { said: 2, hash: 7_066_915_406_092_983_816 };
    assert_eq!(history("u1 a1"), of_two);
    assert_eq!(id_hash(&Text::from("u1")), 13_106_591_164_549_451_792);
}
