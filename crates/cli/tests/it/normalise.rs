//! `threadline normalise`

use crate::threadline;

#[test]
fn what_earlier_runs_hold_is_left_out() {
    let run = |id: &str, messages: &str| {
        format!(
            "{{\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"{id}\",\"input\":{{\"threadId\":\"t\",\"runId\":\"{id}\",\"messages\":[{messages}]}}}}\n\
             {{\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"{id}\"}}\n"
        )
    };
    let (one, two) = (
        r#"{"role":"user","id":"msg1","content":"Hello"}"#,
        r#"{"role":"user","id":"msg2","content":"How are you?"}"#,
    );
    let ran = threadline(&["normalise"], run("1", one) + &run("2", &format!("{one},{two}")));
    assert_eq!(ran.code, 0);
    assert_eq!(ran.text(), run("1", one) + &run("2", two));
    assert_eq!(ran.stderr, "stdin: line 3: RUN_STARTED: messages removed that its ancestors hold: 1\n");
}
