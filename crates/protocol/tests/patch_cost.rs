//! A patch costs what it does, however large the document, and what it may do is bounded. A binary of its own with
//! one test, because it watches the allocator.

use peak_alloc::PeakAlloc;
use std::time::{Duration, Instant};
use threadline_protocol::Json;
use threadline_protocol::limits::PatchLimits;
use threadline_protocol::patch::{Document, JsonPatch, Operation, PatchErrorKind};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// What `work` gives, how long it takes, and the peak of the memory that it needs.
#[expect(clippy::disallowed_methods, reason = "time is what this is about")]
fn cost<T>(work: impl FnOnce() -> T) -> (T, Duration, usize) {
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.peak_usage();
    let start = Instant::now();
    let result = work();
    (result, start.elapsed(), ALLOCATOR.peak_usage() - before)
}

fn document(text: &str) -> Document {
    Document::parse(&Json::parse(text).expect("JSON")).expect("a document")
}

fn repeated(operation: &str, count: usize) -> JsonPatch<'_> {
    vec![Operation::read_json(operation).expect("an operation").0; count]
}

fn array_of(item: &str, bytes: usize) -> String {
    format!("[{}]", vec![item; bytes / (item.len() + 1)].join(","))
}

/// What a patch may take, built for release. Tests are built with less optimisation.
const TIME_MAX: Duration = Duration::from_millis(50);
const SLACK: u32 = 4;
/// Others may have the processor meanwhile: the quickest attempt counts.
const ATTEMPTS: usize = 10;
const MEMORY_BYTES_MAX: usize = 32 << 20;

#[test]
fn patches_are_cheap_or_refused() {
    bombs_are_refused();
    a_small_patch_of_a_large_document_is_cheap();
    documents_cost_a_multiple_of_their_texts();
}

fn bombs_are_refused() {
    const MIB: usize = 1 << 20;
    for (text, operation, count, kind, slack) in [
        // 23 doublings would make 33 MB of 900 bytes.
        (
            r#"{"a":["x"]}"#.to_owned(),
            r#"{"op":"copy","from":"/a","path":"/a/-"}"#,
            23,
            PatchErrorKind::TooMuchCloned,
            1,
        ),
        // 6,000 documents in each other would take minutes.
        (
            "{}".to_owned(),
            r#"{"op":"copy","from":"","path":"/a"}"#,
            6_000,
            PatchErrorKind::TooManyOperations,
            1,
        ),
        ("{}".to_owned(), r#"{"op":"copy","from":"","path":"/a"}"#, 1_000, PatchErrorKind::TooDeep, 1),
        // Long texts are copied cheaply, but the document grows.
        (
            format!("[{:?}]", "x".repeat(MIB)),
            r#"{"op":"copy","from":"/0","path":"/-"}"#,
            1_000,
            PatchErrorKind::TooLarge,
            1,
        ),
        // Copies that replace each other leave it as it is.
        (
            format!(r#"{{"a":{:?},"b":0}}"#, "x".repeat(MIB)),
            r#"{"op":"copy","from":"/a","path":"/b"}"#,
            1_000,
            PatchErrorKind::TooMuchCloned,
            1,
        ),
        // A thousand times, millions of elements would make way.
        (
            array_of("0", 8 * MIB),
            r#"{"op":"remove","path":"/0"}"#,
            1_000,
            PatchErrorKind::TooMuchDisturbed,
            SLACK,
        ),
    ] {
        let mut document = document(&text);
        let before = document.bytes();
        let patch = repeated(operation, count);
        let mut quickest = Duration::MAX;
        for _ in 0..ATTEMPTS {
            let (result, time, memory) = cost(|| document.apply(&patch, &PatchLimits::default()));
            let error = result.expect_err("a bomb is refused");
            assert_eq!(error.kind(), kind, "{operation}");
            assert!(memory < MEMORY_BYTES_MAX, "{memory} bytes for {count} times {operation}");
            assert_eq!(document.bytes(), before);
            quickest = quickest.min(time);
        }
        assert!(quickest < slack * TIME_MAX, "{quickest:?} for {count} times {operation}");
    }
}

fn a_small_patch_of_a_large_document_is_cheap() {
    let item = r#"{"id":"item","tags":["a","b"],"size":12}"#;
    let mut document = document(&format!(r#"{{"items":{},"status":{{}}}}"#, array_of(item, 7 << 20)));
    for operation in [
        r#"{"op":"add","path":"/status/phase","value":"writing"}"#,
        r#"{"op":"replace","path":"/items/77/size","value":13}"#,
        r#"{"op":"move","from":"/items/5/tags","path":"/items/6/tags"}"#,
        r#"{"op":"move","from":"/items","path":"/things"}"#,
        r#"{"op":"move","from":"/things","path":"/items"}"#,
        r#"{"op":"test","path":"/items","value":[]}"#,
        r#"{"op":"add","path":"/items/-/x","value":1}"#,
    ] {
        // Possible or not: a hundred looks at all of the document would show.
        let patch = repeated(operation, 1);
        let apply = |_| drop(document.apply(&patch, &PatchLimits::default()));
        let ((), time, memory) = cost(|| (0..100).for_each(apply));
        assert!(time < 10 * TIME_MAX, "{time:?} for {operation}");
        assert!(memory < 4_096, "{memory} bytes for {operation}");
    }
    assert_eq!(document.bytes(), document.to_json().as_str().len());
}

fn documents_cost_a_multiple_of_their_texts() {
    for item in ["0", "[]", "{}", r#"{"":0}"#, r#""""#, r#"{"id":"abc","text":"hello world","n":5}"#] {
        let text = array_of(item, 1 << 20);
        let (parsed, _, memory) = cost(|| document(&text));
        let times = memory / text.len();
        assert!(times <= 64, "{times} times the text of {item}");
        drop(parsed);
    }
}
