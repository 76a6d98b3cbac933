//! Agents as their authors and their clients see them.

#![expect(clippy::unwrap_used, reason = "what tests are helped by is part of them")]

mod cancelling;
mod demo;
#[cfg(feature = "serve")]
mod http;
mod laws;
mod state;
mod writing;

use std::sync::Arc;
use threadline_agent::protocol::stages::fold::Fold;
use threadline_agent::protocol::stages::verify::{Options, Rule, verify_all};
use threadline_agent::protocol::{Event, RunAgentInput};
use threadline_agent::{
    Agent, AgentError, Finish, RunContext, RunEvent, RunOptions, RunWriter, agent_fn, run_agent,
};

fn input() -> RunAgentInput<'static> {
    RunAgentInput::new("t", "r", vec![])
}

/// Ids that a person can read.
fn options() -> RunOptions {
    RunOptions::new().with_ids(|_: &str, run: &str, count: u64| match run {
        "r" => format!("id{count}"),
        later => format!("{later}.id{count}"),
    })
}

/// All events of a run, which must be as strict as there is.
async fn events_of(agent: impl Agent, input: RunAgentInput<'static>) -> Vec<RunEvent> {
    let mut run = run_agent(Arc::new(agent), input, options());
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        events.push(event);
    }
    assert_strict(&events);
    events
}

/// The JSON of all that a closure writes.
async fn written<Fut>(write: impl Fn(RunWriter) -> Fut + Send + Sync + 'static) -> Vec<String>
where
    Fut: Future<Output = Result<Finish, AgentError>> + Send + 'static,
{
    let agent = agent_fn(move |_: RunContext, writer| write(writer));
    let events = events_of(agent, input()).await;
    let mut lines: Vec<String> = events.iter().map(json).collect();
    assert_eq!(
        lines.remove(0),
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}"#
    );
    lines
}

fn json(event: &RunEvent) -> String {
    assert_eq!(event.event().to_json().as_bytes(), event.json());
    String::from_utf8(event.json().to_vec()).unwrap()
}

/// What no reader could find fault with, whatever the rules are that it goes by.
fn assert_strict(events: &[RunEvent]) {
    let strictest = Rule::ALL.iter().fold(Options::new(), |options, rule| options.with_error(*rule));
    let all: Vec<&Event<'static>> = events.iter().map(RunEvent::event).collect();
    let verdict = verify_all(all.iter().copied(), strictest);
    let lines: Vec<String> = events.iter().map(json).collect();
    assert!(verdict.is_ok(), "{verdict:?}\n{}", lines.join("\n"));
    assert!(matches!(all[0], Event::RunStarted(_)));
    let is_terminal = |event: &&&Event<'_>| matches!(event, Event::RunFinished(_) | Event::RunError(_));
    assert_eq!(all.iter().filter(is_terminal).count(), 1);
    assert!(is_terminal(&all.last().unwrap()));
}

/// What a client holds in the end.
fn folded(input: &RunAgentInput<'static>, events: &[RunEvent]) -> Fold {
    let mut fold = Fold::from_input(input);
    for event in events {
        fold.apply(event.event()).unwrap();
    }
    fold
}
