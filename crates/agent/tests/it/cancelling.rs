//! Runs that are stopped, and readers that go away.

use crate::{assert_strict, input, json, options};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use threadline_agent::{RunContext, RunWriter, WriteError, agent_fn, run_agent};
use tokio::sync::oneshot;

/// An agent that writes until it cannot, and then says why.
fn endless(told: oneshot::Sender<WriteError>) -> impl threadline_agent::Agent {
    let told = Mutex::new(Some(told));
    agent_fn(move |_: RunContext, writer: RunWriter| {
        let told = told.lock().unwrap().take().unwrap();
        async move {
            let mut message = writer.text().await?;
            loop {
                if let Err(error) = message.push("on and on").await {
                    assert!(writer.is_cancelled());
                    told.send(error.clone()).unwrap();
                    return Err::<(), _>(error.into());
                }
            }
        }
    })
}

#[tokio::test]
async fn a_cancelled_run_ends_as_such() {
    let (sender, receiver) = oneshot::channel();
    let mut run = run_agent(Arc::new(endless(sender)), input(), options());
    let canceller = run.canceller();
    let mut events = vec![run.next().await.unwrap(), run.next().await.unwrap()];
    canceller.cancel();
    while let Some(event) = run.next().await {
        events.push(event);
    }
    assert_eq!(receiver.await.unwrap(), WriteError::Cancelled);
    assert_strict(&events);
    assert_eq!(
        json(events.last().unwrap()),
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"cancelled"}}"#
    );
}

#[tokio::test]
async fn an_agent_learns_that_its_reader_is_gone() {
    let (sender, receiver) = oneshot::channel();
    let mut run = run_agent(Arc::new(endless(sender)), input(), options());
    // The second is the agent's own.
    run.next().await.unwrap();
    run.next().await.unwrap();
    drop(run);
    assert_eq!(receiver.await.unwrap(), WriteError::Cancelled);
}

#[tokio::test]
async fn an_agent_that_waits_is_woken() {
    let agent = agent_fn(async |_: RunContext, writer: RunWriter| {
        writer.cancelled().await;
        Ok(())
    });
    let mut run = run_agent(Arc::new(agent), input(), options());
    run.next().await.unwrap();
    run.cancel();
    // It finished well, whatever it was asked.
    assert_eq!(json(&run.next().await.unwrap()), r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#);
    assert!(run.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_stop_is_given_up() {
    struct Dropped(Option<oneshot::Sender<()>>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            let _ = self.0.take().unwrap().send(());
        }
    }
    let (sender, receiver) = oneshot::channel();
    let sender = Mutex::new(Some(Dropped(Some(sender))));
    let agent = agent_fn(move |_: RunContext, writer: RunWriter| {
        let held = sender.lock().unwrap().take().unwrap();
        async move {
            let _held = held;
            let _message = writer.text().await?;
            std::future::pending::<()>().await;
            Ok(())
        }
    });
    let started = tokio::time::Instant::now();
    let options = options().with_cancel_grace(Duration::from_secs(7));
    let mut run = run_agent(Arc::new(agent), input(), options);
    run.next().await.unwrap();
    run.next().await.unwrap();
    run.cancel();
    let mut lines = Vec::new();
    while let Some(event) = run.next().await {
        lines.push(json(&event));
    }
    let expected = [
        r#"{"type":"TEXT_MESSAGE_END","messageId":"id0"}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"cancelled"}}"#,
    ];
    assert_eq!(lines, expected);
    assert_eq!(started.elapsed(), Duration::from_secs(7));
    receiver.await.unwrap();
}
