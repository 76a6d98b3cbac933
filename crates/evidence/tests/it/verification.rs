//! Signing and verifying, level by level.

use Outcome::{Failed, NotChecked, Passed};
use proptest::prelude::*;
use serde_json::json;
use std::sync::LazyLock;
use threadline_evidence::diff::{MessageChange, diff};
use threadline_evidence::verify::{Claim, Level, Outcome, Verdict, Verification};
use threadline_evidence::{
    Derived, Deriver, Envelope, Refusal, Refused, Scope, SigningKey, SourceKind, Statement, StatementError,
    check,
};

const EVENTS: [&str; 4] = [
    r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
    r#"{"type":"STATE_SNAPSHOT","snapshot":{}}"#,
    r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m1","role":"user","content":"Hello"},{"id":"m2","role":"assistant","content":"Hi"}]}"#,
    r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#,
];

fn derive(events: &[&str]) -> Result<Derived, Refused> {
    let mut deriver = Deriver::of_logged_run("t", "r");
    for (offset, event) in (7..).zip(events) {
        deriver.push(offset, Some(1_776_193_200_000), event.as_bytes());
    }
    deriver.finish()
}

fn scope() -> Option<Scope> {
    Some(Scope { app: "app".to_owned(), user: "user".to_owned() })
}

struct Signed {
    key: SigningKey,
    artifact: String,
    statement: String,
    envelope: String,
}

static SIGNED: LazyLock<Signed> = LazyLock::new(|| {
    let derived = derive(&EVENTS).expect("a fixture that is good");
    let (key, _) = SigningKey::generate().expect("a fixture that is good");
    let statement = Statement::about(&derived, SourceKind::Log, scope(), None).to_json();
    let envelope = Envelope::sign(statement.as_bytes(), &key).to_json();
    Signed { key, artifact: derived.artifact.to_json(), statement, envelope }
});

fn verdict(artifact: &[u8], claim: Claim<'_>, raw: Option<&Result<Derived, Refused>>) -> Verdict {
    let mut verification = Verification::new(artifact, claim, &[SIGNED.key.public()]);
    if let Some(raw) = raw {
        verification.rederive(raw, SourceKind::Log, scope());
    }
    verification.verdict()
}

fn outcomes(verdict: &Verdict) -> [Outcome; 5] {
    Level::ALL.map(|level| verdict.outcome(level))
}

#[test]
fn what_is_good_passes_every_level_that_was_looked_at() {
    let signed = &*SIGNED;
    let (artifact, envelope) = (signed.artifact.as_bytes(), Claim::Envelope(signed.envelope.as_bytes()));
    let raw = derive(&EVENTS);
    assert_eq!(
        outcomes(&verdict(artifact, envelope, Some(&raw))),
        [Passed, Passed, Passed, Passed, NotChecked]
    );
    assert_eq!(
        outcomes(&verdict(artifact, envelope, None)),
        [Passed, Passed, Passed, NotChecked, NotChecked]
    );
    let statement = Claim::Statement(signed.statement.as_bytes());
    assert_eq!(
        outcomes(&verdict(artifact, statement, Some(&raw))),
        [Passed, NotChecked, Passed, Passed, NotChecked]
    );
    assert_eq!(
        outcomes(&verdict(artifact, Claim::Nothing, Some(&raw))),
        [Passed, NotChecked, NotChecked, Passed, NotChecked]
    );
    let untrusting = Verification::new(artifact, envelope, &[]).verdict();
    assert_eq!(outcomes(&untrusting), [Passed, NotChecked, Passed, NotChecked, NotChecked]);
    let mut chained = Verification::new(artifact, envelope, &[]);
    chained.chain(Failed, "rewritten");
    assert_eq!(chained.verdict().outcome(Level::Chain), Failed);
}

#[test]
fn somebody_elses_signature_is_none() {
    let signed = &*SIGNED;
    let (other, _) = SigningKey::generate().unwrap();
    let envelope = Envelope::sign(signed.statement.as_bytes(), &other).to_json();
    let verdict = verdict(signed.artifact.as_bytes(), Claim::Envelope(envelope.as_bytes()), None);
    assert_eq!(outcomes(&verdict), [Passed, Failed, NotChecked, NotChecked, NotChecked]);
}

#[test]
fn what_is_signed_and_no_statement_is_about_nothing() {
    let signed = &*SIGNED;
    let other = signed.statement.replace("compacted-message-snapshot:v1", "compacted-message-snapshot:v2");
    for payload in ["{}", "nonsense", &other] {
        let envelope = Envelope::sign(payload.as_bytes(), &signed.key).to_json();
        let verdict = verdict(signed.artifact.as_bytes(), Claim::Envelope(envelope.as_bytes()), None);
        assert_eq!(outcomes(&verdict), [Passed, Passed, Failed, NotChecked, NotChecked], "{payload}");
    }
}

#[test]
fn other_raw_records_do_not_give_the_same_again() {
    let signed = &*SIGNED;
    let rederived = |raw: &Result<Derived, Refused>| {
        let claim = Claim::Envelope(signed.envelope.as_bytes());
        verdict(signed.artifact.as_bytes(), claim, Some(raw)).levels.remove(3)
    };
    let other_text = EVENTS.map(|event| event.replace("Hello", "Hallo"));
    let finding = rederived(&derive(&other_text.each_ref().map(String::as_str)));
    assert_eq!((finding.outcome, finding.detail.as_str()), (Failed, "the raw records give another artifact"));
    // The same messages, and yet other bytes.
    let other_bytes = EVENTS.map(|event| event.replace("STATE_SNAPSHOT\",", "STATE_SNAPSHOT\", "));
    let finding = rederived(&derive(&other_bytes.each_ref().map(String::as_str)));
    assert_eq!(finding.detail, "the raw records give another statement. members=raw");
    let finding = rederived(&derive(&[EVENTS[0], EVENTS[2], EVENTS[3]]));
    assert_eq!(finding.detail, "the raw records give another statement. members=raw,dropped");
    assert_eq!(rederived(&derive(&EVENTS[..2])).outcome, Failed);
    assert_eq!(rederived(&Err(Refusal::raw_not_kept("gone").into())).outcome, NotChecked);
}

#[test]
fn a_statement_is_closed_and_of_this_version() {
    let good: serde_json::Value = serde_json::from_str(&SIGNED.statement).unwrap();
    let read = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut statement = good.clone();
        change(&mut statement);
        Statement::read(statement.to_string().as_bytes()).map(drop)
    };
    assert_eq!(read(&|_| ()), Ok(()));
    assert!(matches!(read(&|it| it["extra"] = json!(1)), Err(StatementError::Shape { .. })));
    assert!(matches!(read(&|it| it["predicate"]["extra"] = json!(1)), Err(StatementError::Shape { .. })));
    assert!(matches!(
        read(&|it| it["predicate"]["raw"]["first"] = json!(-1)),
        Err(StatementError::Shape { .. })
    ));
    let unknown = |member| Err(StatementError::Unknown(member));
    assert_eq!(read(&|it| it["_type"] = json!("https://in-toto.io/Statement/v2")), unknown("_type"));
    assert_eq!(read(&|it| it["predicateType"] = json!("urn:other")), unknown("predicateType"));
    assert_eq!(
        read(&|it| it["predicate"]["projection"]["version"] = json!(2)),
        unknown("projection.version")
    );
    assert_eq!(
        read(&|it| it["subject"] = json!([good["subject"][0], good["subject"][0]])),
        unknown("subject")
    );
    assert_eq!(read(&|it| it["subject"] = json!([])), unknown("subject"));
    let twice = SIGNED.statement.replace("\"clock\"", "\"raw\"");
    assert!(matches!(Statement::read(twice.as_bytes()), Err(StatementError::Json(_))));
    assert_eq!(Statement::read(SIGNED.statement.as_bytes()).unwrap().to_json(), SIGNED.statement);
}

#[test]
fn artifacts_are_compared_message_by_message() {
    let of = |messages: serde_json::Value| {
        let mut artifact: serde_json::Value = serde_json::from_str(&SIGNED.artifact).unwrap();
        artifact["messages"] = messages;
        check(artifact.to_string().as_bytes()).unwrap()
    };
    let message = |id: &str, content: &str| json!({"id": id, "role": "user", "content": content});
    let left = of(json!([message("a", "1"), message("b", "2"), message("c", "3")]));
    let right = of(json!([message("x", "0"), message("a", "1"), message("c", "4")]));
    assert!(diff(&left, &left).is_empty());
    let found = diff(&left, &right);
    assert_eq!(found.fields, []);
    let [
        MessageChange::Added { right: 0, id: "x" },
        MessageChange::Removed { left: 1, id: "b" },
        MessageChange::Changed { left: 2, right: 2, id: "c", members },
    ] = found.messages.as_slice()
    else {
        panic!("{found:?}")
    };
    assert_eq!((members[0].field, members[0].left, members[0].right), ("content", Some("3"), Some("4")));
    let mut later: serde_json::Value = serde_json::from_str(&SIGNED.artifact).unwrap();
    later["finished_at"] = json!("2026-04-14T19:00:09Z");
    let (one, two) =
        (check(SIGNED.artifact.as_bytes()).unwrap(), check(later.to_string().as_bytes()).unwrap());
    assert_eq!(diff(&one, &two).fields[0].field, "finished_at");
}

fn flipped(bytes: &[u8], at: usize, bit: u32) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let at = at % bytes.len();
    bytes[at] ^= 1 << bit;
    bytes
}

/// The envelope with other bytes in one of its base64 members.
fn envelope_with(payload: &[u8], spoil_signature: Option<(usize, u32)>) -> String {
    use base64::Engine as _;
    let base64 = base64::engine::general_purpose::STANDARD;
    let mut envelope: serde_json::Value =
        serde_json::from_str(&SIGNED.envelope).expect("a fixture that is good");
    envelope["payload"] = json!(base64.encode(payload));
    if let Some((at, bit)) = spoil_signature {
        let signature = base64
            .decode(envelope["signatures"][0]["sig"].as_str().expect("a fixture that is good"))
            .expect("a fixture that is good");
        envelope["signatures"][0]["sig"] = json!(base64.encode(flipped(&signature, at, bit)));
    }
    envelope.to_string()
}

proptest! {
    #[test]
    fn a_flipped_bit_of_the_artifact_is_another_subject(at in any::<usize>(), bit in 0..8_u32) {
        let artifact = flipped(SIGNED.artifact.as_bytes(), at, bit);
        let verdict = verdict(&artifact, Claim::Envelope(SIGNED.envelope.as_bytes()), Some(&derive(&EVENTS)));
        prop_assert_eq!(verdict.outcome(Level::Signature), Passed);
        prop_assert_eq!(verdict.outcome(Level::Subject), Failed);
        prop_assert_eq!(verdict.outcome(Level::Rederived), Failed);
    }

    #[test]
    fn a_flipped_bit_of_the_payload_was_not_signed(at in any::<usize>(), bit in 0..8_u32) {
        let envelope = envelope_with(&flipped(SIGNED.statement.as_bytes(), at, bit), None);
        let verdict = verdict(SIGNED.artifact.as_bytes(), Claim::Envelope(envelope.as_bytes()), None);
        prop_assert_eq!(outcomes(&verdict), [Passed, Failed, NotChecked, NotChecked, NotChecked]);
    }

    #[test]
    fn a_flipped_bit_of_the_signature_signs_nothing(at in any::<usize>(), bit in 0..8_u32) {
        let envelope = envelope_with(SIGNED.statement.as_bytes(), Some((at, bit)));
        let verdict = verdict(SIGNED.artifact.as_bytes(), Claim::Envelope(envelope.as_bytes()), None);
        prop_assert_eq!(outcomes(&verdict), [Passed, Failed, NotChecked, NotChecked, NotChecked]);
    }

    /// Of an envelope as it is written, a flipped bit breaks the signature, or it was in the hint.
    #[test]
    fn a_flipped_bit_of_the_envelope_never_gains_anything(at in any::<usize>(), bit in 0..8_u32) {
        let envelope = flipped(SIGNED.envelope.as_bytes(), at, bit);
        let verdict = verdict(SIGNED.artifact.as_bytes(), Claim::Envelope(&envelope), None);
        if verdict.outcome(Level::Signature) == Passed {
            let read = Envelope::read(&envelope).unwrap();
            prop_assert_eq!(read.payload(), SIGNED.statement.as_bytes());
        }
    }
}
