//! The state that clients have, however it is sent.

use crate::{assert_strict, folded, options};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;
use threadline_agent::protocol::json::JsonNonNull;
use threadline_agent::protocol::stages::fold::Fold;
use threadline_agent::protocol::{Event, Json, RunAgentInput};
use threadline_agent::{RunContext, RunEvent, RunWriter, STATE_SNAPSHOT_BYTES_MAX, agent_fn, run_agent};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

fn input(base: &Value) -> RunAgentInput<'static> {
    let mut input = crate::input();
    input.state = JsonNonNull::try_from(Json::from(base.clone())).ok();
    input
}

/// The events of a run that sets these states, each followed by a mark.
fn set(base: &Value, states: Vec<Value>, threshold: usize) -> Vec<RunEvent> {
    block_on(async {
        let agent = agent_fn(move |_: RunContext, writer: RunWriter| {
            let states = states.clone();
            async move {
                for state in &states {
                    writer.set_state(state).await?;
                    writer.custom("test.mark", &()).await?;
                }
                Ok(())
            }
        });
        let options = options().with_state_snapshot_bytes_max(threshold);
        let mut run = run_agent(Arc::new(agent), input(base), options);
        let mut events = Vec::new();
        while let Some(event) = run.next().await {
            events.push(event);
        }
        assert_strict(&events);
        events
    })
}

fn types(events: &[RunEvent]) -> Vec<String> {
    let states = events.iter().filter(|event| !matches!(event.event(), Event::Custom(_)));
    let names: Vec<String> = states.map(|event| event.event().type_name().to_string()).collect();
    names[1..names.len() - 1].to_vec()
}

#[test]
fn small_states_are_sent_whole_and_large_ones_as_the_change() {
    let sized = |bytes: usize, count: u32| {
        let frame = json!({"count": count, "text": ""}).to_string().len();
        json!({"count": count, "text": "x".repeat(bytes - frame)})
    };
    let at = sized(STATE_SNAPSHOT_BYTES_MAX, 1);
    let over = sized(STATE_SNAPSHOT_BYTES_MAX + 1, 1);
    let over_too = sized(STATE_SNAPSHOT_BYTES_MAX + 1, 2);
    let sets = |base: &Value, states: &[&Value]| {
        let states = states.iter().map(|state| (*state).clone()).collect();
        types(&set(base, states, STATE_SNAPSHOT_BYTES_MAX))
    };
    assert_eq!(STATE_SNAPSHOT_BYTES_MAX, 51_200);
    assert_eq!(sets(&json!({}), &[&at, &at]), ["STATE_SNAPSHOT", "STATE_SNAPSHOT"]);
    // Nothing of it is known, so that the change is no smaller.
    assert_eq!(sets(&json!({}), &[&over]), ["STATE_SNAPSHOT"]);
    // The client has it already, or nearly.
    assert_eq!(sets(&over, &[&over]), [""; 0]);
    assert_eq!(sets(&over, &[&over_too, &over]), ["STATE_DELTA", "STATE_DELTA"]);
    assert_eq!(sets(&over, &[&json!(null), &over_too]), ["STATE_SNAPSHOT", "STATE_SNAPSHOT"]);
}

/// States that have much in common, as those of one agent do, so that the change is often smaller.
fn a_state() -> impl Strategy<Value = Value> {
    let alike = (any_state(), 0..3_u8, any::<bool>()).prop_map(|(part, count, is_long)| {
        let stays = "what stays, and is long enough that nobody wants to send it again".repeat(8);
        let long = "long".repeat(if is_long { STATE_SNAPSHOT_BYTES_MAX / 4 } else { 0 });
        json!({"stays": stays, "long": long, "count": count, "part": part})
    });
    prop_oneof![3 => alike, 1 => any_state()]
}

fn any_state() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i32..3).prop_map(Value::from),
        "[a-c~/ü]{0,3}".prop_map(Value::from),
        // Larger than the threshold.
        Just(Value::from("long".repeat(STATE_SNAPSHOT_BYTES_MAX / 4))),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c~/]{0,2}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// However states are sent, the client has each of them in turn.
    #[test]
    fn clients_have_the_same_state_at_every_threshold(
        base in a_state(),
        states in prop::collection::vec(a_state(), 0..6),
    ) {
        for threshold in [0, STATE_SNAPSHOT_BYTES_MAX, usize::MAX] {
            let events = set(&base, states.clone(), threshold);
            let mut fold = Fold::from_input(&input(&base));
            let mut meant = states.iter();
            for event in &events {
                fold.apply(event.event()).unwrap();
                if let Event::Custom(_) = event.event() {
                    let state: Value = fold.state().deserialize().unwrap();
                    prop_assert_eq!(&state, meant.next().unwrap());
                }
            }
            prop_assert!(meant.next().is_none());
            if threshold == usize::MAX {
                prop_assert!(types(&events).iter().all(|name| name == "STATE_SNAPSHOT"));
            }
            folded(&input(&base), &events);
        }
    }
}
