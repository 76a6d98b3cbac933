//! What the differential tests against the reference do not look at.

use super::{Checkpoint, FOLD_VERSION, Fold, OtherVersion, Warning};
use crate::Received;
use crate::json::{Count, Text};

fn fold(events: &[&str]) -> Fold {
    let mut fold = Fold::new();
    for json in events {
        fold.apply(Received::read(json).unwrap().event()).unwrap();
    }
    fold
}

fn apply(fold: &mut Fold, json: &str) -> Result<(), Warning> {
    fold.apply(Received::read(json).unwrap().event())
}

fn messages(fold: &Fold) -> Vec<String> {
    fold.messages().map(crate::Message::to_json).collect()
}

#[test]
fn what_changed_since_is_known() {
    let mut fold = fold(&[
        r#"{"type":"TEXT_MESSAGE_START","messageId":"a"}"#,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"b"}"#,
        r#"{"type":"STATE_SNAPSHOT","snapshot":{"n":1}}"#,
    ]);
    let mark = fold.revision();
    assert!(fold.changes_since(mark).messages.is_empty());
    apply(&mut fold, r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"b","delta":"x"}"#).unwrap();
    let changes = fold.changes_since(mark);
    assert_eq!(changes.messages.len(), 1);
    assert!(changes.removed.is_empty() && !changes.state);

    let mark = fold.revision();
    apply(&mut fold, r#"{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/n"}]}"#).unwrap();
    apply(
        &mut fold,
        r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"assistant","id":"b","content":"x"},{"role":"user","id":"c","content":""}]}"#,
    )
    .unwrap();
    let changes = fold.changes_since(mark);
    assert!(changes.state);
    assert_eq!(changes.removed, [&Text::from("a")]);
    // The one that the snapshot did not change is not among them.
    assert_eq!(changes.messages.len(), 1);
    assert_eq!(changes.messages[0].to_json(), r#"{"role":"user","id":"c","content":""}"#);
}

#[test]
fn a_bad_event_spoils_nothing() {
    let mut fold = fold(&[r#"{"type":"STATE_SNAPSHOT","snapshot":{"n":1}}"#]);
    for (json, warning) in [
        (r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x"}"#, Warning::NoMessage("m".into())),
        (r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"x"}"#, Warning::NoCall("c".into())),
        (r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"x"}"#, Warning::Chunk),
    ] {
        assert_eq!(apply(&mut fold, json), Err(warning));
    }
    let patch =
        r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a","value":1},{"op":"remove","path":"/x"}]}"#;
    assert!(matches!(apply(&mut fold, patch), Err(Warning::Patch(_))));
    assert_eq!(fold.state().as_str(), r#"{"n":1}"#);
    apply(&mut fold, r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a","value":1.50}]}"#).unwrap();
    assert_eq!(fold.state().as_str(), r#"{"n":1,"a":1.50}"#);
}

#[test]
fn an_activity_stays_an_object() {
    let mut fold = fold(&[r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"t","content":{}}"#]);
    let before = messages(&fold);
    let root = r#"{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"t","patch":[{"op":"replace","path":"","value":[]}]}"#;
    assert_eq!(apply(&mut fold, root), Err(Warning::NoObject("a".into())));
    assert_eq!(messages(&fold), before);
}

#[test]
fn repeated_results_are_repeated_messages() {
    let fold = fold(&[
        r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m"}"#,
        r#"{"type":"TEXT_MESSAGE_START","messageId":"n"}"#,
        r#"{"type":"TOOL_CALL_RESULT","messageId":"r","toolCallId":"c","content":"1"}"#,
        r#"{"type":"TOOL_CALL_RESULT","messageId":"r","toolCallId":"c","content":"2"}"#,
    ]);
    let roles: Vec<String> = messages(&fold).iter().map(|json| json[9..12].to_owned()).collect();
    assert_eq!(roles, ["ass", "too", "too", "ass"]);
    assert!(fold.message(&Text::from("r")).unwrap().to_json().contains(r#""content":"1""#));
}

#[test]
fn halves_of_an_emoji_join() {
    let fold = fold(&[
        r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\ud83d"}"#,
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\ude00"}"#,
    ]);
    assert_eq!(messages(&fold), [r#"{"role":"assistant","id":"m","content":"😀"}"#]);
}

#[test]
fn usage_is_summed_by_model() {
    let fold = fold(&[
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"1"}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"1","usage":[{"model":"a","inputTokens":1},{"model":"b"}]}"#,
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"2"}"#,
        r#"{"type":"RUN_ERROR","message":"m","usage":[{"model":"a","inputTokens":2,"outputTokens":5}]}"#,
    ]);
    let usage = fold.usage();
    assert_eq!(usage.len(), 2);
    assert_eq!(usage[0].input_tokens.map(Count::get), Some(3));
    assert_eq!(usage[0].output_tokens.map(Count::get), Some(5));
    assert_eq!(usage[1].input_tokens, None);
}

#[test]
fn a_checkpoint_of_another_fold_is_refused() {
    let json = fold(&[]).checkpoint().to_json();
    let other = json.replace(&format!(r#""version":{FOLD_VERSION}"#), r#""version":999"#);
    let (checkpoint, _) = Checkpoint::read_json(&other).unwrap();
    assert_eq!(Fold::restore(checkpoint).unwrap_err(), OtherVersion { found: 999 });
}

#[test]
fn a_patched_activity_is_what_it_says() {
    let mut fold = Fold::new();
    let mut apply = |json: &str| {
        let result = fold.apply(Received::read(json).unwrap().event());
        (
            result,
            fold.messages().next().map(crate::Message::to_json),
            fold.changes_since(fold.revision() - 1).messages.len(),
        )
    };
    let (result, shown, _) =
        apply(r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"t","content":{ "n":1.0}}"#);
    assert_eq!(result, Ok(()));
    let whole = r#"{"role":"activity","id":"a","activityType":"t","content":{ "n":1.0}}"#;
    assert_eq!(shown.as_deref(), Some(whole));
    // One that fails leaves the content as it was written.
    let (result, shown, _) = apply(
        r#"{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"u","patch":[{"op":"remove","path":"/x"}]}"#,
    );
    assert!(matches!(result, Err(Warning::Patch(_))));
    assert_eq!(shown.as_deref(), Some(whole));
    for n in 2..4 {
        let delta = format!(
            r#"{{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"u","patch":[{{"op":"replace","path":"/n","value":{n}}}]}}"#
        );
        let (result, shown, changed) = apply(&delta);
        assert_eq!((result, changed), (Ok(()), 1));
        assert_eq!(
            shown.unwrap(),
            format!(r#"{{"role":"activity","id":"a","activityType":"u","content":{{"n":{n}}}}}"#)
        );
    }
    // Text is not for activities, and changes nothing.
    let (result, shown, changed) = apply(r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"x"}"#);
    assert!(matches!(result, Err(Warning::IsActivity(_))));
    assert_eq!((shown.unwrap().contains(r#""n":3"#), changed), (true, 0));
    // Nor can one become something else than an object; metadata are merged in any case.
    let (result, shown, _) = apply(
        r#"{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"v","patch":[{"op":"replace","path":"","value":1}],"metadata":{"k":1}}"#,
    );
    assert!(matches!(result, Err(Warning::NoObject(_))));
    assert_eq!(
        shown.unwrap(),
        r#"{"role":"activity","id":"a","activityType":"u","content":{"n":3},"metadata":{"k":1}}"#
    );
}

#[test]
fn what_a_client_says_itself_is_held_once() {
    let mut fold = Fold::new();
    let said = || crate::Message::from(crate::message::UserMessage::new("u", "hi"));
    fold.hold(said());
    let revision = fold.revision();
    fold.hold(said());
    assert_eq!((fold.messages().len(), fold.revision()), (1, revision));
    assert_eq!(fold.changes_since(revision - 1).messages.len(), 1);
}
