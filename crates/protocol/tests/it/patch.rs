//! JSON Patch by example: appendix A of RFC 6902, its rules one by one, and the limits.

use threadline_protocol::Json;
use threadline_protocol::limits::PatchLimits;
use threadline_protocol::patch::{Document, JsonPatch, Operation, PatchError, PatchErrorKind};

pub(crate) fn document(text: &str) -> Document {
    Document::parse(&Json::parse(text).expect("JSON")).expect("a document")
}

pub(crate) fn operation(text: &str) -> Operation<'_> {
    Operation::read_json(text).expect("an operation").0
}

fn operations<'a>(texts: &[&'a str]) -> JsonPatch<'a> {
    texts.iter().map(|text| operation(text)).collect()
}

/// Applies a patch, and checks what must hold whether it succeeds or not.
pub(crate) fn patched(text: &str, patch: &[&str], limits: &PatchLimits) -> Result<String, PatchError> {
    let mut document = document(text);
    let before = document.to_json();
    let result = document.apply(&operations(patch), limits);
    let after = document.to_json();
    assert_eq!(document.bytes(), after.as_str().len(), "the size is that of the text");
    if result.is_err() {
        assert_eq!(after, before, "what fails changes nothing");
    }
    result.map(|()| after.as_str().to_owned())
}

fn made(text: &str, patch: &[&str]) -> String {
    patched(text, patch, &PatchLimits::default()).expect("a patch that can be applied")
}

fn refused(text: &str, operation: &str) -> PatchErrorKind {
    // Something is done before, so that there is something to undo.
    let before = r#"{"op":"add","path":"","value":{"replaced":true}}"#;
    let restore = format!(r#"{{"op":"replace","path":"","value":{text}}}"#);
    let error = patched(text, &[before, &restore, operation], &PatchLimits::default())
        .expect_err("a patch that cannot be applied");
    assert_eq!(error.operation(), 2);
    assert!(operation.contains(&format!("\"{}\"", error.pointer())), "{error}");
    error.kind()
}

#[test]
fn rfc_6902_appendix_a() {
    for (text, patch, expected) in [
        // A.1 to A.7: adding, removing, replacing and moving.
        (
            r#"{"foo":"bar"}"#,
            &[r#"{"op":"add","path":"/baz","value":"qux"}"#][..],
            r#"{"foo":"bar","baz":"qux"}"#,
        ),
        (
            r#"{"foo":["bar","baz"]}"#,
            &[r#"{"op":"add","path":"/foo/1","value":"qux"}"#],
            r#"{"foo":["bar","qux","baz"]}"#,
        ),
        (r#"{"baz":"qux","foo":"bar"}"#, &[r#"{"op":"remove","path":"/baz"}"#], r#"{"foo":"bar"}"#),
        (
            r#"{"foo":["bar","qux","baz"]}"#,
            &[r#"{"op":"remove","path":"/foo/1"}"#],
            r#"{"foo":["bar","baz"]}"#,
        ),
        (
            r#"{"baz":"qux","foo":"bar"}"#,
            &[r#"{"op":"replace","path":"/baz","value":"boo"}"#],
            r#"{"baz":"boo","foo":"bar"}"#,
        ),
        (
            r#"{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}"#,
            &[r#"{"op":"move","from":"/foo/waldo","path":"/qux/thud"}"#],
            r#"{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}"#,
        ),
        (
            r#"{"foo":["all","grass","cows","eat"]}"#,
            &[r#"{"op":"move","from":"/foo/1","path":"/foo/3"}"#],
            r#"{"foo":["all","cows","eat","grass"]}"#,
        ),
        // A.8: testing.
        (
            r#"{"baz":"qux","foo":["a",2,"c"]}"#,
            &[r#"{"op":"test","path":"/baz","value":"qux"}"#, r#"{"op":"test","path":"/foo/1","value":2}"#],
            r#"{"baz":"qux","foo":["a",2,"c"]}"#,
        ),
        // A.10 and A.11: nested additions, and members that operations do not define.
        (
            r#"{"foo":"bar"}"#,
            &[r#"{"op":"add","path":"/child","value":{"grandchild":{}}}"#],
            r#"{"foo":"bar","child":{"grandchild":{}}}"#,
        ),
        (
            r#"{"foo":"bar"}"#,
            &[r#"{"op":"add","path":"/baz","value":"qux","xyz":123}"#],
            r#"{"foo":"bar","baz":"qux"}"#,
        ),
        // A.14 and A.16: escapes, and additions at the end.
        (
            r#"{"/":9,"~1":10}"#,
            &[r#"{"op":"test","path":"/~01","value":10}"#, r#"{"op":"test","path":"/~1","value":9}"#],
            r#"{"/":9,"~1":10}"#,
        ),
        (
            r#"{"foo":["bar"]}"#,
            &[r#"{"op":"add","path":"/foo/-","value":["abc","def"]}"#],
            r#"{"foo":["bar",["abc","def"]]}"#,
        ),
    ] {
        assert_eq!(made(text, patch), expected);
    }
    // A.9, A.12 and A.15: failures.
    for (text, operation, kind) in [
        (r#"{"baz":"qux"}"#, r#"{"op":"test","path":"/baz","value":"bar"}"#, PatchErrorKind::TestFailed),
        (r#"{"foo":"bar"}"#, r#"{"op":"add","path":"/baz/bat","value":"qux"}"#, PatchErrorKind::NotFound),
        (r#"{"/":9,"~1":10}"#, r#"{"op":"test","path":"/~01","value":"10"}"#, PatchErrorKind::TestFailed),
    ] {
        assert_eq!(refused(text, operation), kind);
    }
    // A.13: of duplicate keys the last one counts, as everywhere in AG-UI.
    let twice = r#"{"op":"add","path":"/baz","value":"qux","op":"remove"}"#;
    assert_eq!(made(r#"{"foo":"bar","baz":1}"#, &[twice]), r#"{"foo":"bar"}"#);
}

#[test]
fn the_root_is_a_place() {
    assert_eq!(made("1", &[r#"{"op":"add","path":"","value":[2]}"#]), "[2]");
    assert_eq!(made("[1]", &[r#"{"op":"replace","path":"","value":{"a":null}}"#]), r#"{"a":null}"#);
    assert_eq!(made(r#"{"a":1}"#, &[r#"{"op":"remove","path":""}"#]), "null");
    assert_eq!(made("null", &[r#"{"op":"remove","path":""}"#]), "null");
    assert_eq!(made(r#"{"a":[1],"b":2}"#, &[r#"{"op":"move","from":"/a","path":""}"#]), "[1]");
    assert_eq!(made(r#"{"a":[1],"b":2}"#, &[r#"{"op":"copy","from":"/a","path":""}"#]), "[1]");
    assert_eq!(made(r#"{"a":1}"#, &[r#"{"op":"copy","from":"","path":"/b"}"#]), r#"{"a":1,"b":{"a":1}}"#);
    assert_eq!(made("[1]", &[r#"{"op":"copy","from":"","path":"/0"}"#]), "[[1],1]");
    assert_eq!(made("1", &[r#"{"op":"test","path":"","value":1.0}"#]), "1");
    // "/" is the member with the empty key.
    assert_eq!(made(r#"{"":1}"#, &[r#"{"op":"replace","path":"/","value":2}"#]), r#"{"":2}"#);
}

#[test]
fn order_and_spelling_are_kept() {
    let text = r#"{"c":1.50,"a":9007199254740993,"b":"\ud83d"}"#;
    assert_eq!(
        made(text, &[r#"{"op":"add","path":"/c","value":1e2}"#, r#"{"op":"move","from":"/a","path":"/d"}"#]),
        r#"{"c":1e2,"b":"\ud83d","d":9007199254740993}"#
    );
    let there_and_back =
        [r#"{"op":"move","from":"/a","path":"/x"}"#, r#"{"op":"move","from":"/x","path":"/a"}"#];
    assert_eq!(made(text, &there_and_back), r#"{"c":1.50,"b":"\ud83d","a":9007199254740993}"#);
    assert_eq!(made(text, &[r#"{"op":"move","from":"/a","path":"/a"}"#]), text);
    assert_eq!(made(text, &[r#"{"op":"copy","from":"/a","path":"/a"}"#]), text);
    let surrogates = [r#"{"op":"add","path":"/\ude00","value":"\udc00"}"#, r#"{"op":"remove","path":"/b"}"#];
    assert_eq!(made(text, &surrogates), r#"{"c":1.50,"a":9007199254740993,"\ude00":"\udc00"}"#);
}

#[test]
fn targets_are_found_after_the_source_is_gone() {
    assert_eq!(made("[1,2,3]", &[r#"{"op":"move","from":"/0","path":"/2"}"#]), "[2,3,1]");
    assert_eq!(made("[1,2,3]", &[r#"{"op":"move","from":"/0","path":"/-"}"#]), "[2,3,1]");
    assert_eq!(made("[1,2,[]]", &[r#"{"op":"move","from":"/0","path":"/1/0"}"#]), "[2,[1]]");
    assert_eq!(refused("[1,2,3]", r#"{"op":"move","from":"/0","path":"/3"}"#), PatchErrorKind::BeyondTheEnd);
    assert_eq!(made("[1,2,3]", &[r#"{"op":"copy","from":"/0","path":"/3"}"#]), "[1,2,3,1]");
    assert_eq!(made(r#"{"a":{"b":1}}"#, &[r#"{"op":"move","from":"/a/b","path":"/a"}"#]), r#"{"a":1}"#);
}

#[test]
fn what_is_impossible_is_refused() {
    let text = r#"{"a":[1,2],"o":{"x":{"y":1}},"n":null}"#;
    for (operation, kind) in [
        (r#"{"op":"remove","path":"/b"}"#, PatchErrorKind::NotFound),
        (r#"{"op":"replace","path":"/b","value":1}"#, PatchErrorKind::NotFound),
        (r#"{"op":"test","path":"/b","value":null}"#, PatchErrorKind::NotFound),
        (r#"{"op":"copy","from":"/b","path":"/c"}"#, PatchErrorKind::NotFound),
        (r#"{"op":"move","from":"/b","path":"/c"}"#, PatchErrorKind::NotFound),
        (r#"{"op":"move","from":"/b","path":"/b"}"#, PatchErrorKind::NotFound),
        (r#"{"op":"add","path":"/b/c","value":1}"#, PatchErrorKind::NotFound),
        (r#"{"op":"remove","path":"/toString"}"#, PatchErrorKind::NotFound),
        (r#"{"op":"remove","path":"/a/2"}"#, PatchErrorKind::NotFound),
        (r#"{"op":"replace","path":"/a/99999999999999999999","value":1}"#, PatchErrorKind::NotFound),
        (r#"{"op":"add","path":"/n/x","value":1}"#, PatchErrorKind::NotAContainer),
        (r#"{"op":"test","path":"/a/0/x","value":1}"#, PatchErrorKind::NotAContainer),
        (r#"{"op":"add","path":"/a/3","value":1}"#, PatchErrorKind::BeyondTheEnd),
        (r#"{"op":"add","path":"/a/99999999999999999999","value":1}"#, PatchErrorKind::BeyondTheEnd),
        (r#"{"op":"copy","from":"/n","path":"/a/3"}"#, PatchErrorKind::BeyondTheEnd),
        (r#"{"op":"add","path":"/a/01","value":1}"#, PatchErrorKind::NotAnIndex),
        (r#"{"op":"add","path":"/a/00","value":1}"#, PatchErrorKind::NotAnIndex),
        (r#"{"op":"add","path":"/a/+1","value":1}"#, PatchErrorKind::NotAnIndex),
        (r#"{"op":"add","path":"/a/-1","value":1}"#, PatchErrorKind::NotAnIndex),
        (r#"{"op":"add","path":"/a/1.0","value":1}"#, PatchErrorKind::NotAnIndex),
        (r#"{"op":"add","path":"/a/","value":1}"#, PatchErrorKind::NotAnIndex),
        (r#"{"op":"add","path":"/a/١","value":1}"#, PatchErrorKind::NotAnIndex),
        (r#"{"op":"add","path":"/a/-/x","value":1}"#, PatchErrorKind::NotAnIndex),
        (r#"{"op":"remove","path":"/a/-"}"#, PatchErrorKind::NotAnIndex),
        (r#"{"op":"replace","path":"/a/-","value":1}"#, PatchErrorKind::NotAnIndex),
        (r#"{"op":"test","path":"/a/-","value":1}"#, PatchErrorKind::NotAnIndex),
        (r#"{"op":"copy","from":"/a/-","path":"/c"}"#, PatchErrorKind::NotAnIndex),
        (r#"{"op":"move","from":"/a/-","path":"/c"}"#, PatchErrorKind::NotAnIndex),
        (r#"{"op":"move","from":"/o","path":"/o/x"}"#, PatchErrorKind::IntoItself),
        (r#"{"op":"move","from":"/o","path":"/o/x/y/z"}"#, PatchErrorKind::IntoItself),
        (r#"{"op":"move","from":"","path":"/c"}"#, PatchErrorKind::IntoItself),
        (r#"{"op":"move","from":"/o/x","path":"/n/c"}"#, PatchErrorKind::NotAContainer),
        (r#"{"op":"test","path":"/n","value":false}"#, PatchErrorKind::TestFailed),
        (r#"{"op":"test","path":"/a","value":[2,1]}"#, PatchErrorKind::TestFailed),
    ] {
        assert_eq!(refused(text, operation), kind, "{operation}");
    }
}

#[test]
fn keys_that_mean_something_elsewhere_mean_nothing_here() {
    for key in ["__proto__", "constructor", "-", "01", "toString"] {
        let add = format!(r#"{{"op":"add","path":"/{key}","value":1}}"#);
        let remove = format!(r#"{{"op":"remove","path":"/{key}"}}"#);
        assert_eq!(made("{}", &[&add]), format!(r#"{{"{key}":1}}"#));
        assert_eq!(made("{}", &[&add, &remove]), "{}");
    }
}

#[test]
fn tests_compare_values() {
    let text = r#"{"a":[1,{"b":2.0,"c":"é"}],"big":9007199254740993}"#;
    made(text, &[r#"{"op":"test","path":"/a","value":[1.0,{"c":"\u00e9","b":20e-1}]}"#]);
    made(text, &[r#"{"op":"test","path":"/big","value":9007199254740993.0}"#]);
    let rounded = r#"{"op":"test","path":"/big","value":9007199254740992}"#;
    assert_eq!(refused(text, rounded), PatchErrorKind::TestFailed);
}

#[test]
fn unknown_operations_are_skipped() {
    let patch = [r#"{"op":"increment","path":"/a"}"#, r#"{"op":"add","path":"/b","value":1}"#];
    assert_eq!(made("{}", &patch), r#"{"b":1}"#);
    // They do not count, and what is at fault keeps its place in the patch.
    let limits = PatchLimits { operations_max: 1, ..PatchLimits::default() };
    assert_eq!(patched("{}", &patch, &limits).unwrap(), r#"{"b":1}"#);
    let failing = [patch[0], r#"{"op":"remove","path":"/b"}"#];
    assert_eq!(patched("{}", &failing, &limits).unwrap_err().operation(), 1);
}

#[test]
fn errors_say_what_and_where() {
    let patch =
        [r#"{"op":"add","path":"/a~1b","value":[]}"#, r#"{"op":"move","from":"/a~1b/0","path":"/c"}"#];
    let error = patched("{}", &patch, &PatchLimits::default()).unwrap_err();
    assert_eq!((error.operation(), error.pointer()), (1, "/a~1b/0"));
    assert_eq!(error.to_string(), "nothing is there. operation=1, path=/a~1b/0");
}

fn limited(text: &str, patch: &[&str], limits: PatchLimits) -> Option<PatchErrorKind> {
    patched(text, patch, &limits).err().map(|error| error.kind())
}

#[test]
fn operations_are_counted() {
    let test = r#"{"op":"test","path":"","value":{}}"#;
    assert_eq!(limited("{}", &vec![test; 1_000], PatchLimits::default()), None);
    let too_many = limited("{}", &vec![test; 1_001], PatchLimits::default());
    assert_eq!(too_many, Some(PatchErrorKind::TooManyOperations));
}

#[test]
fn the_document_may_not_outgrow_its_limit() {
    let bytes = |document_bytes_max| PatchLimits { document_bytes_max, ..PatchLimits::default() };
    let text = r#"{"a":"12345"}"#;
    for (operation, made) in [
        (r#"{"op":"add","path":"/b","value":[1,2]}"#, r#"{"a":"12345","b":[1,2]}"#),
        (r#"{"op":"add","path":"/\n","value":1}"#, r#"{"a":"12345","\n":1}"#),
        (r#"{"op":"replace","path":"/a","value":"123456"}"#, r#"{"a":"123456"}"#),
        (r#"{"op":"copy","from":"/a","path":"/b"}"#, r#"{"a":"12345","b":"12345"}"#),
        (r#"{"op":"move","from":"/a","path":"/abc"}"#, r#"{"abc":"12345"}"#),
    ] {
        assert_eq!(limited(text, &[operation], bytes(made.len())), None, "{operation}");
        let refused = limited(text, &[operation], bytes(made.len() - 1));
        assert_eq!(refused, Some(PatchErrorKind::TooLarge), "{operation}");
    }
    // One that is too large already may shrink, or change without growing.
    let shrink =
        [r#"{"op":"replace","path":"/a","value":"1234"}"#, r#"{"op":"move","from":"/a","path":"/bc"}"#];
    assert_eq!(limited(text, &shrink, bytes(1)), None);
    assert_eq!(
        limited(text, &[r#"{"op":"add","path":"/b","value":1}"#], bytes(1)),
        Some(PatchErrorKind::TooLarge)
    );
}

#[test]
fn copies_are_counted_together() {
    let limits = PatchLimits { cloned_bytes_max: 2_500, ..PatchLimits::default() };
    let copy = r#"{"op":"copy","from":"/0","path":"/-"}"#;
    let long = format!("[{:?}]", "x".repeat(1_000));
    assert_eq!(limited(&long, &[copy, copy], limits), None);
    assert_eq!(limited(&long, &[copy, copy, copy], limits), Some(PatchErrorKind::TooMuchCloned));
    // Small values are much larger than their texts.
    let many = format!("[[{}0]]", "0,".repeat(99));
    assert_eq!(limited(&many, &[copy], limits), Some(PatchErrorKind::TooMuchCloned));
}

#[test]
fn depth_is_limited_where_something_is_put() {
    let limits = PatchLimits { depth_max: 3, ..PatchLimits::default() };
    let text = r#"{"deep":[[[[[1]]]]],"flat":{"x":[]},"two":[[]],"n":0}"#;
    for (operation, allowed) in [
        (r#"{"op":"add","path":"/flat/x/0","value":1}"#, true),
        (r#"{"op":"add","path":"/flat/x/0","value":[]}"#, false),
        (r#"{"op":"add","path":"/new","value":[[]]}"#, true),
        (r#"{"op":"add","path":"/new","value":[[[]]]}"#, false),
        (r#"{"op":"replace","path":"/deep/0/0/0","value":1}"#, false),
        (r#"{"op":"replace","path":"/deep/0/0","value":1}"#, true),
        (r#"{"op":"remove","path":"/deep/0/0/0/0"}"#, true),
        (r#"{"op":"copy","from":"/n","path":"/flat/x/0"}"#, true),
        (r#"{"op":"copy","from":"/two","path":"/flat/y"}"#, false),
        (r#"{"op":"copy","from":"/deep","path":"/deeper"}"#, false),
        (r#"{"op":"move","from":"/two","path":"/flat/y"}"#, false),
        (r#"{"op":"move","from":"/two/0","path":"/flat/y"}"#, true),
        (r#"{"op":"move","from":"/n","path":"/flat/x/0"}"#, true),
        (r#"{"op":"move","from":"/deep","path":"/still_deep"}"#, true),
        (r#"{"op":"test","path":"/deep","value":[[[[[1]]]]]}"#, true),
    ] {
        let refused = (!allowed).then_some(PatchErrorKind::TooDeep);
        assert_eq!(limited(text, &[operation], limits), refused, "{operation}");
    }
    // Whatever the limit, no document is deeper than one that can be parsed.
    let unlimited = PatchLimits { depth_max: usize::MAX, ..PatchLimits::default() };
    let deepest = format!("{}{}", "[".repeat(512), "]".repeat(512));
    let add = |value| format!(r#"{{"op":"add","path":"{}","value":{value}}}"#, "/0".repeat(512));
    assert_eq!(limited(&deepest, &[&add("1")], unlimited), None);
    assert_eq!(limited(&deepest, &[&add("[]")], unlimited), Some(PatchErrorKind::TooDeep));
}

#[test]
fn what_has_to_make_way_is_counted() {
    let limits = |disturbed_max| PatchLimits { disturbed_max, ..PatchLimits::default() };
    for (text, operation, disturbed) in [
        ("[1,2,3]", r#"{"op":"add","path":"/0","value":0}"#, 3),
        ("[1,2,3]", r#"{"op":"add","path":"/-","value":0}"#, 0),
        ("[1,2,3]", r#"{"op":"remove","path":"/0"}"#, 2),
        ("[1,2,3]", r#"{"op":"move","from":"/2","path":"/0"}"#, 2),
        (r#"{"a":1,"b":2,"c":3}"#, r#"{"op":"remove","path":"/a"}"#, 2),
        (r#"{"a":1,"b":2,"c":3}"#, r#"{"op":"replace","path":"/a","value":1}"#, 0),
        (r#"{"a":1,"b":2,"c":3}"#, r#"{"op":"add","path":"/d","value":1}"#, 0),
        // Going down, the moved value is looked through for its depth.
        (r#"{"a":{},"b":[1,[2]]}"#, r#"{"op":"move","from":"/b","path":"/a/b"}"#, 4),
        (r#"{"a":{"b":[1,[2]]}}"#, r#"{"op":"move","from":"/a/b","path":"/b"}"#, 0),
    ] {
        assert_eq!(limited(text, &[operation], limits(disturbed)), None, "{operation}");
        if disturbed > 0 {
            let refused = limited(text, &[operation], limits(disturbed - 1));
            assert_eq!(refused, Some(PatchErrorKind::TooMuchDisturbed), "{operation}");
        }
    }
}
