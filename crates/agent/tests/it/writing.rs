//! What the writer writes, and what becomes of what is dropped.

use crate::{events_of, input, json, written};
use serde_json::json;
use threadline_agent::protocol::event::{SubagentStarted, TextMessageStart, TextRole};
use threadline_agent::protocol::message::UserMessage;
use threadline_agent::protocol::run::{Interrupt, TokenUsage};
use threadline_agent::protocol::{Event, Message};
use threadline_agent::{AgentError, Finish, InterruptsError, RunContext, RunWriter, WriteError, agent_fn};

const FINISHED: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#;

#[tokio::test]
async fn text_is_written_piece_by_piece() {
    let lines = written(async |writer: RunWriter| {
        let mut message = writer.text().await?;
        message.push("Hel").await?;
        message.push("").await?;
        message.push("lo").await?;
        message.end().await?;
        let start = TextMessageStart::new("mine").with_role(TextRole::System).with_name("n");
        assert_eq!(writer.text_with(start).await?.id(), "mine");
        Ok(Finish::done())
    })
    .await;
    let expected = [
        r#"{"type":"TEXT_MESSAGE_START","messageId":"id0"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"id0","delta":"Hel"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"id0","delta":"lo"}"#,
        r#"{"type":"TEXT_MESSAGE_END","messageId":"id0"}"#,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"mine","role":"system","name":"n"}"#,
        r#"{"type":"TEXT_MESSAGE_END","messageId":"mine"}"#,
        FINISHED,
    ];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn calls_end_in_a_result_or_are_left_to_the_client() {
    let lines = written(async |writer: RunWriter| {
        let mut call = writer.tool_call("add").await?;
        call.push(r#"{"a":"#).await?;
        call.push("1}").await?;
        call.encrypted_value("secret").await?;
        call.end().await?.result("2").await?;
        let message = writer.text().await?;
        let mut call = message.tool_call("ask").await?;
        call.arguments(&json!({"b": 1})).await?;
        call.end().await?;
        Ok(Finish::done())
    })
    .await;
    let expected = [
        r#"{"type":"TOOL_CALL_START","toolCallId":"id0","toolCallName":"add"}"#,
        r#"{"type":"TOOL_CALL_ARGS","toolCallId":"id0","delta":"{\"a\":"}"#,
        r#"{"type":"TOOL_CALL_ARGS","toolCallId":"id0","delta":"1}"}"#,
        r#"{"type":"REASONING_ENCRYPTED_VALUE","subtype":"tool-call","entityId":"id0","encryptedValue":"secret"}"#,
        r#"{"type":"TOOL_CALL_END","toolCallId":"id0"}"#,
        r#"{"type":"TOOL_CALL_RESULT","messageId":"id1","toolCallId":"id0","content":"2"}"#,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"id2"}"#,
        r#"{"type":"TOOL_CALL_START","toolCallId":"id3","toolCallName":"ask","parentMessageId":"id2"}"#,
        r#"{"type":"TOOL_CALL_ARGS","toolCallId":"id3","delta":"{\"b\":1}"}"#,
        r#"{"type":"TOOL_CALL_END","toolCallId":"id3"}"#,
        r#"{"type":"TEXT_MESSAGE_END","messageId":"id2"}"#,
        FINISHED,
    ];
    assert_eq!(lines, expected);
}

/// Half of the arguments must not be taken for all of them.
#[tokio::test]
async fn a_call_that_is_dropped_is_answered() {
    let lines = written(async |writer: RunWriter| {
        let mut call = writer.tool_call("delete").await?;
        call.push(r#"{"path":"/"#).await?;
        drop(call);
        writer.custom("a.b", &1).await?;
        Ok(Finish::done())
    })
    .await;
    let expected = [
        r#"{"type":"TOOL_CALL_END","toolCallId":"id0"}"#,
        r#"{"type":"TOOL_CALL_RESULT","messageId":"id1","toolCallId":"id0","content":"No result: the call was abandoned."}"#,
        r#"{"type":"CUSTOM","name":"a.b","value":1}"#,
        FINISHED,
    ];
    assert_eq!(lines[2..], expected);
}

#[tokio::test]
async fn the_other_kinds_of_events() {
    let lines = written(async |writer: RunWriter| {
        let mut thought = writer.reasoning().await?;
        thought.push("Hm").await?;
        thought.encrypted_value("x").await?;
        thought.end().await?;
        let step = writer.step("one").await?;
        writer.raw("provider", &json!({"a": null})).await?;
        step.finish().await?;
        writer.set_messages(vec![Message::from(UserMessage::new("m", "hi"))]).await?;
        let mut shown = writer
            .activity(
                "PLAN",
                &json!({"title": "a title of such a length that nobody wants to send it again", "done": 0}),
            )
            .await?;
        shown
            .update(
                &json!({"title": "a title of such a length that nobody wants to send it again", "done": 1}),
            )
            .await?;
        shown
            .update(
                &json!({"title": "a title of such a length that nobody wants to send it again", "done": 1}),
            )
            .await?;
        shown.update(&json!({})).await?;
        Ok(Finish::with_result(&json!([1]))?)
    })
    .await;
    let expected = [
        r#"{"type":"REASONING_START","messageId":"id0"}"#,
        r#"{"type":"REASONING_MESSAGE_START","messageId":"id0","role":"reasoning"}"#,
        r#"{"type":"REASONING_MESSAGE_CONTENT","messageId":"id0","delta":"Hm"}"#,
        r#"{"type":"REASONING_ENCRYPTED_VALUE","subtype":"message","entityId":"id0","encryptedValue":"x"}"#,
        r#"{"type":"REASONING_MESSAGE_END","messageId":"id0"}"#,
        r#"{"type":"REASONING_END","messageId":"id0"}"#,
        r#"{"type":"STEP_STARTED","stepName":"one"}"#,
        r#"{"type":"RAW","event":{"a":null},"source":"provider"}"#,
        r#"{"type":"STEP_FINISHED","stepName":"one"}"#,
        r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"user","id":"m","content":"hi"}]}"#,
        r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"id1","activityType":"PLAN","content":{"done":0,"title":"a title of such a length that nobody wants to send it again"}}"#,
        r#"{"type":"ACTIVITY_DELTA","messageId":"id1","activityType":"PLAN","patch":[{"op":"replace","path":"/done","value":1}]}"#,
        r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"id1","activityType":"PLAN","content":{}}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":[1]}"#,
    ];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn subagents_own_what_they_write_and_take_it_with_them() {
    let lines = written(async |writer: RunWriter| {
        let outer = writer.subagent_with(SubagentStarted::new("s", "outer").with_description("d")).await?;
        let inner = outer.subagent("inner").await?;
        let mut message = inner.text().await?;
        message.push("x").await?;
        let of_inner = inner.clone();
        outer.finish_with(&json!({"n": 1})).await?;
        // The inner one ended with the outer one.
        assert_eq!(message.push("y").await, Err(WriteError::Ended));
        assert_eq!(of_inner.say("z").await, Err(WriteError::Ended));
        assert_eq!(inner.finish().await, Err(WriteError::Ended));
        let failing = writer.subagent("failing").await?;
        failing.fail("no").await?;
        let asking = writer.subagent("asking").await?;
        let interrupts = asking.suspend(vec![Interrupt::new("i", "confirmation")]).await?;
        Ok(Finish::interrupts(interrupts)?)
    })
    .await;
    let expected = [
        r#"{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"outer","description":"d"}"#,
        r#"{"type":"SUBAGENT_STARTED","subagentRunId":"id1","name":"inner","parentSubagentRunId":"s"}"#,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"id2","subagentRunId":"id1"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"id2","delta":"x","subagentRunId":"id1"}"#,
        r#"{"type":"TEXT_MESSAGE_END","messageId":"id2","subagentRunId":"id1"}"#,
        r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"id1"}"#,
        r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"s","result":{"n":1}}"#,
        r#"{"type":"SUBAGENT_STARTED","subagentRunId":"id3","name":"failing"}"#,
        r#"{"type":"SUBAGENT_ERROR","subagentRunId":"id3","message":"no"}"#,
        r#"{"type":"SUBAGENT_STARTED","subagentRunId":"id4","name":"asking"}"#,
        r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"id4","outcome":{"type":"suspended","interruptIds":["i"]}}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"confirmation","subagentRunId":"id4"}]}}"#,
    ];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn a_dropped_subagent_has_finished_if_the_run_goes_on() {
    let lines = written(async |writer: RunWriter| {
        drop(writer.subagent("a").await?);
        writer.custom("x.y", &()).await?;
        drop(writer.subagent("b").await?);
        Err(AgentError::new("no").with_code("c"))
    })
    .await;
    let expected = [
        r#"{"type":"SUBAGENT_STARTED","subagentRunId":"id0","name":"a"}"#,
        r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"id0"}"#,
        r#"{"type":"CUSTOM","name":"x.y","value":null}"#,
        r#"{"type":"SUBAGENT_STARTED","subagentRunId":"id1","name":"b"}"#,
        r#"{"type":"SUBAGENT_ERROR","subagentRunId":"id1","message":"the run failed","code":"failed"}"#,
        r#"{"type":"RUN_ERROR","message":"no","code":"c"}"#,
    ];
    assert_eq!(lines, expected);
}

/// Nobody waits for a result that will not come, and nothing stays open.
#[tokio::test]
async fn a_panic_is_a_failed_run() {
    let lines = written(async |writer: RunWriter| {
        let _step = writer.step("s").await?;
        let _call = writer.tool_call("f").await?.end().await?;
        let mut message = writer.text().await?;
        message.push("I was").await?;
        if !writer.is_cancelled() {
            panic!("as the test wants");
        }
        Ok(Finish::done())
    })
    .await;
    let expected = [
        r#"{"type":"TEXT_MESSAGE_END","messageId":"id1"}"#,
        r#"{"type":"STEP_FINISHED","stepName":"s"}"#,
        r#"{"type":"TOOL_CALL_RESULT","messageId":"id2","toolCallId":"id0","content":"No result: the run failed."}"#,
        r#"{"type":"RUN_ERROR","message":"the agent panicked","code":"panicked"}"#,
    ];
    assert_eq!(lines[5..], expected);
}

/// A task of the agent's that goes on after the agent has returned.
#[tokio::test]
async fn what_outlives_the_run_cannot_write() {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let sender = std::sync::Mutex::new(Some(sender));
    let agent = agent_fn(move |_: RunContext, writer: RunWriter| {
        let sender = sender.lock().unwrap().take().unwrap();
        async move {
            let message = writer.text().await?;
            sender.send((writer, message)).unwrap();
            Ok(())
        }
    });
    let events = events_of(agent, input()).await;
    assert_eq!(json(&events[2]), r#"{"type":"TEXT_MESSAGE_END","messageId":"id0"}"#);
    let (writer, mut message) = receiver.await.unwrap();
    assert_eq!(message.push("late").await, Err(WriteError::Ended));
    assert_eq!(writer.say("late").await, Err(WriteError::Ended));
}

#[tokio::test]
async fn what_clients_would_refuse_is_refused_here() {
    let lines = written(async |writer: RunWriter| {
        let step = writer.step("s").await?;
        assert!(matches!(writer.step("s").await, Err(WriteError::Refused(_))));
        drop(step);
        writer.step("s").await?.finish().await?;
        let message = writer.text_with(TextMessageStart::new("m")).await?;
        assert!(matches!(writer.text_with(TextMessageStart::new("m")).await, Err(WriteError::Refused(_))));
        assert_eq!(writer.set_messages(vec![]).await, Err(WriteError::MessagesOpen));
        drop(message);
        let call = writer.tool_call("f").await?;
        assert!(matches!(writer.tool_result(&call.id(), "r").await, Err(WriteError::Refused(_))));
        let id = call.id().into_owned();
        call.end().await?.result("r").await?;
        assert!(matches!(writer.tool_result(&id, "r").await, Err(WriteError::Refused(_))));
        for name in ["", "budget", ".", "a.", "a..b", "a b.c", "ä.b"] {
            assert_eq!(writer.custom(name, &1).await, Err(WriteError::Name(name.to_owned())));
        }
        assert!(matches!(writer.activity("A", &json!([1])).await, Err(WriteError::Json(_))));
        let large = "x".repeat(11 * 1024 * 1024);
        assert!(matches!(writer.say(&large).await, Err(WriteError::TooLarge { .. })));
        assert!(matches!(writer.set_state(&large).await, Err(WriteError::TooLarge { .. })));
        Ok(Finish::with_result(&large)?)
    })
    .await;
    let last = lines.last().unwrap();
    assert!(last.starts_with(r#"{"type":"RUN_ERROR","message":"event too large. bytes=115343"#), "{last}");
}

#[test]
fn interrupts_have_ids_of_their_own() {
    let interrupt = |id: &'static str| Interrupt::new(id, "confirmation");
    assert_eq!(
        Finish::interrupts(vec![interrupt("a"), interrupt("b"), interrupt("a")]),
        Err(InterruptsError::Repeated("a".to_owned()))
    );
    assert!(matches!(Finish::interrupts(vec![]), Err(InterruptsError::None(_))));
}

#[tokio::test]
async fn usage_is_summed_up() {
    let lines = written(async |writer: RunWriter| {
        for tokens in [1_u32, 2] {
            writer.add_usage(TokenUsage::new().with_model("m").with_output_tokens(tokens));
        }
        Err(AgentError::new("no"))
    })
    .await;
    let expected =
        r#"{"type":"RUN_ERROR","message":"no","code":"failed","usage":[{"model":"m","outputTokens":3}]}"#;
    assert_eq!(lines, [expected]);
}

/// The agent waits for its reader.
#[tokio::test]
async fn no_more_than_what_may_wait_is_written_ahead() {
    let written = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = std::sync::Arc::clone(&written);
    let agent = agent_fn(move |_: RunContext, writer: RunWriter| {
        let count = std::sync::Arc::clone(&count);
        async move {
            for at in 0..100 {
                writer.custom("x.y", &at).await?;
                count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
            Ok(())
        }
    });
    let options = crate::options().with_waiting_max(3);
    let mut run = threadline_agent::run_agent(std::sync::Arc::new(agent), input(), options);
    let now = || written.load(std::sync::atomic::Ordering::Relaxed);
    for read in 0..50 {
        let event = run.next().await.unwrap();
        assert!(matches!(event.event(), Event::RunStarted(_) | Event::Custom(_)));
        // On one thread: the agent runs until it has to wait.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert_eq!(now(), 3 + read);
    }
}
