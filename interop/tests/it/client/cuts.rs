//! Connections that are cut at every byte of a short run: nothing is missing, nothing comes twice, and no run is begun twice.

use super::{client, said};
use crate::server::fixture::{Server, runtime};
use std::net::SocketAddr;
use threadline_client::{Heard, Quiet, Thread, ThreadError, Turn};
use threadline_interop::node_agent::NodeAgent;
use threadline_protocol::message::UserMessage;
use threadline_protocol::{Message, RunAgentInput};
use threadline_testkit::fault_proxy::FaultProxy;
use tokio::task::JoinSet;

/// How many networks there are at a time.
const NETWORKS: usize = 4;
/// More bytes than the answers have.
const BYTES_MAX: usize = 20_000;

fn address(url: &str) -> SocketAddr {
    url.trim_start_matches("http://")
        .split('/')
        .next()
        .and_then(|host| host.parse().ok())
        .expect("an address")
}

fn input(run: &str) -> RunAgentInput<'static> {
    let said = Message::from(UserMessage::new(format!("{run}-u"), "hello"));
    RunAgentInput::new(format!("thread {run}"), run.to_owned(), vec![said]).with_protocol_version("1.0")
}

/// The types of a run's events and what they say, how often it was begun anew, and the number of connections.
async fn heard(proxy: &FaultProxy, path: &str, run: &str) -> (Vec<String>, usize, usize) {
    let before = proxy.connections();
    let mut events = client(&format!("http://{}{path}", proxy.address()), false).run(&input(run));
    let (mut heard, mut restarts) = (Vec::new(), 0);
    while let Some(next) = events.next().await {
        match next.expect("a run that goes on") {
            Heard::Event(event) => {
                let json: serde_json::Value = serde_json::from_str(event.json()).expect("JSON");
                heard.push(format!("{} {}", json["type"], json["delta"]));
            }
            Heard::Restarted => restarts += 1,
            _ => {}
        }
    }
    (heard, restarts, proxy.connections() - before)
}

/// Cuts the first connection after every number of bytes in turn, until that is more than the answer has.
async fn cut_everywhere(
    server: SocketAddr,
    path: &'static str,
    first: usize,
    expected: Vec<String>,
) -> usize {
    let proxy = FaultProxy::start(server).await;
    let mut tried = 0;
    for after in (first..BYTES_MAX).step_by(NETWORKS) {
        let run = format!("cut after {after}");
        proxy.cut(&[after]);
        let (heard, restarts, connections) = heard(&proxy, path, &run).await;
        tried += 1;
        if restarts == 0 && heard.len() == expected.len() {
            assert_eq!(heard, expected, "{run}");
        } else {
            // Nothing had come when it was cut, so that it was told how things are.
            assert_eq!(heard.first().map(String::as_str), Some("\"RUN_STARTED\" null"), "{run}: {heard:?}");
            assert!(
                heard.iter().filter(|event| event.contains("RUN_FINISHED")).count() == 1,
                "{run}: {heard:?}"
            );
        }
        let url = format!("http://{}{path}", proxy.address());
        let mut thread = Thread::new(&client(&url, false), format!("thread {run}"));
        thread.connect(None).finish(&mut Quiet).await.expect("a thread");
        assert_eq!(
            said(thread.held()),
            ["user: hello", "Hello! I am a demo without a model. Say help."],
            "{run}"
        );
        if connections == 1 {
            return tried;
        }
    }
    panic!("an answer of more than {BYTES_MAX} bytes");
}

#[test]
fn a_run_of_our_server_survives_cuts_at_every_byte() {
    let server = Server::with_demo();
    let at = address(&server.url("/"));
    server.wait_for(async {
        let whole = heard(&FaultProxy::start(at).await, "/agents/demo", "whole").await;
        assert_eq!((whole.0.len(), whole.1, whole.2), (13, 0, 1), "{whole:?}");
        let mut networks = JoinSet::new();
        for first in 0..NETWORKS {
            networks.spawn(cut_everywhere(at, "/agents/demo", first, whole.0.clone()));
        }
        let tried: usize = networks.join_all().await.into_iter().sum();
        assert!(tried > 1_500, "{tried}");
    });
}

/// Of several cuts in one run.
#[test]
fn a_run_of_our_server_survives_many_cuts() {
    let server = Server::with_demo();
    server.wait_for(async {
        let proxy = FaultProxy::start(address(&server.url("/"))).await;
        let whole = heard(&proxy, "/agents/demo", "whole").await.0;
        for (at, cuts) in
            [[900, 300, 350, 400, 0, 700], [1_200, 10, 200, 500, 20, 450]].into_iter().enumerate()
        {
            proxy.cut(&cuts);
            let (heard, restarts, connections) = heard(&proxy, "/agents/demo", &format!("cuts {at}")).await;
            assert_eq!((heard, restarts), (whole.clone(), 0));
            assert!(connections > 3, "{connections}");
        }
    });
}

/// Of an agent that knows no cursors: what is lost is said to be lost, and nothing is asked twice.
#[test]
fn a_run_of_an_agent_without_cursors_is_whole_or_said_not_to_be() {
    let agent = NodeAgent::start();
    runtime().block_on(async {
        let proxy = FaultProxy::start(address(agent.url())).await;
        let client = client(&format!("http://{}/agent", proxy.address()), false);
        for after in 0..BYTES_MAX {
            proxy.cut(&[after]);
            let before = proxy.connections();
            let mut thread = Thread::new(&client, "t");
            let end = thread.run(Turn::say("hello")).expect("nothing is asked").finish(&mut Quiet).await;
            let connections = proxy.connections() - before;
            match end {
                Ok(_) => {
                    assert_eq!(
                        (said(thread.held()), connections),
                        (vec!["user: hello".to_owned(), "Hello.".to_owned()], 1)
                    );
                    assert!(after > 500, "whole after {after} bytes");
                    return;
                }
                // Once for the run, and once to ask whether it can be resumed.
                Err(ThreadError::NotResumable { .. }) => assert_eq!(connections, 2, "{after}"),
                Err(error) => panic!("{after}: {error}"),
            }
        }
    });
}
