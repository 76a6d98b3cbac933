//! Which run a run continues.

use super::stage::{Stage, answer, finished, ids, request, thread};
use super::transfer::{export, import};
use crate::store::Ending;
use serde_json::json;
use threadline_log::run::{BaseState, RunStatus};
use threadline_log::transfer::ExportForm;
use threadline_log::{At, Engine, Error, HistoryMode, RunNo, Started, ThreadKey};
use threadline_protocol::stages::close::Cause;

/// Clients that name no parent edit, ask again and go on by the messages that they send.
pub async fn a_run_continues_what_its_messages_continue(stage: Stage) {
    let t = thread("t");
    let cases: &[(&str, &[&str], Option<&str>)] = &[
        ("1", &["u1"], None),
        ("2", &["u1", "a-1", "u2"], Some("1")),
        // The first answer again: nothing that was said comes before it.
        ("3", &["u1"], None),
        // The second message, edited.
        ("4", &["u1", "a-1", "u2-edited"], Some("1")),
        // The edited message's answer again: a sibling.
        ("5", &["u1", "a-1", "u2-edited"], Some("1")),
        // Only what is new.
        ("6", &["u6"], Some("5")),
        ("7", &[], Some("6")),
        // On from an older branch.
        ("8", &["u1", "a-1", "u2", "a-2", "u8"], Some("2")),
        ("9", &["u1", "a-3", "u9"], Some("3")),
    ];
    for (run, messages, parent) in cases {
        let no = stage.converse(&t, &request(&t, run, messages)).await;
        assert_eq!(stage.parent(&t, no).await.as_deref(), *parent, "run {run}");
    }
    assert_eq!(ids(&stage.fold(&t, At::Head).await), ["u1", "a-3", "u9", "a-9"]);
    assert_eq!(stage.fold(&t, At::Head).await.state().as_str(), r#"{"of":"9"}"#);

    let mut named = request(&t, "10", &["u1", "a-1", "u2"]);
    named["parentRunId"] = json!("4");
    let no = stage.converse(&t, &named).await;
    assert_eq!(stage.parent(&t, no).await.as_deref(), Some("4"));

    // One that the thread does not have is a label.
    let mut ordered = request(&t, "11", &["u11"]);
    ordered["parentRunId"] = json!("elsewhere");
    let no = stage.converse(&t, &ordered).await;
    assert_eq!(stage.parent(&t, no).await.as_deref(), Some("10"));
    let runs = stage.runs(&t).await;
    assert_eq!(runs[no.index()].spawned_by.as_deref(), Some("elsewhere"));
    assert_eq!(runs[0].spawned_by, None);
}

/// An answer goes to who asked, whatever was said since.
pub async fn a_run_answers_the_run_that_asked(stage: Stage) {
    let t = thread("t");
    let asking = stage.start(&t, &request(&t, "1", &["u1"])).await;
    let interrupt = json!({"id": "i1", "reason": "confirmation"});
    let outcome = json!({"type": "interrupt", "interrupts": [interrupt]});
    stage
        .say(&asking, &[json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "1", "outcome": outcome})])
        .await;
    assert_eq!(stage.runs(&t).await[0].status(), RunStatus::Interrupted);
    // A thread that has seen more since, on another branch.
    stage.converse(&t, &request(&t, "2", &["u0", "u1"])).await;
    let mut resume = request(&t, "3", &["u1"]);
    resume["resume"] = json!([{"interruptId": "i1", "status": "resolved", "payload": true}]);
    let no = stage.converse(&t, &resume).await;
    assert_eq!(stage.parent(&t, no).await.as_deref(), Some("1"));
}

/// What a run has asked is answered wholly, and once: unless the run that answered has failed, which leaves it open.
pub async fn what_was_asked_is_answered_once(stage: Stage) {
    let t = thread("t");
    let asking = stage.start(&t, &request(&t, "1", &["u1"])).await;
    let interrupts = json!([{"id": "i1", "reason": "confirmation"}, {"id": "i2", "reason": "confirmation"}]);
    let outcome = json!({"type": "interrupt", "interrupts": interrupts});
    let asked = json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "1", "outcome": outcome});
    stage.say(&asking, &[asked]).await;
    let answering = |run: &str, ids: &[&str]| {
        let mut request = request(&t, run, &["u1"]);
        request["resume"] = ids.iter().map(|id| json!({"interruptId": id, "status": "resolved"})).collect();
        request
    };
    let open = |started: Result<Started, Error>| match started {
        Err(Error::InterruptsOpen(ids)) => ids,
        other => panic!("{other:?}"),
    };
    assert_eq!(open(stage.ask(&t, &request(&t, "2", &["u2"])).await), ["i1", "i2"]);
    assert_eq!(open(stage.ask(&t, &answering("2", &["i2"])).await), ["i1"]);
    let failing = stage.start(&t, &answering("2", &["i1", "i2"])).await;
    stage.engine.end_run(&failing, Cause::Truncated).await.expect("it is ended");
    // From the run that failed, and from the one that asked, it goes on alike.
    assert_eq!(open(stage.ask(&t, &request(&t, "3", &["u2"])).await), ["i1", "i2"]);
    let no = stage.converse(&t, &answering("3", &["i1", "i2"])).await;
    assert_eq!(stage.parent(&t, no).await.as_deref(), Some("1"));
    for parent in [None, Some("2"), Some("3")] {
        let mut late = answering("4", &["i2"]);
        late["parentRunId"] = json!(parent);
        if parent.is_none() {
            late.as_object_mut().expect("an object").remove("parentRunId");
        }
        let refused = stage.ask(&t, &late).await;
        let by = matches!(&refused, Err(Error::InterruptAnswered { run, .. }) if run.as_str() == "3");
        assert!(by, "{parent:?}: {refused:?}");
    }
}

/// Nobody speaks into a run that goes on, but beside it.
pub async fn a_run_waits_for_its_parent(stage: Stage) {
    let t = thread("t");
    stage.converse(&t, &request(&t, "1", &["u1"])).await;
    let running = stage.start(&t, &request(&t, "2", &["u1", "a-1", "u2"])).await;
    let refused = stage.ask(&t, &request(&t, "3", &["u3"])).await;
    assert!(matches!(refused, Err(Error::RunActive(run)) if run.as_str() == "2"));
    let mut beside = request(&t, "4", &["u4"]);
    beside["parentRunId"] = json!("1");
    let beside = stage.start(&t, &beside).await;
    stage.say(&running, &answer("2")).await;
    stage.say(&beside, &answer("4")).await;
    stage.say(&running, &[finished(&t, "2")]).await;
    stage.say(&beside, &[finished(&t, "4")]).await;
    assert_eq!(ids(&stage.fold(&t, At::Run(running.run)).await), ["u1", "a-1", "u2", "a-2"]);
    assert_eq!(ids(&stage.fold(&t, At::Run(beside.run)).await), ["u1", "a-1", "u4", "a-4"]);
}

/// The same request gives the same run, and another request none.
pub async fn a_request_opens_one_run(stage: Stage) {
    let t = thread("t");
    let first = request(&t, "1", &["u1"]);
    let writer = stage.start(&t, &first).await;
    assert_eq!(stage.ask(&t, &first).await, Ok(Started::Known(writer.run)));
    let other = stage.ask(&t, &request(&t, "1", &["u1", "u2"])).await;
    assert!(matches!(other, Err(Error::RunIdReused(_))));
    assert!(matches!(stage.ask(&t, &json!({"threadId": "t"})).await, Err(Error::Invalid(_))));
    assert!(matches!(stage.ask(&thread("x"), &first).await, Err(Error::Invalid(_))));
    assert_eq!(stage.runs(&t).await.len(), 1);
    // The first words of the user name the thread, and the request is kept as it came.
    let info = stage.store.thread(&t).await.expect("the thread is there");
    assert_eq!(info.metadata.name.as_deref(), Some("says u1"));
    let kept = stage.store.request(&t, writer.run).await.expect("the request is there");
    assert_eq!(kept, first.to_string());
}

/// The graph of the protocol's page about serialization: one log, and a history and a state for each run's branch. So it is when it was written,
/// after the store has tidied up, after restarts, and where it was imported.
pub async fn six_runs_are_four_histories(mut stage: Stage) {
    let t = thread("t");
    for (run, parent) in
        [("1", None), ("2", None), ("3", Some("2")), ("4", None), ("5", Some("2")), ("6", None)]
    {
        let mut request = request(&t, run, &[&format!("u{run}")]);
        request["state"] = json!({});
        if let Some(parent) = parent {
            request["parentRunId"] = json!(parent);
        }
        let started = stage.ask_with(&t, &request, HistoryMode::Server).await;
        let Ok(Started::New(writer)) = started else { panic!("no run was opened: {started:?}") };
        let patch = json!([{"op": "add", "path": format!("/{run}"), "value": true}]);
        stage.say(&writer, &answer(run)).await;
        stage.say(&writer, &[json!({"type": "STATE_DELTA", "delta": patch}), finished(&t, run)]).await;
    }
    assert_histories(&stage.engine, &t, "written").await;
    stage.store.tidy().await.expect("it tidies up");
    assert_histories(&stage.engine, &t, "tidy").await;
    for ending in [Ending::Crash, Ending::Clean] {
        if stage.lasts() {
            stage = stage.reopen(ending).await;
            assert_histories(&stage.engine, &t, &format!("{ending:?}")).await;
        }
    }
    let other = stage.another().await;
    let exported = export(&stage.engine, &t, ExportForm::Raw).await;
    import(&other.engine, &exported).await.expect("the export makes sense");
    assert_histories(&other.engine, &t, "imported").await;
}

/// Each run has said something to those before it on its branch, and added to their state.
async fn assert_histories(engine: &Engine, t: &ThreadKey, what: &str) {
    let histories: [&[&str]; 6] = [
        &["1"],
        &["1", "2"],
        &["1", "2", "3"],
        &["1", "2", "3", "4"],
        &["1", "2", "5"],
        &["1", "2", "5", "6"],
    ];
    for (run, history) in (0..).map(RunNo).zip(histories) {
        let fold = engine.snapshot(t, At::Run(run)).await.expect("its end can be seen").fold;
        let said: Vec<String> =
            history.iter().flat_map(|run| [format!("u{run}"), format!("a-{run}")]).collect();
        assert_eq!(ids(&fold), said, "{what}, {run:?}");
        let state: Vec<String> = history.iter().map(|run| format!(r#""{run}":true"#)).collect();
        assert_eq!(fold.state().as_str(), format!("{{{}}}", state.join(",")), "{what}, {run:?}");
    }
}

/// Where the server keeps the history, a state that is absent, null or empty is none: the branch's goes on.
pub async fn a_state_that_says_nothing_is_the_branchs(stage: Stage) {
    let t = thread("t");
    let cases = [
        (None, BaseState::Branch),
        (Some(json!(null)), BaseState::Branch),
        (Some(json!({})), BaseState::Branch),
        (Some(json!({"a": 1})), BaseState::Input),
        (Some(json!([])), BaseState::Input),
    ];
    for (count, (state, expected)) in cases.into_iter().enumerate() {
        let mut request = request(&t, &count.to_string(), &[&format!("u{count}")]);
        match &state {
            Some(state) => request["state"] = state.clone(),
            None => _ = request.as_object_mut().and_then(|request| request.remove("state")),
        }
        let started = stage.ask_with(&t, &request, HistoryMode::Server).await;
        let Ok(Started::New(writer)) = started else { panic!("it is opened") };
        assert_eq!(stage.runs(&t).await[count].base_state, expected, "{state:?}");
        stage.say(&writer, &[finished(&t, &count.to_string())]).await;
    }
}
