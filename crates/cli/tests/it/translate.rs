//! `threadline translate`

use crate::threadline;

const RUN: &str = concat!(
    "{\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n",
    "{\"type\":\"THINKING_START\"}\n",
    "{\"type\":\"THINKING_TEXT_MESSAGE_START\"}\n",
    "{\"type\":\"THINKING_TEXT_MESSAGE_CONTENT\",\"delta\":\"hm\"}\n",
    "{\"type\":\"THINKING_TEXT_MESSAGE_END\"}\n",
    "{\"type\":\"THINKING_END\"}\n",
    "{\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r\",\"outcome\":null}\n",
);

#[test]
fn a_run_of_0_x_is_one_of_1_0() {
    let ran = threadline(&["translate"], RUN);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.text(), threadline(&["translate"], RUN).text());
    assert!(ran.stderr.contains("stdin: line 2: THINKING_START: became REASONING_START\n"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("stdin: line 7: RUN_FINISHED: null removed. path=/outcome\n"),
        "{}",
        ran.stderr
    );
    let enforced = threadline(&["enforce"], &ran.stdout);
    assert_eq!((enforced.code, &enforced.stdout), (0, &ran.stdout), "{}", enforced.stderr);
    // Translating again has nothing left to do.
    let again = threadline(&["translate"], &ran.stdout);
    assert_eq!((again.code, again.stderr.as_str(), &again.stdout), (0, "", &ran.stdout));
}

#[test]
fn a_loss_is_a_finding() {
    let ran = threadline(&["translate"], "{\"type\":\"THINKING_START\",\"title\":\"plan\"}\n");
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("has no place in 1.0 and is lost. path=/title"), "{}", ran.stderr);
}

#[test]
fn what_is_malformed_is_left_as_it_is() {
    let input = "{\"type\":\"TEXT_MESSAGE_END\",\"rawEvent\":null}\n";
    let ran = threadline(&["translate"], input);
    assert_eq!((ran.code, ran.text()), (1, input));
    assert!(ran.stderr.contains("malformed, left as it is: missing field messageId"), "{}", ran.stderr);
}
