//! How the program is spoken to, and how it ends.

use crate::threadline;

#[test]
fn alone_it_says_what_it_can_do() {
    let ran = threadline(&[], "");
    assert_eq!(ran.code, 0);
    for command in ["convert", "translate", "enforce"] {
        assert!(ran.text().contains(command), "{}", ran.text());
    }
}

#[test]
fn exit_codes_are_as_documented() {
    assert_eq!(threadline(&["convert"], "").code, 2);
    assert_eq!(threadline(&["convert", "--to", "xml"], "").code, 2);
    assert_eq!(threadline(&["enforce"], "{}\n").code, 2);
    assert_eq!(threadline(&["enforce"], "<html>").code, 2);
    assert_eq!(threadline(&["enforce"], b"{\"type\":\"\xff\"}").code, 2);
    let missing = threadline(&["enforce", "no/such/file"], "");
    assert_eq!(missing.code, 3);
    assert!(missing.stderr.starts_with("threadline: cannot read no/such/file: "), "{}", missing.stderr);
    assert_eq!(threadline(&["enforce"], "").code, 0);
}

#[test]
fn the_format_can_be_told() {
    let told = threadline(&["convert", "--from", "sse", "--to", "jsonl"], "\n\ndata: {\"type\":\"X\"}");
    assert_eq!((told.code, told.text()), (0, "{\"type\":\"X\"}\n"));
    let told = threadline(&["convert", "--from", "json", "--to", "jsonl"], "[{\"type\":\"X\"}]");
    assert_eq!((told.code, told.text()), (0, "{\"type\":\"X\"}\n"));
    let wrong = threadline(&["convert", "--from", "jsonl", "--to", "jsonl"], "data: {\"type\":\"X\"}\n\n");
    assert_eq!(wrong.code, 2);
}
