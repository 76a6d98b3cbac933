//! Runs, tools, state, questions and errors.

use super::{client, said};
use crate::server::fixture::{Server, runtime};
use threadline_client::{Client, Quiet, RunEnd, Thread, ThreadError, Turn};
use threadline_interop::adk::Adk;
use threadline_interop::node_agent::NodeAgent;
use threadline_protocol::Json;
use threadline_protocol::json::JsonNonNull;
use threadline_protocol::run::Tool;
use threadline_protocol::stages::fold::RunStatus;

async fn run(thread: &mut Thread, turn: Turn) -> Result<RunEnd, ThreadError> {
    thread.run(turn)?.finish(&mut Quiet).await
}

/// The thread after one turn, and how that ended.
async fn asked(client: &Client, word: &str) -> (Thread, RunEnd) {
    let mut thread = Thread::new(client, format!("thread of {word}"));
    let end =
        run(&mut thread, Turn::say(word.to_owned())).await.unwrap_or_else(|error| panic!("{word}: {error}"));
    (thread, end)
}

#[test]
fn our_server_is_talked_to() {
    let server = Server::with_demo();
    for accept_protobuf in [false, true] {
        let client = client(&server.url("/agui"), accept_protobuf);
        server.wait_for(async {
            let id = |name: &str| format!("{name} {accept_protobuf}");
            let mut thread = Thread::new(&client, id("t"));
            for word in ["think", "tool", "state", "fail"] {
                let end = run(&mut thread, Turn::say(word)).await.unwrap();
                assert_eq!(end.status == RunStatus::Failed, word == "fail", "{word}");
                assert_eq!(end.code.as_deref(), (word == "fail").then_some("demo_failed"));
            }
            let words = said(thread.held());
            assert_eq!(
                words,
                [
                    "user: think",
                    "reasoning: The user wants to see me think. I do not think, but I can say so.",
                    "I have thought about it, and the answer is 42.",
                    "user: tool",
                    "count_words({\"text\":\"tool\"})",
                    "tool: {\"words\":1}",
                    "You wrote 1 words.",
                    "user: state",
                    "Visits of this thread: 1.",
                    "user: fail",
                    "I was about to say ",
                ]
            );
            // What the server has is what the client holds.
            let mut reloaded = Thread::new(&client, id("t"));
            let end = reloaded.connect(None).finish(&mut Quiet).await.unwrap();
            assert_eq!(end.status, RunStatus::Failed);
            assert_eq!((said(reloaded.held()), reloaded.held().state()), (words, thread.held().state()));
            assert_eq!(said(&client.history(&id("t"), None).await.unwrap()), said(thread.held()));
            // A question, and a tool of the client's.
            let mut thread = Thread::new(&client, id("u"));
            assert_eq!(run(&mut thread, Turn::say("approve")).await.unwrap().status, RunStatus::Interrupted);
            let question = thread.held().interrupts()[0].id.clone();
            let yes = JsonNonNull::try_from(Json::from(serde_json::json!(true))).unwrap();
            run(&mut thread, Turn::new().with_answer(question, yes)).await.unwrap();
            let tools = vec![Tool::new("look", "Looks.")];
            run(&mut thread, Turn::say("ask").with_tools(tools)).await.unwrap();
            let call = thread.held().pending_tool_calls().remove(0);
            run(&mut thread, Turn::new().with_result(call, "seen")).await.unwrap();
            let said = said(thread.held());
            assert!(said.contains(&"Approved: the letter is sent.".to_owned()), "{said:?}");
            assert_eq!(said.last().unwrap(), "Your tool answered: seen");
            let capabilities = client.capabilities().await.unwrap().unwrap();
            assert_eq!(capabilities.transport.unwrap().resumable, Some(true));
        });
    }
}

#[test]
fn a_run_of_our_server_is_cancelled_left_and_come_back_to() {
    let server = Server::with_demo();
    let client = client(&server.url("/agents/demo"), false);
    server.wait_for(async {
        let mut thread = Thread::new(&client, "t");
        let mut going = thread.run(Turn::say("slow")).unwrap();
        while said(going.held()).len() < 2 {
            going.advance(&mut Quiet).await.unwrap();
        }
        drop(going);
        let mut again = thread.resume().unwrap();
        again.cancel().await.unwrap();
        assert_eq!(again.finish(&mut Quiet).await.unwrap().status, RunStatus::Cancelled);
        let mut other = Thread::new(&client, "t");
        other.connect(None).finish(&mut Quiet).await.unwrap();
        assert_eq!(said(other.held()), said(thread.held()));
    });
}

#[test]
fn an_agent_of_the_npm_encoder_is_talked_to() {
    let agent = NodeAgent::start();
    for accept_protobuf in [false, true] {
        let client = client(agent.url(), accept_protobuf);
        runtime().block_on(async {
            for (word, expected) in [
                ("hello", vec!["Hello.".to_owned()]),
                ("tool", ["add({\"a\":1,\"b\":2})", "tool: 3", "It is 3."].map(str::to_owned).to_vec()),
                ("state", vec![]),
            ] {
                let (thread, end) = asked(&client, word).await;
                assert_eq!((end.status, said(thread.held()).split_off(1)), (RunStatus::Success, expected));
                assert_eq!(thread.held().state().as_str() == r#"{"count":2}"#, word == "state");
            }
            let (_, end) = asked(&client, "fail").await;
            assert_eq!((end.status, end.code.as_deref()), (RunStatus::Failed, Some("empty")));
            let mut thread = Thread::new(&client, "t");
            run(&mut thread, Turn::say("client")).await.unwrap();
            let call = thread.held().pending_tool_calls().remove(0);
            run(&mut thread, Turn::new().with_result(call, "yes")).await.unwrap();
            assert_eq!(said(thread.held()).last().unwrap(), "You said yes.");
            let refused = run(&mut thread, Turn::say("refuse")).await.unwrap_err();
            assert!(matches!(refused, ThreadError::Failed { .. }), "{refused}");
            // An end in the middle of a run is no end, and this agent has no way back.
            let mut thread = Thread::new(&client, "u");
            let lost = run(&mut thread, Turn::say("stop")).await.unwrap_err();
            assert!(matches!(lost, ThreadError::NotResumable { .. }), "{lost}");
            assert_eq!(said(thread.held()), ["user: stop", "I was"]);
            assert!(client.capabilities().await.unwrap().is_none());
        });
    }
}

#[test]
fn googles_adk_is_talked_to() {
    let adk = Adk::start();
    runtime().block_on(async {
        for (agent, status, says) in [
            ("plain", RunStatus::Success, "Refunds take five days."),
            ("tool", RunStatus::Success, "Order A-1001 is processing; it settles in 4 days."),
            ("reasoning", RunStatus::Success, "Order A-1001 is processing; it settles in 4 days."),
            ("error", RunStatus::Failed, "I started the lookup, "),
            ("refused", RunStatus::Failed, "user: Where is it?"),
        ] {
            for agent in [agent.to_owned(), format!("{agent}/snapshot")] {
                let client = client(&adk.url(&agent), false);
                let (thread, end) = asked(&client, "Where is it?").await;
                assert_eq!(end.status, status, "{agent}");
                let said = said(thread.held());
                // The ADK says its thoughts a second time, behind the answer.
                assert!(said.iter().any(|it| it == says), "{agent}: {said:?}");
            }
        }
        let client = client(&adk.url("client/snapshot"), false);
        let parameters =
            serde_json::json!({"type": "object", "properties": {"order_id": {"type": "string"}}});
        let parameters = JsonNonNull::try_from(Json::from(parameters)).unwrap();
        let tools =
            || vec![Tool::new("confirm_refund", "Asks the user.").with_parameters(parameters.clone())];
        let mut thread = Thread::new(&client, "t");
        run(&mut thread, Turn::say("Refund A-1001").with_tools(tools())).await.unwrap();
        let call = thread.held().pending_tool_calls().remove(0);
        let turn = Turn::new().with_result(call, r#"{"confirmed":true}"#).with_tools(tools());
        run(&mut thread, turn).await.unwrap();
        assert_eq!(said(thread.held()).last().unwrap(), "Thank you, it is on its way.");
    });
}
