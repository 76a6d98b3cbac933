//! Threads that leave and enter a store.

use super::stage::{Stage, finished, ids, request, seen, thread};
use serde_json::{Value, json};
use threadline_log::run::{RunInfo, RunStatus};
use threadline_log::thread::{MetadataChange, ThreadInfo, ThreadQuery};
use threadline_log::transfer::{ExportForm, ImportOptions, Imported};
use threadline_log::{At, Engine, Error, Kind, NewRecord, RunId, RunNo, ThreadKey};
use threadline_protocol::stages::close::Cause;
use threadline_protocol::stages::fold::Fold;
use threadline_protocol::{Received, Text};

pub(super) async fn export(engine: &Engine, t: &ThreadKey, form: ExportForm) -> String {
    let mut exporter = engine.export(t, form).await.expect("it can be exported");
    let mut lines = Vec::new();
    while let Some(part) = exporter.next().await.expect("it is exported") {
        lines.extend(part);
    }
    String::from_utf8(lines).expect("exports are JSON")
}

pub(super) async fn import(engine: &Engine, lines: &str) -> Result<Imported, Error> {
    let options = ImportOptions {
        scope: None,
        default_scope: thread("t").scope.clone(),
        thread: None,
        cause: Cause::Truncated,
    };
    let mut importer = engine.import(options);
    for line in lines.lines() {
        importer.push(line).await?;
    }
    importer.finish().await
}

/// Export, import and export again give the same bytes, whatever the records hold.
pub async fn an_export_that_is_imported_is_the_same_export(stage: Stage) {
    let t = thread("t");
    stage.converse(&t, &request(&t, "1", &["u1"])).await;
    let mut beside = request(&t, "2", &["u2"]);
    beside["parentRunId"] = json!("1");
    let two = stage.start(&t, &beside).await;
    beside["runId"] = json!("3");
    beside["forwardedProps"] = json!({"exact": 1.50});
    let three = stage.start(&t, &beside).await;
    let odd = vec![
        NewRecord::event(&br#"{"type":"CUSTOM", "name":"spaced" ,"value":1.50}"#[..]),
        NewRecord::event(&b"{\"type\":\"CUSTOM\",\n\"name\":\"lines\",\"value\":\"\\ud800\"}"[..]),
        NewRecord::rejected(&b"\xff\x00 no text"[..]),
        NewRecord::rejected(&b""[..]),
        NewRecord::rejected("null"),
        NewRecord::made(&br#" {"type":"RAW","event":{}} "#[..]),
    ];
    for record in odd {
        stage.clock.advance(1);
        stage.engine.append(&two, vec![record.clone()].into()).await.expect("it is appended");
        stage.engine.append(&three, vec![record].into()).await.expect("it is appended");
    }
    stage.engine.end_run(&two, Cause::Cancelled).await.expect("it is ended");
    stage.engine.end_run(&three, Cause::Failed).await.expect("it is ended");
    let late = NewRecord::rejected("after the end");
    stage.engine.append(&two, vec![late].into()).await.expect("rejected records are kept");
    let change = MetadataChange {
        name: Some("A \"name\"".to_owned()),
        archived: Some(true),
        agent: Some("agent".to_owned()),
        labels: [("k".to_owned(), Some("v".to_owned()))].into(),
    };
    stage.engine.describe(&t, change).await.expect("it is described");

    let exported = export(&stage.engine, &t, ExportForm::Raw).await;
    let other = stage.other();
    let imported = import(&other, &exported).await.expect("the export makes sense");
    assert_eq!((imported.threads, imported.runs), (vec![t.clone()], 3));
    assert_eq!(export(&other, &t, ExportForm::Raw).await, exported);
    for run in 0..3 {
        let at = At::Run(RunNo(run));
        let there = other.snapshot(&t, at).await.expect("the run is there").fold;
        assert_eq!(seen(&there), seen(&stage.fold(&t, at).await));
    }
    // And back, where the name is taken until the thread is deleted.
    assert!(matches!(import(&stage.engine, &exported).await, Err(Error::ThreadExists(_))));
    stage.engine.delete(&t).await.expect("nothing goes on");
    import(&stage.engine, &exported).await.expect("the export makes sense");
    assert_eq!(export(&stage.engine, &t, ExportForm::Raw).await, exported);
}

/// A copy in another store is the same, whatever was forgotten of the thread, and so is its copy.
pub async fn a_copy_is_the_same_thread(stage: Stage) {
    let other = stage.other();
    for cut in 0..=17 {
        let t = thread(&format!("t{cut}"));
        stage.converse(&t, &request(&t, "1", &["u1"])).await;
        let two = stage.start(&t, &request(&t, "2", &["u1", "a-1", "u2"])).await;
        let mut beside = request(&t, "3", &["u3"]);
        beside["parentRunId"] = json!("1");
        let three = stage.start(&t, &beside).await;
        let refused = stage.engine.copy_thread(&t, &other, &|_| ()).await;
        assert!(matches!(refused, Err(Error::RunActive(_))), "{refused:?}");
        assert!(!other.is_whole(&t).await.expect("it can be asked"));
        stage.say(&two, &[finished(&t, "2")]).await;
        stage.say(&three, &[finished(&t, "3")]).await;
        let late = || vec![NewRecord::rejected("after the end")].into();
        stage.engine.append(&two, late()).await.expect("rejected records are kept");
        stage.converse(&t, &request(&t, "4", &["u3", "u4"])).await;
        stage.engine.export_digest(&t).await.expect("everything is folded");
        if cut % 3 > 0 {
            stage.store.compact_run(&t, RunNo(1), stage.engine.now()).await.expect("it has a checkpoint");
            stage.engine.append(&two, late()).await.expect("rejected records are kept");
        }
        if cut % 3 > 1 {
            stage.store.compact_run(&t, RunNo(2), stage.engine.now()).await.expect("it has a checkpoint");
        }
        stage.engine.trim(&t, cut).await.expect("it is trimmed");

        let exported = export(&stage.engine, &t, ExportForm::Raw).await;
        let info = stage.store.thread(&t).await.expect("it is there");
        let digest = stage.engine.export_digest(&t).await;
        let copied = stage.engine.copy_thread(&t, &other, &|_| ()).await.expect("nothing goes on");
        assert_eq!(copied.runs, 4);
        assert_eq!(export(&other, &t, ExportForm::Raw).await, exported, "cut at {cut}");
        assert_eq!((other.export_digest(&t).await, other.is_whole(&t).await), (digest.clone(), Ok(true)));
        let there = other.store().thread(&t).await.expect("it is there");
        let what = |info: &ThreadInfo| (info.incarnation, info.offsets.clone(), info.created, info.updated);
        assert_eq!(what(&there), what(&info));
        let chain = other.chain(&t, None).await.map(|chain| chain.value);
        assert_eq!(chain, stage.engine.chain(&t, None).await.map(|chain| chain.value));
        // And back, where the name is taken until the thread is deleted.
        let taken = other.copy_thread(&t, &stage.engine, &|_| ()).await;
        assert!(matches!(taken, Err(Error::ThreadExists(_))), "{taken:?}");
        stage.engine.delete(&t).await.expect("nothing goes on");
        other.copy_thread(&t, &stage.engine, &|_| ()).await.expect("its place is free");
        assert_eq!(export(&stage.engine, &t, ExportForm::Raw).await, exported, "cut at {cut}");
        assert_eq!(stage.engine.export_digest(&t).await, digest);
    }
}

/// Of a thread whose past was trimmed, an export holds what its branches hold.
pub async fn an_export_of_a_trimmed_thread_keeps_its_branches(stage: Stage) {
    for cut in 0..=18 {
        let t = thread(&format!("t{cut}"));
        stage.converse(&t, &request(&t, "1", &["u1"])).await;
        stage.converse(&t, &request(&t, "2", &["u2"])).await;
        let mut beside = request(&t, "3", &["u3"]);
        beside["parentRunId"] = json!("1");
        stage.converse(&t, &beside).await;
        stage.engine.trim(&t, cut).await.expect("it is trimmed");
        let exported = export(&stage.engine, &t, ExportForm::Raw).await;
        let other = stage.other();
        import(&other, &exported).await.expect("the export makes sense");
        for run in ["2", "3"] {
            let id = RunId::new(run).expect("short");
            let there = other.run_named(&t, &id).await.expect("the branch is there");
            assert_eq!(there.status(), RunStatus::Finished);
            let there = other.snapshot(&t, At::Run(there.no)).await.expect("its end can be seen").fold;
            let here = stage.engine.run_named(&t, &id).await.expect("the run is there").no;
            assert_eq!(seen(&there), seen(&stage.fold(&t, At::Run(here)).await), "cut at {cut}\n{exported}");
        }
    }
}

/// A bare recording becomes a thread; compact and snapshot exports are such recordings, and mean the same.
pub async fn recordings_can_be_imported(stage: Stage) {
    let t = thread("t");
    let run = |run: &str, parent: Option<&str>| {
        let mut start = json!({"type": "RUN_STARTED", "threadId": "t", "runId": run,
            "input": request(&t, run, &[&format!("u{run}")])});
        if let Some(parent) = parent {
            start["parentRunId"] = json!(parent);
        }
        let text = json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": format!("a-{run}"), "delta": "says it"});
        [start, text, json!({"type": "RUN_FINISHED", "threadId": "t", "runId": run})]
    };
    let mut recording: Vec<Value> = Vec::new();
    for (name, parent) in [("1", None), ("2", None), ("3", Some("1"))] {
        recording.extend(run(name, parent));
    }
    // An event that comes too late is kept, and the last run is cut off.
    recording.insert(3, json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": "late", "delta": "unheard"}));
    recording.extend(run("4", None).into_iter().take(2));
    let lines: Vec<String> = recording.iter().map(Value::to_string).collect();
    let imported = import(&stage.engine, &lines.join("\n")).await.expect("the recording makes sense");
    assert_eq!((imported.runs, imported.records), (4, 12));
    assert_eq!(ids(&stage.fold(&t, At::Run(RunNo(1))).await), ["u1", "a-1", "u2", "a-2"]);
    assert_eq!(ids(&stage.fold(&t, At::Head).await), ["u1", "a-1", "u3", "a-3", "u4", "a-4"]);
    let runs = stage.runs(&t).await;
    assert_eq!(runs[3].status(), RunStatus::Failed);
    assert_eq!(runs[3].end.as_ref().and_then(|end| end.error_code.as_deref()), Some("truncated"));

    let late = stage.engine.read(&t, 3..4, None, 1).await.expect("it is read").records.remove(0);
    assert_eq!((late.kind, late.run), (Kind::Rejected, RunNo(0)));
    // Events without a start get a run of their own, each time.
    for _ in 0..2 {
        let text = r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"from the middle"}"#;
        import(&stage.engine, text).await.expect("it makes sense");
    }
    assert_eq!(stage.runs(&thread("recording")).await.len(), 2);

    for form in [ExportForm::Compact, ExportForm::Snapshot] {
        let exported = export(&stage.engine, &t, form).await;
        let other = stage.other();
        import(&other, &exported).await.expect("the export is a recording");
        let there = other.snapshot(&t, At::Head).await.expect("the thread is there").fold;
        assert_eq!(ids(&there), ids(&stage.fold(&t, At::Head).await), "{form:?}\n{exported}");
        assert_eq!(there.state().as_str(), stage.fold(&t, At::Head).await.state().as_str());
    }
    let snapshot = export(&stage.engine, &t, ExportForm::Snapshot).await;
    let mut fold = Fold::new();
    for line in snapshot.lines() {
        let _ = fold.apply(Received::read(line).expect("an event").event());
    }
    assert!(fold.message(&Text::from("a-4")).is_some());
    assert!(fold.message(&Text::from("a-2")).is_none());
}

/// What cannot be read as an event is kept among others, and counted. Where there are no others nothing is kept.
pub async fn what_is_no_event_is_counted_or_refused(stage: Stage) {
    let t = thread("t");
    let start = json!({"type": "RUN_STARTED", "threadId": "t", "runId": "1"}).to_string();
    let recording = ["{\"a\":1}", "# Words", &start, "{\"type\":\"TEXT_MES", &finished(&t, "1").to_string()];
    let imported = import(&stage.engine, &recording.join("\n")).await.expect("some of it makes sense");
    assert_eq!((imported.threads, imported.runs), (vec![t.clone()], 1));
    assert_eq!((imported.records, imported.unreadable), (5, 3));
    let kept = stage.engine.read(&t, 0..5, None, 1 << 20).await.expect("it is read").records;
    let kinds: Vec<Kind> = kept.iter().map(|record| record.kind).collect();
    assert_eq!(kinds, [Kind::Rejected, Kind::Rejected, Kind::Event, Kind::Rejected, Kind::Event]);
    for (record, line) in kept.iter().zip(recording) {
        assert_eq!(record.bytes, line.as_bytes());
    }
    for nothing in [
        "{\"a\":1}".to_owned(),
        "# Words\nand words\n".repeat(50),
        format!("{}\nmore\n{start}", "x".repeat(2 << 20)),
        "\u{feff}".to_owned(),
    ] {
        let other = stage.other();
        let refused = import(&other, &nothing).await;
        assert!(
            matches!(&refused, Err(Error::Invalid(what)) if what.contains("nothing in it can be read")),
            "{refused:?}"
        );
        assert_eq!(other.threads(&ThreadQuery { limit: 9, ..ThreadQuery::default() }).await, Ok(Vec::new()));
    }
}

/// An export is known by what its first line says, however that is written; and its lines are no recording.
pub async fn an_export_is_known_however_it_is_written(stage: Stage) {
    let t = thread("t");
    stage.converse(&t, &request(&t, "1", &["u1"])).await;
    let exported = export(&stage.engine, &t, ExportForm::Raw).await;
    let (head, rest) = exported.split_once('\n').expect("lines");
    let sorted: Value = serde_json::from_str(head).expect("JSON");
    for head in
        [sorted.to_string(), format!("\u{feff}{head}"), format!("  {head} "), head.replace(':', " : ")]
    {
        let other = stage.other();
        import(&other, &format!("{head}\n{rest}")).await.unwrap_or_else(|error| panic!("{head}: {error}"));
        assert_eq!(export(&other, &t, ExportForm::Raw).await, exported);
    }
    for cut in [rest.to_owned(), format!("{}\n{rest}", &head[5..]), format!("{}\n{rest}", &head[..40])] {
        let other = stage.other();
        let refused = import(&other, &cut).await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
        assert_eq!(other.threads(&ThreadQuery { limit: 9, ..ThreadQuery::default() }).await, Ok(Vec::new()));
    }
    // An event may have a member of that name.
    let event = r#"{"threadline":1,"type":"CUSTOM","name":"n","value":1}"#;
    let imported = import(&stage.other(), event).await.expect("it is an event");
    assert_eq!((imported.runs, imported.unreadable), (1, 0));
}

/// What a line says of its time counts for good, so that it has to be one.
pub async fn times_of_an_export_make_sense(stage: Stage) {
    let t = thread("t");
    stage.converse(&t, &request(&t, "1", &["u1"])).await;
    let exported = export(&stage.engine, &t, ExportForm::Raw).await;
    let at = exported.rfind("\"time\":").expect("a record") + 7;
    let digits = exported[at..].find(',').expect("a number");
    let timed = |time: i64| format!("{}{time}{}", &exported[..at], &exported[at + digits..]);
    for time in [i64::MIN, -1, 253_402_300_800_000, i64::MAX] {
        let other = stage.other();
        let refused = import(&other, &timed(time)).await;
        assert!(matches!(&refused, Err(Error::Invalid(what)) if what.contains("a time")), "{refused:?}");
        assert!(matches!(other.store().thread(&t).await, Err(Error::NoThread(_))));
    }
    import(&stage.other(), &timed(253_402_300_799_999)).await.expect("it is in the year 9999");
}

/// Runs whose first records came in another order than the runs themselves.
pub async fn runs_that_say_nothing_at_first_can_be_exported(stage: Stage) {
    let t = thread("t");
    let record = |run: &str, offset: u64| {
        let event = json!({"type": "CUSTOM", "name": run, "value": offset});
        json!({"offset": offset, "time": 5, "run": run, "kind": "event", "event": event}).to_string()
    };
    let head = json!({"app": "app", "user": "user", "id": "t"});
    let mut lines = vec![format!(r#"{{"threadline":1,"thread":{head}}}"#)];
    lines.extend(["1", "2", "3", "4"].map(|run| json!({"run": run, "baseState": "branch"}).to_string()));
    lines.extend([record("3", 0), record("2", 1), record("1", 2)]);
    import(&stage.engine, &lines.join("\n")).await.expect("the export makes sense");
    let runs = stage.runs(&t).await;
    let ends: Vec<u64> = runs.iter().map(|run| run.offsets.end).collect();
    assert_eq!(ends, [4, 5, 6, 7], "they are closed in the order they were opened");
    let exported = export(&stage.engine, &t, ExportForm::Raw).await;
    let other = stage.other();
    import(&other, &exported).await.expect("the export makes sense");
    assert_eq!(export(&other, &t, ExportForm::Raw).await, exported);

    let mut endless = lines.clone();
    endless[0] = endless[0].replace("\"t\"", "\"endless\"");
    endless[5] = endless[5].replace("\"kind\"", "\"end\":{\"status\":\"running\"},\"kind\"");
    let refused = import(&stage.engine, &endless.join("\n")).await;
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
}

/// What was rejected after a run's end comes after it in an export, too, and after an import.
pub async fn an_end_stays_where_it_was(stage: Stage) {
    let t = thread("t");
    let first = stage.start(&t, &request(&t, "1", &["u1"])).await;
    stage.say(&first, &[finished(&t, "1")]).await;
    stage.converse(&t, &request(&t, "2", &["u1", "u2"])).await;
    stage.clock.advance(10);
    let late = || vec![NewRecord::rejected("after the end")].into();
    stage.engine.append(&first, late()).await.expect("rejected records are kept");
    let exported = export(&stage.engine, &t, ExportForm::Raw).await;
    let ends: Vec<bool> = exported.lines().map(|line| line.contains("\"end\":")).collect();
    let places: Vec<usize> =
        (0..).zip(&ends).filter(|(_, is_end)| **is_end).map(|(place, _)| place).collect();
    assert_eq!(places, [3, 10], "{exported}");
    let other = stage.other();
    import(&other, &exported).await.expect("the export makes sense");
    assert_eq!(export(&other, &t, ExportForm::Raw).await, exported);
    let ended = |runs: Vec<RunInfo>| -> Vec<_> {
        runs.into_iter().map(|run| (run.ended, run.ended_at, run.offsets, run.end)).collect()
    };
    assert_eq!(ended(other.store().runs(&t).await.expect("it is there")), ended(stage.runs(&t).await));

    // The same where its records are gone.
    stage.store.compact_run(&t, RunNo(0), stage.engine.now()).await.expect("it has a checkpoint");
    stage.engine.append(&first, late()).await.expect("rejected records are kept");
    let compacted = export(&stage.engine, &t, ExportForm::Raw).await;
    let other = stage.other();
    import(&other, &compacted).await.expect("the export makes sense");
    let again = export(&other, &t, ExportForm::Raw).await;
    let third = stage.other();
    import(&third, &again).await.expect("the export makes sense");
    assert_eq!(export(&third, &t, ExportForm::Raw).await, again);
}

/// An export that is cut off anywhere is refused, and nothing is there afterwards.
pub async fn an_import_that_fails_leaves_nothing(stage: Stage) {
    let t = thread("t");
    stage.converse(&t, &request(&t, "1", &["u1"])).await;
    stage.converse(&t, &request(&t, "2", &["u1", "a-1", "u2"])).await;
    stage.store.compact_run(&t, RunNo(1), stage.engine.now()).await.expect("it has a checkpoint");
    stage.start(&t, &request(&t, "3", &["u1", "a-1", "u2", "a-2", "u3"])).await;
    let exported = export(&stage.engine, &t, ExportForm::Raw).await;
    let lines: Vec<&str> = exported.lines().collect();
    let whole = thread("whole");
    let before = exported.lines().next().expect("a head").replace("\"id\":\"t\"", "\"id\":\"whole\"");
    let before = format!("{before}\n{}", lines[1..].join("\n"));
    for count in 1..lines.len() {
        let other = stage.other();
        let cut = lines[..count].join("\n");
        let refused = import(&other, &format!("{before}\n{cut}")).await;
        assert!(
            matches!(&refused, Err(Error::Invalid(what)) if what.contains("cut off")),
            "{count}: {refused:?}"
        );
        assert!(matches!(other.store().thread(&t).await, Err(Error::NoThread(_))), "{count}");
        assert!(other.store().thread(&whole).await.is_ok(), "what came before it is whole");
        // A line that makes no sense.
        let other = stage.other();
        let refused = import(&other, &format!("{cut}\n{{}}\n{}", lines[count..].join("\n"))).await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{count}: {refused:?}");
        assert!(matches!(other.store().thread(&t).await, Err(Error::NoThread(_))), "{count}");
    }
    let missing = import(&stage.other(), &lines[..3].join("\n")).await;
    let tail = stage.store.thread(&t).await.expect("it is there").offsets.end;
    let said = format!("the export is cut off. missing={}, reached=1, tail={tail}", tail - 1);
    assert_eq!(missing, Err(Error::Invalid(said)));
    import(&stage.other(), &exported).await.expect("all of it makes sense");

    // Of a recording, too: the second run's id is taken.
    let run = |run: &str| json!({"type": "RUN_STARTED", "threadId": "new", "runId": run}).to_string();
    let refused = import(&stage.engine, &[run("a"), run("a")].join("\n")).await;
    assert!(matches!(refused, Err(Error::RunIdReused(_))), "{refused:?}");
    assert!(matches!(stage.store.thread(&thread("new")).await, Err(Error::NoThread(_))));
    import(&stage.engine, &run("a")).await.expect("it makes sense");
    let refused = import(&stage.engine, &[run("b"), run("a")].join("\n")).await;
    assert!(matches!(refused, Err(Error::RunIdReused(_))), "{refused:?}");
    let statuses: Vec<_> = stage.runs(&thread("new")).await.iter().map(RunInfo::status).collect();
    assert_eq!(statuses, [RunStatus::Failed, RunStatus::Failed]);
}

/// Whoever imports is killed, and imports again.
pub async fn what_a_killed_import_leaves_is_no_thread(stage: Stage) {
    let t = thread("t");
    let other = stage.other();
    let (first, rest) = {
        stage.converse(&t, &request(&t, "1", &["u1"])).await;
        let exported = export(&stage.engine, &t, ExportForm::Raw).await;
        let at = exported.rfind("{\"offset\"").expect("records");
        (exported[..at].to_owned(), exported[at..].to_owned())
    };
    let options =
        ImportOptions { scope: None, default_scope: t.scope.clone(), thread: None, cause: Cause::Truncated };
    let mut importer = other.import(options);
    for line in first.lines() {
        importer.push(line).await.expect("it makes sense");
    }
    // Nobody says that it is over.
    drop(importer);
    let part = other.store().thread(&t).await.expect("a part of it is there");
    assert!(part.metadata.labels.contains_key("threadline:importing"));
    assert_eq!(other.is_whole(&t).await, Ok(false));
    let refused = other.copy_thread(&t, &stage.other(), &|_| ()).await;
    assert!(
        matches!(&refused, Err(Error::Invalid(what)) if what.contains("not imported to its end")),
        "{refused:?}"
    );
    import(&other, &format!("{first}{rest}")).await.expect("the whole takes its place");
    assert_eq!(export(&other, &t, ExportForm::Raw).await, format!("{first}{rest}"));
    let again = import(&other, &format!("{first}{rest}")).await;
    assert!(matches!(again, Err(Error::ThreadExists(_))), "{again:?}");
}
