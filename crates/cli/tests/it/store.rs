//! Commands that work on a store.

use super::{Ran, captures, threadline};
use serde_json::{Value, json};
use std::ops::Range;
use std::path::Path;
use tempfile::TempDir;

pub(crate) fn on(store: &Path, args: &[&str], stdin: &str) -> Ran {
    let args: Vec<&str> = args.iter().copied().chain(["--store", store.to_str().expect("a path")]).collect();
    threadline(&args, stdin)
}

/// A store with all recorded streams.
pub(crate) fn filled() -> TempDir {
    let dir = TempDir::new().expect("a directory");
    for (sse, _) in captures() {
        let imported = on(dir.path(), &["import", sse.to_str().expect("a path")], "");
        assert_eq!(imported.code, 0, "{}", imported.stderr);
    }
    dir
}

/// Three runs, the third beside the second.
pub(crate) const BRANCHES: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"one","input":{"threadId":"t","runId":"one","messages":[{"role":"user","id":"u1","content":"Hello there"}]}}
{"type":"TEXT_MESSAGE_CHUNK","messageId":"a1","delta":"first "}
{"type":"TEXT_MESSAGE_CHUNK","messageId":"a1","delta":"answer"}
{"type":"RUN_FINISHED","threadId":"t","runId":"one"}
{"type":"RUN_STARTED","threadId":"t","runId":"two"}
{"type":"TEXT_MESSAGE_CHUNK","messageId":"a2","delta":"second answer"}
{"type":"RUN_FINISHED","threadId":"t","runId":"two"}
{"type":"RUN_STARTED","threadId":"t","runId":"three","parentRunId":"one"}
{"type":"TEXT_MESSAGE_CHUNK","messageId":"a3","delta":"another answer"}
{"type":"RUN_FINISHED","threadId":"t","runId":"three"}
"#;

fn branches() -> TempDir {
    let dir = TempDir::new().expect("a directory");
    let imported = on(dir.path(), &["import"], BRANCHES);
    assert_eq!((imported.code, imported.text()), (0, "default/default/t\n"), "{}", imported.stderr);
    assert_eq!(imported.stderr, "imported 3 runs, 10 records\n");
    dir
}

#[test]
fn an_export_that_is_imported_gives_the_same_export() {
    let (first, second) = (filled(), TempDir::new().expect("a directory"));
    let exported = on(first.path(), &["export", "--all"], "");
    assert_eq!(exported.code, 0, "{}", exported.stderr);
    assert!(exported.text().lines().count() > 100);
    let imported = on(second.path(), &["import"], exported.text());
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    assert_eq!(on(second.path(), &["export", "--all"], "").text(), exported.text());
    // A thread that is there is not written over.
    let again = on(second.path(), &["import"], exported.text());
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("line 1: the thread exists"), "{}", again.stderr);
    assert_eq!(on(second.path(), &["export", "--all"], "").text(), exported.text());
}

#[test]
fn what_an_event_may_hold_an_export_can() {
    let (first, second) = (TempDir::new().expect("a directory"), TempDir::new().expect("a directory"));
    let value = "x".repeat(10 * 1024 * 1024 - 100);
    let large = format!(r#"{{"type":"CUSTOM","name":"large","value":"{value}"}}"#);
    let recording = format!("{{\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}}\n{large}\n");
    assert_eq!(on(first.path(), &["import"], &recording).code, 0);
    let exported = on(first.path(), &["export", "t"], "");
    assert!(exported.text().lines().any(|line| line.len() > 10 * 1024 * 1024));
    let imported = on(second.path(), &["import"], exported.text());
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    assert_eq!(on(second.path(), &["export", "t"], "").stdout, exported.stdout);
}

#[test]
fn an_event_that_is_too_large_is_named() {
    let store = TempDir::new().expect("a directory");
    let event = |value: &str| format!(r#"{{"type":"CUSTOM","name":"n","value":"{value}"}}"#);
    let started = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#;
    let lines = [started.to_owned(), event("small"), event(&"x".repeat(33 << 20)), event("small")];
    let refused = on(store.path(), &["import"], &lines.join("\n"));
    assert_eq!((refused.code, refused.text()), (2, ""), "{}", refused.stderr);
    assert!(refused.stderr.contains("line 3: too large to be appended at once"), "{}", refused.stderr);
    assert_eq!(on(store.path(), &["threads", "--format", "json"], "").text(), "");
}

/// A recording is the same thread whether its events are lines or an array.
#[test]
fn an_array_is_the_same_recording_as_its_lines() {
    // But for when it was taken in.
    fn told(store: &Path) -> Vec<Value> {
        let exported = on(store, &["export", "--all"], "");
        assert_eq!(exported.code, 0, "{}", exported.stderr);
        let mut lines: Vec<Value> =
            exported.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        for line in &mut lines {
            line.as_object_mut().expect("an object").remove("time");
        }
        lines
    }
    let (of_lines, of_arrays) = (TempDir::new().expect("a directory"), TempDir::new().expect("a directory"));
    for (_, jsonl) in captures() {
        let lines = std::fs::read_to_string(&jsonl).expect("a recording");
        let array = threadline(&["convert", "--to", "json"], &lines);
        assert!(array.text().starts_with('['), "{}", array.stderr);
        for (store, recording) in [(&of_lines, lines.as_str()), (&of_arrays, array.text())] {
            let imported = on(store.path(), &["import"], recording);
            assert_eq!(imported.code, 0, "{}: {}", jsonl.display(), imported.stderr);
        }
    }
    let expected = told(of_lines.path());
    assert!(expected.len() > 100, "a line for each event, and others");
    assert_eq!(told(of_arrays.path()), expected);
    // What came of an array that is cut off is kept, as of any recording, and it is told.
    let json = threadline(&["convert", "--to", "json"], BRANCHES);
    let cut = json.text().trim_end().strip_suffix(']').expect("an array");
    let store = TempDir::new().expect("a directory");
    let imported = on(store.path(), &["import"], cut);
    assert_eq!((imported.code, imported.text()), (2, "default/default/t\n"));
    assert!(imported.stderr.contains("array is not closed"), "{}", imported.stderr);
    assert_eq!(told(store.path()), told(branches().path()));
}

#[test]
fn recordings_keep_their_bytes() {
    let store = filled();
    for (_, jsonl) in captures() {
        let lines = std::fs::read_to_string(&jsonl).expect("a recording");
        let first: Value = serde_json::from_str(lines.lines().next().expect("an event")).expect("JSON");
        let thread = first["threadId"].as_str().expect("a thread");
        let exported = on(store.path(), &["export", thread], "");
        for line in lines.lines() {
            assert!(
                exported.text().contains(&format!("\"event\":{line}}}"))
                    || exported.text().contains(&format!("\"event\":{line},")),
                "{line}"
            );
        }
    }
}

#[test]
fn threads_are_listed_and_found() {
    let store = branches();
    let listed = on(store.path(), &["threads"], "");
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    let mut lines = listed.text().lines();
    assert!(lines.next().is_some_and(|head| head.starts_with("THREAD  NAME")));
    assert!(lines.next().is_some_and(|row| row.starts_with("t       Hello there  3     10       finished")));
    let json = on(store.path(), &["threads", "--format", "json"], "");
    let thread: Value = serde_json::from_str(json.text()).expect("JSON");
    assert_eq!((&thread["name"], &thread["tail"]), (&"Hello there".into(), &10.into()));
    for (query, count) in [("ANOTHER", 1), ("first hello", 1), ("answ", 0), ("elsewhere", 0)] {
        let found = on(store.path(), &["threads", "--query", query, "--format", "json"], "");
        assert_eq!(found.text().lines().count(), count, "{query}");
    }
}

#[test]
fn any_point_can_be_shown() {
    let store = branches();
    let held = |args: &[&str]| {
        let args: Vec<&str> = ["show", "t", "--format", "json"].iter().chain(args).copied().collect();
        let shown = on(store.path(), &args, "");
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        let shown: Value = serde_json::from_str(shown.text()).expect("JSON");
        let messages = shown["held"]["messages"].as_array().expect("messages").clone();
        let said = messages.iter().map(|message| message["content"].as_str().expect("text").to_owned());
        said.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(held(&[]), "Hello there, first answer, another answer");
    assert_eq!(held(&["--run", "two"]), "Hello there, first answer, second answer");
    assert_eq!(held(&["--at", "1"]), "Hello there, first ");
    assert_eq!(held(&["--run", "three", "--at", "6"]), "Hello there, first answer");
    let shown = on(store.path(), &["show", "t"], "");
    assert!(shown.text().contains("├─o two") && shown.text().contains("└─* three"), "{}", shown.text());
    assert!(shown.text().contains("assistant  another answer"));

    let missing = on(store.path(), &["show", "x"], "");
    assert_eq!(
        (missing.code, missing.stderr.as_str()),
        (2, "threadline: no such thread. thread=default/default/x\n")
    );
    assert_eq!(on(store.path(), &["show", "t", "--run", "x"], "").code, 2);
    let beyond = on(store.path(), &["show", "t", "--at", "10"], "");
    assert_eq!(
        (beyond.code, beyond.stderr.as_str()),
        (2, "threadline: no such offset yet. offset=10, tail=10\n")
    );
}

#[test]
fn compact_and_snapshot_exports_are_streams() {
    let store = branches();
    let compact = on(store.path(), &["export", "t", "--form", "compact"], "");
    let checked = threadline(&["check"], compact.text());
    assert_eq!(checked.code, 0, "{}", checked.text());
    let folded = threadline(&["fold"], on(store.path(), &["export", "t", "--form", "snapshot"], "").text());
    assert!(folded.text().contains("another answer") && !folded.text().contains("second answer"));
}

#[test]
fn a_copy_is_a_thread_of_its_own() {
    let store = branches();
    assert_eq!(on(store.path(), &["clone", "t", "all"], "").code, 0);
    assert_eq!(on(store.path(), &["clone", "t", "branch", "--run", "two"], "").code, 0);
    assert_eq!(on(store.path(), &["clone", "t", "cut", "--at", "1"], "").code, 0);
    assert_eq!(on(store.path(), &["clone", "t", "cut"], "").code, 2);
    let events = |thread: &str| {
        let exported = on(store.path(), &["export", thread], "");
        let lines = exported.text().lines().filter(|line| line.starts_with("{\"offset\"")).count();
        (lines, exported.text().contains("second"), exported.text().contains("another"))
    };
    assert_eq!(events("all"), (10, true, true));
    assert_eq!(events("branch"), (7, true, false));
    assert_eq!(events("cut"), (3, false, false));
}

#[test]
fn a_store_that_is_not_there_or_in_use_says_so() {
    let missing = on(Path::new("no/such/store"), &["threads"], "");
    assert_eq!(
        (missing.code, missing.stderr.as_str()),
        (3, "threadline: there is no store at no/such/store\n")
    );
    // Whoever looks at the wrong directory leaves nothing there.
    let wrong = tempfile::tempdir().expect("a directory");
    for command in [
        &["threads"][..],
        &["show", "t"],
        &["export", "t"],
        &["clone", "t", "u"],
        &["delete", "t", "--yes"],
        &["doctor"],
    ] {
        let refused = on(wrong.path(), command, "");
        assert_eq!(refused.code, 3, "{command:?}");
        assert!(refused.stderr.contains("there is no store at"), "{}", refused.stderr);
    }
    assert_eq!(std::fs::read_dir(wrong.path()).expect("it is there").count(), 0);
    let store = branches();
    let lock = std::fs::File::open(store.path().join("lock")).expect("a lock file");
    lock.lock().expect("nobody else has it");
    let locked = on(store.path(), &["threads"], "");
    assert_eq!(locked.code, 3);
    assert!(locked.stderr.contains("another process"), "{}", locked.stderr);
}

#[test]
fn a_doctor_finds_what_is_damaged() {
    let store = branches();
    let healthy = on(store.path(), &["doctor"], "");
    assert_eq!(
        (healthy.code, healthy.text()),
        (
            0,
            "threads: 1, records: 10: all good\n\
             chain values: 3, over records: 10: the records are those that were chained\n"
        ),
        "{}",
        healthy.stderr
    );
    let segment = std::fs::read_dir(store.path().join("log"))
        .expect("a log")
        .map(|entry| entry.expect("a file").path())
        .find(|path| path.extension().is_some_and(|extension| extension == "log"))
        .expect("a segment");
    let mut bytes = std::fs::read(&segment).expect("the segment");
    let place =
        bytes.windows(13).position(|window| window == b"second answer").expect("it is stored as it came");
    bytes[place] ^= 1;
    std::fs::write(&segment, &bytes).expect("the segment is damaged");
    let damaged = on(store.path(), &["doctor"], "");
    assert_eq!(damaged.code, 1, "{}", damaged.text());
    assert!(damaged.text().contains("damage: ") && damaged.text().contains("--repair"), "{}", damaged.text());
    // The catalogue may know what is lost.
    let refused = on(store.path(), &["doctor", "--rebuild"], "");
    assert_eq!(refused.code, 1, "{}{}", refused.text(), refused.stderr);
    assert!(refused.text().contains("damage: log: "), "{}", refused.text());
    assert!(refused.text().contains("\nthe catalogue was not made anew: "), "{}", refused.text());
    assert!(refused.text().ends_with("damaged; --repair saves what can be saved\n"), "{}", refused.text());
    // What is damaged is not shown; the rest is, and so is what a checkpoint has of it.
    let shown = on(store.path(), &["show", "t", "--at", "5"], "");
    assert_eq!(shown.code, 3, "{}", shown.text());
    assert!(shown.stderr.contains("damaged data in"), "{}", shown.stderr);
    assert_eq!(on(store.path(), &["show", "t", "--at", "8"], "").code, 0);
    assert_eq!(on(store.path(), &["show", "t", "--run", "two"], "").code, 0);
    let repaired = on(store.path(), &["doctor", "--repair"], "");
    assert_eq!(repaired.code, 1, "{}", repaired.text());
    assert!(repaired.text().contains("lost: default/default/t: offsets"), "{}", repaired.text());
    for text in [repaired.text(), on(store.path(), &["doctor", "--repair"], "").text()] {
        assert!(text.ends_with("what could be saved was saved\n"), "{text}");
    }
    // What is lost stays lost, and is never passed over in silence; everything else goes on.
    let again = on(store.path(), &["doctor"], "");
    assert_eq!(again.code, 1, "{}", again.text());
    let range = again.text().lines().find_map(|line| line.strip_prefix("lost: default/default/t: offsets "));
    let (start, end) = range.and_then(|range| range.split_once("..")).expect("a range");
    let lost: Range<u64> = start.parse().expect("an offset")..end.parse().expect("an offset");
    // Events that were imported in the same millisecond are one batch, which is lost as a whole; never more than the run.
    assert!(lost.contains(&5) && lost.start >= 4 && lost.end <= 7, "{lost:?}");
    assert_eq!(on(store.path(), &["export", "t"], "").code, 3);
    assert_eq!(on(store.path(), &["show", "t", "--at", "8"], "").code, 0);
    assert_eq!(on(store.path(), &["import", "--thread", "other"], BRANCHES).code, 0);
    let whole = on(store.path(), &["export", "other"], "");
    // A copy that cannot be made leaves nothing.
    assert_eq!(on(store.path(), &["clone", "t", "copy"], "").code, 3);
    assert_eq!(on(store.path(), &["show", "copy"], "").code, 2);
    // One damaged thread does not keep back the others.
    assert_eq!(on(store.path(), &["import", "--thread", "zz"], BRANCHES).code, 0);
    let all = on(store.path(), &["export", "--all"], "");
    assert_eq!(all.code, 3);
    assert!(all.text().contains(whole.text()) && all.text().contains(r#""id":"zz""#), "{}", all.text());
    assert!(all.stderr.contains("default/default/t: damaged data in"), "{}", all.stderr);
    assert!(all.stderr.ends_with("threads that could not be exported whole: 1\n"), "{}", all.stderr);
}

/// What is wrong with the catalogue is told, costs nothing, and is right again when it was made anew.
#[test]
fn a_damaged_catalogue_is_made_anew() {
    let store = branches();
    let listed = on(store.path(), &["threads"], "");
    let catalogue = store.path().join("catalogue.sqlite");
    let mut damaged = std::fs::read(&catalogue).expect("a catalogue");
    let name = b"Hello there";
    let place = damaged.windows(name.len()).position(|window| window == name).expect("the thread's name");
    damaged[place] ^= 1;
    std::fs::write(&catalogue, &damaged).expect("the catalogue is damaged");
    let found = on(store.path(), &["doctor"], "");
    assert_eq!(found.code, 1, "{}{}", found.text(), found.stderr);
    let lines: Vec<&str> = found.text().lines().collect();
    let verdict = "threads: 1, records: 10: nothing is lost; --rebuild makes anew what is wrong";
    assert!(lines.iter().any(|line| line.starts_with("derived: catalogue.sqlite")), "{lines:?}");
    assert_eq!(lines.last(), Some(&verdict));
    let rebuilt = on(store.path(), &["doctor", "--rebuild"], "");
    assert_eq!(rebuilt.code, 0, "{}{}", rebuilt.text(), rebuilt.stderr);
    assert!(rebuilt.text().contains("derived: catalogue.sqlite"), "{}", rebuilt.text());
    assert!(
        rebuilt.text().contains("\nthe catalogue was made anew\nthreads: 1, records: 10: nothing is lost\n"),
        "{}",
        rebuilt.text()
    );
    assert!(rebuilt.text().ends_with("the records are those that were chained\n"), "{}", rebuilt.text());
    assert_eq!(on(store.path(), &["threads"], "").text(), listed.text());
    assert!(on(store.path(), &["doctor"], "").text().starts_with("threads: 1, records: 10: all good\n"));
    // A list says what it leaves out, and the next command finds it whole.
    let whole = on(store.path(), &["export", "--all"], "");
    for args in [&["threads"][..], &["export", "--all"]] {
        let mut damaged = std::fs::read(&catalogue).expect("a catalogue");
        let place = damaged.windows(name.len()).position(|window| window == name).expect("the thread's name");
        damaged[place] ^= 1;
        std::fs::write(&catalogue, &damaged).expect("the catalogue is damaged");
        let less = on(store.path(), args, "");
        assert_eq!(less.code, 3, "{args:?}: {}", less.text());
        assert!(
            less.stderr.contains("not listed: ") && less.stderr.contains("default/default/t"),
            "{}",
            less.stderr
        );
        assert!(!less.text().contains("Hello"), "{args:?}: {}", less.text());
        assert_eq!(on(store.path(), &["export", "--all"], "").text(), whole.text());
        assert_eq!(on(store.path(), &["threads"], "").text(), listed.text());
    }
    // Without one, or with something else in its place, it is made anew when the store is opened.
    std::fs::remove_file(&catalogue).expect("there is one");
    assert_eq!(on(store.path(), &["threads"], "").text(), listed.text());
    std::fs::write(&catalogue, "no catalogue".repeat(1000)).expect("it is written over");
    let found = on(store.path(), &["doctor"], "");
    assert_eq!(found.code, 1, "{}{}", found.text(), found.stderr);
    assert!(found.text().starts_with("derived: catalogue.sqlite"), "{}", found.text());
    std::fs::write(&catalogue, "no catalogue".repeat(1000)).expect("it is written over");
    let opened = on(store.path(), &["threads"], "");
    assert_eq!((opened.code, opened.text()), (0, listed.text()));
    assert!(opened.stderr.starts_with("threadline: the catalogue was made anew: "), "{}", opened.stderr);
}

/// What the catalogue knows of a history file that is missing is told, whoever opens the store, until it is mended.
#[test]
fn a_missing_file_and_a_damaged_store_file_are_told_and_mended() {
    let store = branches();
    let exported = on(store.path(), &["export", "t"], "");
    let identity = store.path().join("store");
    let mut damaged = std::fs::read(&identity).expect("a store file");
    damaged[12] ^= 1;
    std::fs::write(&identity, &damaged).expect("it is damaged");
    assert_eq!(on(store.path(), &["threads"], "").code, 3);
    let mended = on(store.path(), &["doctor", "--repair"], "");
    assert_eq!(mended.code, 1, "{}{}", mended.text(), mended.stderr);
    assert!(mended.text().contains("damage: store: it was made anew"), "{}", mended.text());
    assert!(mended.text().contains("put aside: damaged/store\n"), "{}", mended.text());
    assert_eq!(on(store.path(), &["export", "t"], "").text(), exported.text());

    std::fs::remove_dir_all(store.path().join("log")).expect("there is a log");
    for _ in 0..2 {
        let looked = on(store.path(), &["doctor"], "");
        assert_eq!(looked.code, 1, "{}{}", looked.text(), looked.stderr);
        let lost = "damage: thread=default/default/t, number=0, offset=0..10: ";
        assert!(looked.text().contains(lost), "{}", looked.text());
        assert!(looked.text().ends_with("--repair saves what can be saved\n"), "{}", looked.text());
    }
}

#[test]
fn a_truncated_export_is_refused_and_leaves_nothing() {
    let (first, second) = (branches(), TempDir::new().expect("a directory"));
    let exported = on(first.path(), &["export", "t"], "");
    let lines: Vec<&str> = exported.text().lines().collect();
    // Every other place is the engine's to show.
    for count in [1, 4, lines.len() - 1] {
        let cut = lines[..count].join("\n");
        let refused = on(second.path(), &["import"], &cut);
        assert_eq!((refused.code, refused.text()), (2, ""), "{count}: {}", refused.stderr);
        assert!(refused.stderr.contains("the export is cut off"), "{count}: {}", refused.stderr);
        assert_eq!(on(second.path(), &["threads", "--format", "json"], "").text(), "", "{count}");
    }
    let cut = on(second.path(), &["import"], &lines[..lines.len() - 1].join("\n"));
    assert!(cut.stderr.contains("missing=1, reached=9, tail=10"), "{}", cut.stderr);
    // In the middle of a line, and with a line that cannot be read.
    let middle = &exported.text()[..exported.text().len() - 20];
    assert_eq!(on(second.path(), &["import"], middle).code, 2);
    let mut damaged = lines.clone();
    damaged[4] = "{\"offset\":";
    for args in [&["import"][..], &["import", "--keep-going"]] {
        assert_eq!(on(second.path(), args, &damaged.join("\n")).code, 2, "{args:?}");
        assert_eq!(on(second.path(), &["threads", "--format", "json"], "").text(), "", "{args:?}");
    }
    assert_eq!(on(second.path(), &["import"], exported.text()).code, 0);
    assert_eq!(on(second.path(), &["export", "t"], "").text(), exported.text());
}

/// Exports of `BRANCHES` that are not what was exported, and what is said about them.
pub(crate) fn altered(exported: &str) -> Vec<(String, &'static str)> {
    let lines: Vec<&str> = exported.lines().collect();
    let without = |line: usize| [&lines[..line - 1], &lines[line..]].concat().join("\n");
    let (mut swapped, mut doubled) = (lines.clone(), lines.clone());
    swapped.swap(3, 4);
    doubled.insert(5, lines[4]);
    vec![
        (without(5), "line 5: records are missing or not in order. expected=2, offset=3"),
        // The last of the first run.
        (without(6), "line 7: records are missing or not in order. expected=3, offset=4"),
        (without(7), "line 7: a record of a run that has not come. run=two"),
        (without(1), "line 1: a line of an export whose first line is missing"),
        (swapped.join("\n"), "line 4: records are missing or not in order. expected=1, offset=2"),
        (doubled.join("\n"), "line 6: records are there twice or not in order. expected=3, offset=2"),
        (exported.replace("\"tail\":10", "\"tail\":5"), "line 1: the export's first line makes no sense"),
        (exported.replace("\"runs\":3", "\"runs\":1"), "line 7: more runs than the export says"),
    ]
}

#[test]
fn an_export_with_a_line_missing_swapped_or_doubled_is_refused() {
    let (first, second) = (branches(), TempDir::new().expect("a directory"));
    let exported = on(first.path(), &["export", "t"], "");
    for (altered, said) in altered(exported.text()) {
        let refused = on(second.path(), &["import"], &altered);
        assert_eq!((refused.code, refused.text()), (2, ""), "{said}: {}", refused.stderr);
        assert!(refused.stderr.contains(said), "{said}: {}", refused.stderr);
        assert_eq!(on(second.path(), &["threads", "--format", "json"], "").text(), "", "{said}");
    }
    assert_eq!(on(second.path(), &["import"], exported.text()).code, 0);
}

/// Inputs of `import` that hold something else than events: how the command ends, and what it says.
pub(crate) fn odd_inputs() -> Vec<(String, i32, &'static str)> {
    let started = |thread: &str| json!({"type":"RUN_STARTED","threadId":thread,"runId":"r"}).to_string();
    let cut = format!("{}\n\n{{\"type\":\"TEXT_MESS", started("cut"));
    let two = format!("{}\n# Words\n{{\"a\":1}}\n", started("two"));
    vec![
        ("# Words\n\nand words\n".to_owned(), 2, "line 1: cannot be read as an event"),
        ("# Words\n\nand words\n".to_owned(), 2, "nothing in it can be read as an AG-UI event"),
        ("{\"a\":1}\n".to_owned(), 2, "line 1: cannot be read as an event"),
        (cut, 1, "line 3: cannot be read as an event"),
        (two.clone(), 1, "line 2: cannot be read as an event"),
        (two.replace("two", "again"), 1, "imported 1 run, 3 records, 2 of them cannot be read as events\n"),
    ]
}

#[test]
fn what_cannot_be_read_as_an_event_is_told() {
    let store = branches();
    let threads = |store: &Path| on(store, &["threads", "--format", "json"], "").text().lines().count();
    for (input, code, said) in odd_inputs() {
        let before = threads(store.path());
        let ran = on(store.path(), &["import"], &input);
        assert_eq!(ran.code, code, "{input}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{input}: {}", ran.stderr);
        assert_eq!(threads(store.path()) - before, usize::from(code == 1), "{input}");
    }
    let kept = on(store.path(), &["export", "two"], "");
    assert!(kept.text().contains("\"kind\":\"rejected\",\"text\":\"# Words\""), "{}", kept.text());
}

#[test]
fn an_export_is_known_however_it_is_written() {
    let first = branches();
    let exported = on(first.path(), &["export", "t"], "");
    let sorted: Vec<String> = exported
        .text()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON").to_string())
        .collect();
    for written in [
        sorted.join("\n"),
        format!("\u{feff}{}", exported.text()),
        format!(" {}", exported.text()),
        exported.text().replacen(':', " : ", 3),
    ] {
        let second = TempDir::new().expect("a directory");
        let imported = on(second.path(), &["import"], &written);
        assert_eq!(imported.code, 0, "{}", imported.stderr);
        assert_eq!(on(second.path(), &["threads", "--format", "json"], "").text().lines().count(), 1);
        assert_eq!(on(second.path(), &["show", "t"], "").code, 0);
    }
    let second = TempDir::new().expect("a directory");
    let cut = on(second.path(), &["import"], &exported.text()[6..]);
    assert_eq!((cut.code, cut.text()), (2, ""));
    assert!(cut.stderr.contains("line 2: a line of an export whose first line is missing"), "{}", cut.stderr);
    assert_eq!(on(second.path(), &["threads", "--format", "json"], "").text(), "");
}

#[test]
fn an_input_that_is_not_there_makes_no_store() {
    let dir = TempDir::new().expect("a directory");
    let store = dir.path().join("typo");
    for input in [dir.path().join("nope.jsonl"), dir.path().to_owned()] {
        let missing = on(&store, &["import", input.to_str().expect("a path")], "");
        assert_eq!((missing.code, missing.text()), (3, ""), "{}", missing.stderr);
        assert!(missing.stderr.starts_with("threadline: cannot read "), "{}", missing.stderr);
        assert_eq!(missing.stderr.lines().count(), 1, "{}", missing.stderr);
        assert!(!store.exists());
    }
}

#[test]
fn what_came_before_a_failure_is_told() {
    let (first, second) = (branches(), TempDir::new().expect("a directory"));
    let one = on(first.path(), &["export", "t"], "").text().to_owned();
    let other = one.replacen("\"id\":\"t\"", "\"id\":\"other\"", 1);
    let cut = other.trim_end().rsplit_once('\n').expect("lines").0;
    for (rest, code) in [(cut.to_owned(), 2), (format!("{cut}\nnonsense\n"), 2)] {
        let refused = on(second.path(), &["import"], &format!("{one}{rest}"));
        assert_eq!((refused.code, refused.text()), (code, ""), "{}", refused.stderr);
        let said = "threadline: imported before that, and kept: default/default/t\n";
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
        let listed = on(second.path(), &["threads", "--format", "json"], "");
        assert_eq!(listed.text().lines().count(), 1);
        assert_eq!(on(second.path(), &["delete", "t", "--yes"], "").code, 0);
    }
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let store = branches();
    for (args, said) in [
        (&["threads", "--limit", "0"][..], "--limit"),
        (&["threads", "--query", "!!!"], "there are no words in it"),
        (&["show", "t", "--run", "one", "--at", "99999"], "no such offset yet. offset=99999, tail=10"),
        (&["show", "t", "--at", "99999"], "no such offset yet. offset=99999, tail=10"),
    ] {
        let refused = on(store.path(), args, "");
        assert_eq!((refused.code, refused.text()), (2, ""), "{args:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(said), "{args:?}: {}", refused.stderr);
    }
}

#[test]
fn a_thread_can_be_deleted_by_who_says_so() {
    let store = branches();
    let unsaid = on(store.path(), &["delete", "t"], "y\n");
    assert_eq!((unsaid.code, unsaid.stderr.as_str()), (2, "threadline: nothing was deleted: say --yes\n"));
    assert_eq!(on(store.path(), &["show", "t"], "").code, 0);
    let deleted = on(store.path(), &["delete", "t", "--yes"], "");
    assert_eq!((deleted.code, deleted.text()), (0, "default/default/t\n"), "{}", deleted.stderr);
    assert_eq!(on(store.path(), &["delete", "t", "--yes"], "").code, 2);
    // Of what it held nothing is left in any file.
    for entry in
        ["log", "history", ""].map(|part| std::fs::read_dir(store.path().join(part)).expect("it is there"))
    {
        for path in entry.map(|file| file.expect("a file").path()).filter(|path| path.is_file()) {
            let bytes = std::fs::read(&path).expect("it can be read");
            assert!(!bytes.windows(13).any(|window| window == b"second answer"), "{}", path.display());
        }
    }
    assert_eq!(on(store.path(), &["import"], BRANCHES).code, 0);
}

/// S19: whatever a thread is called, its files are where all are.
#[test]
fn names_are_never_paths() {
    let dir = TempDir::new().expect("a directory");
    let store = dir.path().join("store");
    let names = [
        "..",
        "../escape",
        "../../escape",
        "/escape",
        "log/escape",
        "a\\escape",
        "a\0escape",
        "Escape",
        "escape",
        "escape\n",
    ];
    for name in names {
        let event = |kind: &str| json!({"type":kind,"threadId":name,"runId":name}).to_string();
        let recording = [event("RUN_STARTED"), event("RUN_FINISHED")].join("\n");
        let imported = on(&store, &["import"], &recording);
        assert_eq!(imported.code, 0, "{name:?}: {}", imported.stderr);
    }
    let listed = on(&store, &["threads", "--format", "json"], "");
    assert_eq!(listed.text().lines().count(), names.len(), "no two are the same");
    let mut places = vec![dir.path().to_owned()];
    while let Some(place) = places.pop() {
        let file = place.file_name().expect("a name").to_string_lossy().to_lowercase();
        assert!(!file.contains("escape"), "{}", place.display());
        if place.is_dir() {
            places.extend(
                std::fs::read_dir(&place).expect("a directory").map(|entry| entry.expect("an entry").path()),
            );
        }
    }
    let outside = std::fs::read_dir(dir.path()).expect("a directory").count();
    assert_eq!(outside, 1, "nothing is beside the store");
}
