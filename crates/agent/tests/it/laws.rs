//! Whatever an agent does, its run is legal, and clients have what was meant.

use crate::{assert_strict, folded, input};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use threadline_agent::protocol::content::Content;
use threadline_agent::protocol::run::Interrupt;
use threadline_agent::protocol::{Event, Message};
use threadline_agent::writer::{
    Activity, PendingCall, Reasoning, Step, Subagent, TextMessage, ToolCallWriter,
};
use threadline_agent::{
    AgentError, Finish, RunContext, RunEvent, RunOptions, RunWriter, WriteError, agent_fn, run_agent,
};

/// One thing that an agent does. Numbers choose among what it holds.
#[derive(Clone, Debug)]
enum Act {
    Text { of: usize },
    Call { of: usize },
    CallFromText { which: usize },
    Think { of: usize },
    Step { of: usize, name: u8 },
    Subagent { of: usize },
    Activity { of: usize, shows: u8 },
    State { of: usize, value: u8 },
    Custom { of: usize },
    Push { which: usize, piece: String },
    End { which: usize },
    Drop { which: usize },
    Yield,
}

/// How it returns.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ending {
    Done,
    Interrupt,
    Error,
    Panic,
}

fn an_act() -> impl Strategy<Value = Act> {
    let of = 0..8_usize;
    let which = 0..32_usize;
    prop_oneof![
        2 => of.clone().prop_map(|of| Act::Text { of }),
        2 => of.clone().prop_map(|of| Act::Call { of }),
        1 => which.clone().prop_map(|which| Act::CallFromText { which }),
        2 => of.clone().prop_map(|of| Act::Think { of }),
        1 => (of.clone(), 0..3_u8).prop_map(|(of, name)| Act::Step { of, name }),
        2 => of.clone().prop_map(|of| Act::Subagent { of }),
        1 => (of.clone(), any::<u8>()).prop_map(|(of, shows)| Act::Activity { of, shows }),
        2 => (of.clone(), 0..3_u8).prop_map(|(of, value)| Act::State { of, value }),
        1 => of.prop_map(|of| Act::Custom { of }),
        6 => (which.clone(), "[a-z\"\\\\ü🙂]{0,3}").prop_map(|(which, piece)| Act::Push { which, piece }),
        3 => which.clone().prop_map(|which| Act::End { which }),
        2 => which.prop_map(|which| Act::Drop { which }),
        1 => Just(Act::Yield),
    ]
}

/// What the client shall have: texts, thoughts, arguments, results and activities, by id, and the state.
#[derive(Clone, Debug, Default, PartialEq)]
struct Meant {
    texts: BTreeMap<String, String>,
    arguments: BTreeMap<String, String>,
    results: BTreeMap<String, String>,
    activities: BTreeMap<String, Value>,
    state: Option<Value>,
}

/// What the agent holds.
enum Held {
    Text(TextMessage),
    Call(ToolCallWriter),
    Pending(PendingCall),
    Thought(Reasoning),
    Step(Step),
    Subagent(Subagent),
    Activity(Activity),
}

struct Actor {
    writer: RunWriter,
    held: Vec<Held>,
    meant: Arc<Mutex<Meant>>,
}

impl Actor {
    /// The agent's own writer, or that of one of its subagents.
    fn writer(&self, of: usize) -> RunWriter {
        let subagents = self.held.iter().filter_map(|held| match held {
            Held::Subagent(subagent) => Some((**subagent).clone()),
            _ => None,
        });
        let mut writers: Vec<RunWriter> = subagents.collect();
        writers.push(self.writer.clone());
        writers.swap_remove(of % writers.len())
    }

    fn mean(&self, note: impl FnOnce(&mut Meant)) {
        note(&mut self.meant.lock().unwrap());
    }

    async fn act(&mut self, act: &Act) -> Result<(), WriteError> {
        match act {
            Act::Text { of } => {
                let text = self.writer(*of).text().await?;
                self.mean(|meant| drop(meant.texts.insert(text.id().into_owned(), String::new())));
                self.held.push(Held::Text(text));
            }
            Act::Call { of } => {
                let call = self.writer(*of).tool_call("f").await?;
                self.mean(|meant| drop(meant.arguments.insert(call.id().into_owned(), String::new())));
                self.held.push(Held::Call(call));
            }
            Act::CallFromText { which } => {
                let at = which % self.held.len().max(1);
                let Some(Held::Text(text)) = self.held.get(at) else { return Ok(()) };
                let call = text.tool_call("g").await?;
                self.mean(|meant| drop(meant.arguments.insert(call.id().into_owned(), String::new())));
                self.held.push(Held::Call(call));
            }
            Act::Think { of } => {
                let thought = self.writer(*of).reasoning().await?;
                self.mean(|meant| drop(meant.texts.insert(thought.id().into_owned(), String::new())));
                self.held.push(Held::Thought(thought));
            }
            Act::Step { of, name } => {
                let step = self.writer(*of).step(&format!("step {name}")).await?;
                self.held.push(Held::Step(step));
            }
            Act::Subagent { of } => {
                let subagent = self.writer(*of).subagent("s").await?;
                self.held.push(Held::Subagent(subagent));
            }
            Act::Activity { of, shows } => {
                let content = json!({"shows": shows, "and": "something that stays as it is, and is long"});
                let activity = self.writer(*of).activity("A", &content).await?;
                self.mean(|meant| drop(meant.activities.insert(activity.id().into_owned(), content)));
                self.held.push(Held::Activity(activity));
            }
            Act::State { of, value } => {
                let state = json!({"value": value, "and": "something that stays as it is, and is long"});
                self.writer(*of).set_state(&state).await?;
                self.mean(|meant| meant.state = Some(state));
            }
            Act::Custom { of } => self.writer(*of).custom("test.custom", &of).await?,
            Act::Push { which, piece } => self.push(*which, piece).await?,
            Act::End { which } => self.end(*which).await?,
            Act::Drop { which } => drop(self.take(*which)),
            Act::Yield => tokio::task::yield_now().await,
        }
        Ok(())
    }

    async fn push(&mut self, which: usize, piece: &str) -> Result<(), WriteError> {
        let at = which % self.held.len().max(1);
        let mut meant = self.meant.lock().unwrap().clone();
        match self.held.get_mut(at) {
            Some(Held::Text(text)) => {
                text.push(piece).await?;
                meant.texts.get_mut(&*text.id()).unwrap().push_str(piece);
            }
            Some(Held::Thought(thought)) => {
                thought.push(piece).await?;
                meant.texts.get_mut(&*thought.id()).unwrap().push_str(piece);
            }
            Some(Held::Call(call)) => {
                call.push(piece).await?;
                meant.arguments.get_mut(&*call.id()).unwrap().push_str(piece);
            }
            Some(Held::Activity(activity)) => {
                let content = json!({"shows": piece, "and": "something that stays as it is, and is long"});
                activity.update(&content).await?;
                meant.activities.insert(activity.id().into_owned(), content);
            }
            _ => {}
        }
        self.mean(|it| *it = meant);
        Ok(())
    }

    fn take(&mut self, which: usize) -> Option<Held> {
        let at = which % self.held.len().max(1);
        (at < self.held.len()).then(|| self.held.swap_remove(at))
    }

    async fn end(&mut self, which: usize) -> Result<(), WriteError> {
        match self.take(which) {
            Some(Held::Text(text)) => text.end().await,
            Some(Held::Thought(thought)) => thought.end().await,
            Some(Held::Call(call)) => {
                let pending = call.end().await?;
                self.held.push(Held::Pending(pending));
                Ok(())
            }
            Some(Held::Pending(pending)) => {
                let id = pending.id().into_owned();
                pending.result(format!("result of {id}")).await?;
                self.mean(|meant| drop(meant.results.insert(id.clone(), format!("result of {id}"))));
                Ok(())
            }
            Some(Held::Step(step)) => step.finish().await,
            Some(Held::Subagent(subagent)) if which.is_multiple_of(3) => subagent.fail("no").await,
            Some(Held::Subagent(subagent)) => subagent.finish_with(&which).await,
            Some(Held::Activity(_)) | None => Ok(()),
        }
    }
}

/// Plays acts and returns, with all that is held still held.
async fn play(mut actor: Actor, acts: Arc<[Act]>, ending: Ending) -> Result<Finish, AgentError> {
    for act in acts.iter() {
        match actor.act(act).await {
            Ok(()) | Err(WriteError::Ended | WriteError::Refused(_)) => {}
            Err(error) => {
                assert_eq!(error, WriteError::Cancelled);
                return Err(error.into());
            }
        }
    }
    match ending {
        Ending::Done => Ok(Finish::done()),
        Ending::Interrupt => Ok(Finish::interrupt(Interrupt::new("i", "confirmation"))),
        Ending::Error => Err(AgentError::new("as the test wants")),
        Ending::Panic => std::panic::resume_unwind(Box::new("as the test wants")),
    }
}

/// What the client has, of what can be meant.
fn held_by_client(events: &[RunEvent]) -> Meant {
    let fold = folded(&input(), events);
    let mut meant = Meant::default();
    for message in fold.messages() {
        match message {
            Message::Assistant(message) => {
                for call in message.tool_calls.iter().flatten() {
                    meant.arguments.insert(call.id.to_string(), call.function.arguments.to_string());
                }
                // A call without a parent has a message of its own, which says nothing.
                if let Some(text) = &message.content {
                    meant.texts.insert(message.id.to_string(), text.to_string());
                }
            }
            Message::Reasoning(message) => {
                meant.texts.insert(message.id.to_string(), message.content.to_string());
            }
            Message::Tool(message) => {
                let Content::Text(text) = &message.content else { panic!("text") };
                meant.results.insert(message.tool_call_id.to_string(), text.to_string());
            }
            Message::Activity(message) => {
                let content = message.content.as_json().deserialize().unwrap();
                meant.activities.insert(message.id.to_string(), content);
            }
            _ => panic!("nobody writes this"),
        }
    }
    let said_state =
        events.iter().any(|event| matches!(event.event(), Event::StateSnapshot(_) | Event::StateDelta(_)));
    meant.state = said_state.then(|| fold.state().deserialize().unwrap());
    meant
}

/// Runs the acts, and gives the events and what was meant by them.
fn run(
    acts: Vec<Act>,
    ending: Ending,
    options: RunOptions,
    cancel_at: Option<usize>,
) -> (Vec<RunEvent>, Meant) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let meant: Arc<Mutex<Meant>> = Arc::default();
        let (acts, noted): (Arc<[Act]>, _) = (acts.into(), Arc::clone(&meant));
        let agent = agent_fn(move |_: RunContext, writer: RunWriter| {
            let actor = Actor { writer, held: Vec::new(), meant: Arc::clone(&noted) };
            play(actor, Arc::clone(&acts), ending)
        });
        let mut run = run_agent(Arc::new(agent), input(), options);
        let mut events = Vec::new();
        while let Some(event) = run.next().await {
            events.push(event);
            if cancel_at == Some(events.len()) {
                run.cancel();
            }
        }
        assert_strict(&events);
        assert_end(&events, ending);
        let meant = meant.lock().unwrap().clone();
        (events, meant)
    })
}

fn assert_end(events: &[RunEvent], ending: Ending) {
    let outcome = |event: &RunEvent| -> Value {
        serde_json::from_slice::<Value>(event.json()).unwrap()["outcome"]["type"].clone()
    };
    let last = events.last().unwrap();
    match last.event() {
        Event::RunError(_) => assert!(matches!(ending, Ending::Error | Ending::Panic)),
        _ if outcome(last) == "cancelled" => {}
        _ if outcome(last) == "interrupt" => assert_eq!(ending, Ending::Interrupt),
        _ => assert_eq!(ending, Ending::Done),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn runs_are_legal_and_mean_what_was_written(
        acts in prop::collection::vec(an_act(), 0..40),
        ending in prop::sample::select(vec![Ending::Done, Ending::Interrupt, Ending::Error, Ending::Panic]),
        waiting in 1..5_usize,
        threshold in prop::sample::select(vec![0, usize::MAX]),
        cancel_at in prop::option::weighted(0.3, 1..30_usize),
    ) {
        let options = RunOptions::new().with_waiting_max(waiting).with_state_snapshot_bytes_max(threshold);
        let (events, meant) = run(acts, ending, options, cancel_at);
        let mut client = held_by_client(&events);
        // Calls that were dropped or left over have a result that says so.
        client.results.retain(|call, text| {
            assert!(text.starts_with("No result: ") || meant.results.contains_key(call));
            !text.starts_with("No result: ")
        });
        prop_assert_eq!(client, meant);
    }

    /// An id source that repeats itself makes nonsense, but a legal one.
    #[test]
    fn runs_are_legal_whatever_the_ids(
        acts in prop::collection::vec(an_act(), 0..40),
        ending in prop::sample::select(vec![Ending::Done, Ending::Error]),
        ids in 1..6_u64,
    ) {
        let options = RunOptions::new().with_ids(move |_: &str, _: &str, count: u64| format!("id{}", count % ids));
        run(acts, ending, options, None);
    }
}
