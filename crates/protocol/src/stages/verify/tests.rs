use super::*;
use crate::event::{
    ActivityDelta, ActivitySnapshot, Custom, EncryptedSubtype, Event, MessagesSnapshot,
    ReasoningEncryptedValue, ReasoningEnd, ReasoningMessageContent, ReasoningMessageEnd,
    ReasoningMessageStart, ReasoningStart, Received, RunError, RunFinished, RunStarted, StepFinished,
    StepStarted, SubagentError, SubagentFinished, SubagentStarted, TextMessageChunk, TextMessageContent,
    TextMessageEnd, TextMessageStart, ToolCallArgs, ToolCallEnd, ToolCallResult, ToolCallStart,
};
use crate::json::{Json, JsonObject};
use crate::message::{
    ActivityMessage, AssistantMessage, FunctionCall, Message, ReasoningMessage, ToolCall, ToolMessage,
    UserMessage,
};
use crate::patch::JsonPatch;
use crate::run::{Interrupt, Interrupts, RunAgentInput, RunInterrupt, RunSuccess};
use proptest::prelude::*;
use std::collections::BTreeSet;
use threadline_testkit::random::Random;
use threadline_testkit::streams;

type E = Event<'static>;

fn run_started() -> E {
    RunStarted::new("t", "r1").into()
}

fn run_finished() -> E {
    RunFinished::new("t", "r1").into()
}

fn run_error() -> E {
    RunError::new("failed").into()
}

fn custom() -> E {
    Custom::new("n", Json::NULL).into()
}

fn object() -> JsonObject<'static> {
    Json::parse("{}").unwrap().try_into().unwrap()
}

fn activity(id: &'static str) -> ActivitySnapshot<'static> {
    ActivitySnapshot::new(id, "PLAN", object())
}

fn activity_delta(id: &'static str) -> ActivityDelta<'static> {
    ActivityDelta::new(id, "PLAN", JsonPatch::default())
}

fn encrypted(subtype: EncryptedSubtype<'static>, id: &'static str) -> ReasoningEncryptedValue<'static> {
    ReasoningEncryptedValue::new(subtype, id, "v")
}

fn result(call: &'static str) -> ToolCallResult<'static> {
    ToolCallResult::new("result", call, "done")
}

/// An assistant's message with a call.
fn assistant(id: &'static str, call: &'static str) -> AssistantMessage<'static> {
    let call = ToolCall::new(call, FunctionCall::new("f", "{}"));
    AssistantMessage::new(id).with_tool_calls(vec![call])
}

fn snapshot(message: impl Into<Message<'static>>) -> E {
    MessagesSnapshot::new(vec![message.into()]).into()
}

/// Goes through a stream that violates nothing.
fn passed(events: &[E]) -> Verifier {
    passed_with(Options::new(), events)
}

fn passed_with(options: Options, events: &[E]) -> Verifier {
    let mut verifier = Verifier::new(options);
    for event in events {
        assert_eq!(verifier.check(event), [], "{}", event.to_json());
    }
    verifier
}

fn rules(violations: &[Violation]) -> Vec<Rule> {
    violations.iter().map(|violation| violation.rule).collect()
}

/// After `before`, which violates nothing, `bad` violates the rule and changes nothing, and `good` would not have.
struct Case {
    rule: Rule,
    label: &'static str,
    before: Vec<E>,
    bad: E,
    good: E,
}

fn case(rule: Rule, label: &'static str, before: Vec<E>, bad: impl Into<E>, good: impl Into<E>) -> Case {
    Case { rule, label, before, bad: bad.into(), good: good.into() }
}

/// The same in a run.
fn in_run(rule: Rule, label: &'static str, before: Vec<E>, bad: impl Into<E>, good: impl Into<E>) -> Case {
    let before = [run_started()].into_iter().chain(before).collect();
    case(rule, label, before, bad, good)
}

fn cases_of_runs() -> Vec<Case> {
    vec![
        case(Rule::AfterRunError, "G1", vec![run_error()], run_error(), run_started()),
        case(
            Rule::AfterRunError,
            "G1",
            vec![run_started(), run_error()],
            run_finished(),
            RunStarted::new("t", "r2"),
        ),
        case(
            Rule::AfterRunError,
            "G1",
            vec![run_started(), run_finished(), run_error()],
            custom(),
            RunStarted::new("t", "r2"),
        ),
        case(Rule::AfterRunFinished, "G2", vec![run_started(), run_finished()], custom(), run_error()),
        case(
            Rule::AfterRunFinished,
            "G2",
            vec![run_started(), run_finished()],
            run_finished(),
            RunStarted::new("t", "r2"),
        ),
        case(Rule::BeforeRunStarted, "G3", vec![], TextMessageStart::new("m"), run_started()),
        case(Rule::BeforeRunStarted, "G3", vec![], TextMessageChunk::new(), run_error()),
        case(Rule::RunStillActive, "G4", vec![run_started()], RunStarted::new("t", "r2"), run_finished()),
    ]
}

fn cases_of_texts_and_calls() -> Vec<Case> {
    let text = || TextMessageStart::new("m");
    let call = || ToolCallStart::new("c", "f");
    vec![
        in_run(Rule::TextAlreadyOpen, "V1", vec![text().into()], text(), TextMessageStart::new("m2")),
        in_run(
            Rule::OwnerMismatch,
            "V1",
            vec![text().into(), TextMessageEnd::new("m").into()],
            text().with_subagent_run_id("s"),
            text(),
        ),
        in_run(
            Rule::TextNotOpen,
            "V2",
            vec![text().into()],
            TextMessageContent::new("m2", "x"),
            TextMessageContent::new("m", "x"),
        ),
        in_run(
            Rule::OwnerMismatch,
            "V2",
            vec![text().with_subagent_run_id("s").into()],
            TextMessageContent::new("m", "x").with_subagent_run_id(""),
            TextMessageContent::new("m", "x"),
        ),
        in_run(
            Rule::TextNotOpen,
            "V3",
            vec![text().into(), TextMessageEnd::new("m").into()],
            TextMessageEnd::new("m"),
            text(),
        ),
        in_run(
            Rule::OwnerMismatch,
            "V3",
            vec![text().with_subagent_run_id("s").into()],
            TextMessageEnd::new("m").with_subagent_run_id("s2"),
            TextMessageEnd::new("m").with_subagent_run_id("s"),
        ),
        in_run(Rule::CallAlreadyOpen, "V4", vec![call().into()], call(), ToolCallStart::new("m", "f")),
        in_run(
            Rule::CallParentMismatch,
            "V4",
            vec![text().into()],
            call().with_parent_message_id("m").with_subagent_run_id("s"),
            call().with_parent_message_id("unknown").with_subagent_run_id("s"),
        ),
        in_run(
            Rule::OwnerMismatch,
            "V4",
            vec![call().into(), ToolCallEnd::new("c").into()],
            call().with_subagent_run_id("s"),
            call(),
        ),
        in_run(
            Rule::CallMoved,
            "V4",
            vec![
                text().with_subagent_run_id("s").into(),
                call().with_parent_message_id("m").into(),
                ToolCallEnd::new("c").into(),
                TextMessageStart::new("m2").into(),
            ],
            call().with_parent_message_id("m2"),
            call().with_parent_message_id("m"),
        ),
        in_run(
            Rule::CallNotOpen,
            "V5",
            vec![text().into()],
            ToolCallArgs::new("m", "x"),
            TextMessageContent::new("m", "x"),
        ),
        // The call inherits the owner of its message.
        in_run(
            Rule::OwnerMismatch,
            "V5",
            vec![text().with_subagent_run_id("s").into(), call().with_parent_message_id("m").into()],
            ToolCallArgs::new("c", "x").with_subagent_run_id("s2"),
            ToolCallArgs::new("c", "x").with_subagent_run_id("s"),
        ),
        in_run(Rule::CallNotOpen, "V6", vec![], ToolCallEnd::new("c"), call()),
        in_run(
            Rule::OwnerMismatch,
            "V6",
            vec![call().into()],
            ToolCallEnd::new("c").with_subagent_run_id("s"),
            ToolCallEnd::new("c"),
        ),
    ]
}

fn cases_of_reasoning_and_activities() -> Vec<Case> {
    let span = || ReasoningStart::new("q");
    let message = || ReasoningMessageStart::new("q");
    vec![
        in_run(Rule::SpanAlreadyOpen, "V10", vec![span().into()], span(), message()),
        in_run(
            Rule::OwnerMismatch,
            "V10",
            vec![message().into()],
            span().with_subagent_run_id("s"),
            ReasoningStart::new("q2").with_subagent_run_id("s"),
        ),
        in_run(Rule::ReasoningAlreadyOpen, "V11", vec![message().into()], message(), span()),
        in_run(
            Rule::OwnerMismatch,
            "V11",
            vec![span().into()],
            message().with_subagent_run_id("s"),
            message(),
        ),
        in_run(
            Rule::ReasoningNotOpen,
            "V12",
            vec![span().into()],
            ReasoningMessageContent::new("q", "x"),
            message(),
        ),
        in_run(
            Rule::ReasoningNotOpen,
            "V12",
            vec![message().into(), ReasoningMessageEnd::new("q").into()],
            ReasoningMessageEnd::new("q"),
            message(),
        ),
        in_run(
            Rule::OwnerMismatch,
            "V12",
            vec![message().into()],
            ReasoningMessageEnd::new("q").with_subagent_run_id("s"),
            ReasoningMessageEnd::new("q"),
        ),
        in_run(Rule::SpanNotOpen, "V13", vec![message().into()], ReasoningEnd::new("q"), span()),
        in_run(
            Rule::OwnerMismatch,
            "V13",
            vec![span().with_subagent_run_id("s").into()],
            ReasoningEnd::new("q").with_subagent_run_id("s2"),
            ReasoningEnd::new("q"),
        ),
        in_run(
            Rule::OwnerMismatch,
            "V14",
            vec![
                ToolCallStart::new("c", "f").into(),
                TextMessageStart::new("m").with_subagent_run_id("s").into(),
            ],
            encrypted(EncryptedSubtype::ToolCall, "c").with_subagent_run_id("s"),
            encrypted(EncryptedSubtype::ToolCall, "m").with_subagent_run_id("s2"),
        ),
        in_run(
            Rule::OwnerMismatch,
            "V14",
            vec![message().into(), TextMessageStart::new("m").with_subagent_run_id("s").into()],
            encrypted(EncryptedSubtype::Message, "q").with_subagent_run_id("s"),
            encrypted(EncryptedSubtype::Message, "m").with_subagent_run_id("s"),
        ),
        // A snapshot that does not replace leaves the owner alone.
        in_run(
            Rule::OwnerMismatch,
            "V16",
            vec![activity("a").into(), activity("a").with_replace(false).with_subagent_run_id("s").into()],
            activity_delta("a").with_subagent_run_id("s"),
            activity_delta("unknown").with_subagent_run_id("s"),
        ),
    ]
}

fn cases_of_steps_and_subagents() -> Vec<Case> {
    let step = || StepStarted::new("x");
    let subagent = || SubagentStarted::new("s", "helper");
    vec![
        in_run(Rule::StepAlreadyOpen, "V8", vec![step().into()], step(), step().with_subagent_run_id("")),
        in_run(
            Rule::StepOfAnother,
            "V9",
            vec![step().into()],
            StepFinished::new("x").with_subagent_run_id("s"),
            StepFinished::new("x"),
        ),
        in_run(
            Rule::StepNotOpen,
            "V9",
            vec![step().into(), StepFinished::new("x").into()],
            StepFinished::new("x"),
            step(),
        ),
        in_run(
            Rule::SubagentAlreadyActive,
            "V17",
            vec![subagent().into()],
            subagent(),
            SubagentStarted::new("s2", "helper").with_parent_subagent_run_id("s"),
        ),
        in_run(
            Rule::SubagentReused,
            "V17",
            vec![subagent().into(), SubagentFinished::new("s").into()],
            subagent(),
            SubagentStarted::new("s2", "helper").with_parent_subagent_run_id("s"),
        ),
        in_run(
            Rule::SubagentParentUnknown,
            "V17",
            vec![],
            subagent().with_parent_subagent_run_id("s"),
            subagent(),
        ),
        in_run(
            Rule::SubagentNotActive,
            "V18",
            vec![subagent().into(), SubagentFinished::new("s").into()],
            SubagentError::new("s", "late"),
            custom(),
        ),
        in_run(
            Rule::SubagentNotActive,
            "V18",
            vec![subagent().into()],
            SubagentFinished::new("s2"),
            SubagentError::new("s", "failed"),
        ),
    ]
}

fn cases_of_ends() -> Vec<Case> {
    let left_open = |rule, start: E, end: E| {
        // Whatever is open, a run may fail.
        assert_eq!(passed(&[run_started(), start.clone(), run_error()]).finish(), None);
        in_run(rule, "V21", vec![start], run_finished(), end)
    };
    vec![
        left_open(Rule::StepsLeftOpen, StepStarted::new("x").into(), StepFinished::new("x").into()),
        left_open(Rule::TextsLeftOpen, TextMessageStart::new("m").into(), TextMessageEnd::new("m").into()),
        left_open(
            Rule::ReasoningLeftOpen,
            ReasoningMessageStart::new("q").into(),
            ReasoningMessageEnd::new("q").into(),
        ),
        left_open(Rule::SpansLeftOpen, ReasoningStart::new("q").into(), ReasoningEnd::new("q").into()),
        left_open(Rule::CallsLeftOpen, ToolCallStart::new("c", "f").into(), ToolCallEnd::new("c").into()),
        left_open(
            Rule::SubagentsLeftActive,
            SubagentStarted::new("s", "helper").into(),
            SubagentFinished::new("s").into(),
        ),
    ]
}

/// What the reference accepts and the prose does not.
fn cases_of_warnings() -> Vec<Case> {
    let interrupts = |ids: [&'static str; 2]| {
        let interrupts = ids.map(|id| Interrupt::new(id, "confirmation")).to_vec();
        RunFinished::new("t", "r1").with_outcome(RunInterrupt::new(Interrupts::try_from(interrupts).unwrap()))
    };
    let pending = |ids: &[&'static str]| {
        let ids: Vec<_> = ids.iter().map(|id| (*id).into()).collect();
        RunFinished::new("t", "r1").with_outcome(RunSuccess::new().with_pending_tool_call_ids(ids))
    };
    let call = |id| -> [E; 2] { [ToolCallStart::new(id, "f").into(), ToolCallEnd::new(id).into()] };
    let calls = || [call("b"), call("a")].into_iter().flatten().collect::<Vec<E>>();
    let open = || vec![ToolCallStart::new("c", "f").into()];
    let answered = || call("c").into_iter().chain([result("c").into()]).collect::<Vec<E>>();
    vec![
        in_run(Rule::RunIdsDiffer, "", vec![], RunFinished::new("t", "r2"), run_finished()),
        in_run(Rule::RunIdsDiffer, "", vec![], RunFinished::new("t2", "r1"), run_finished()),
        in_run(
            Rule::ThreadChanged,
            "",
            vec![run_finished()],
            RunStarted::new("t2", "r1"),
            RunStarted::new("t", "r2"),
        ),
        in_run(Rule::RunReused, "", vec![run_error()], run_started(), RunStarted::new("t", "r2")),
        in_run(Rule::InterruptRepeated, "", vec![], interrupts(["i", "i"]), interrupts(["i", "j"])),
        in_run(Rule::ResultOfUnknownCall, "", vec![], result("c"), custom()),
        in_run(Rule::ResultOfOpenCall, "", open(), result("c"), ToolCallEnd::new("c")),
        in_run(Rule::ResultRepeated, "", answered(), ToolCallResult::new("again", "c", "done"), custom()),
        in_run(Rule::PendingCallsDiffer, "", calls(), pending(&["a", "b"]), pending(&["b", "a"])),
        in_run(Rule::PendingCallsDiffer, "", calls(), pending(&["b"]), pending(&[])),
        in_run(Rule::PendingCallsDiffer, "", calls(), pending(&["b", "a", "c"]), run_finished()),
        in_run(Rule::PendingCallsDiffer, "", answered(), pending(&["c"]), pending(&[])),
    ]
}

#[test]
fn errors_change_nothing() {
    let cases = [
        cases_of_runs(),
        cases_of_texts_and_calls(),
        cases_of_reasoning_and_activities(),
        cases_of_steps_and_subagents(),
        cases_of_ends(),
    ];
    let mut tested = BTreeSet::new();
    for Case { rule, label, before, bad, good } in cases.into_iter().flatten() {
        let mut verifier = passed(&before);
        let state = verifier.state.clone();
        let violations = verifier.check(&bad);
        assert_eq!(rules(&violations), [rule], "{}", bad.to_json());
        let violation = &violations[0];
        assert_eq!(violation.label(), Some(label), "{violation:?}");
        assert_eq!(violation.position, before.len() as u64);
        assert_eq!(violation.event_type, bad.event_type());
        assert!(violation.is_error());
        assert_eq!(verifier.state, state);
        assert_eq!(verifier.check(&good), [], "{}", good.to_json());
        tested.insert(rule);
    }
    let errors = Rule::ALL.iter().copied().filter(|rule| rule.severity() == Severity::Error);
    assert_eq!(tested, errors.collect());
}

#[test]
fn warnings_can_be_made_errors() {
    let mut tested = BTreeSet::from([Rule::RunNotEnded]);
    for Case { rule, before, bad, good, .. } in cases_of_warnings() {
        let mut verifier = passed(&before);
        let state = verifier.state.clone();
        let violations = verifier.check(&bad);
        assert_eq!(rules(&violations), [rule], "{}", bad.to_json());
        assert_eq!((violations[0].severity, violations[0].label()), (Severity::Warning, None));
        assert_ne!(verifier.state, state, "{}", bad.to_json());

        let mut verifier = passed_with(Options::new().with_error(rule), &before);
        let violations = verifier.check(&bad);
        assert_eq!((violations[0].rule, violations[0].severity), (rule, Severity::Error));
        assert_eq!(verifier.state, state);
        assert_eq!(verifier.check(&good), [], "{}", good.to_json());
        tested.insert(rule);
    }
    let warnings = Rule::ALL.iter().copied().filter(|rule| rule.severity() == Severity::Warning);
    assert_eq!(tested, warnings.collect());
}

#[test]
fn a_stream_that_is_cut_off_is_noticed() {
    assert_eq!(passed(&[]).finish(), None);
    assert_eq!(passed(&[run_started(), run_finished()]).finish(), None);
    assert_eq!(passed(&[run_error()]).finish(), None);
    let verifier = passed(&[run_started(), custom()]);
    let violation = verifier.finish().unwrap();
    assert_eq!((violation.rule, violation.position, violation.event_type), (Rule::RunNotEnded, 2, None));
    assert_eq!(violation.to_string(), "the stream ends before its run. runId=r1");
    assert!(!violation.is_error());

    let events = [run_started()];
    assert_eq!(verify_all(&events, Options::new()), Ok(()));
    let error = verify_all(&events, Options::new().with_error(Rule::RunNotEnded)).unwrap_err();
    assert_eq!(error.severity, Severity::Error);
}

#[test]
fn everything_that_is_left_open_is_told_in_the_order_of_the_reference() {
    let mut verifier = passed(&[
        run_started(),
        SubagentStarted::new("s", "helper").into(),
        ToolCallStart::new("c", "f").into(),
        ReasoningStart::new("q1").into(),
        ReasoningMessageStart::new("q2").into(),
        TextMessageStart::new("m2").into(),
        TextMessageStart::new("m1").into(),
        StepStarted::new("x").into(),
        StepStarted::new("x").with_subagent_run_id("s").into(),
    ]);
    let told: Vec<String> = verifier.check(&run_finished()).iter().map(Violation::to_string).collect();
    assert_eq!(
        told,
        [
            "the run finishes with open steps. stepName=x, stepName=x",
            "the run finishes with open text messages. messageId=m2, messageId=m1",
            "the run finishes with open reasoning messages. messageId=q2",
            "the run finishes with open reasoning spans. messageId=q1",
            "the run finishes with open tool calls. toolCallId=c",
            "the run finishes with active subagents. subagentRunId=s",
        ]
    );
}

#[test]
fn long_lists_are_cut_short() {
    let mut verifier = passed(&[run_started()]);
    for at in 0..20 {
        assert_eq!(verifier.check(&TextMessageStart::new(format!("m{at}")).into()), []);
    }
    let violations = verifier.check(&run_finished());
    assert_eq!((violations[0].ids.len(), violations[0].ids_omitted), (16, 4));
    assert!(violations[0].to_string().ends_with("messageId=m15, and 4 more"), "{}", violations[0]);
}

#[test]
fn several_things_may_be_wrong_with_one_event() {
    let mut verifier = passed(&[run_started(), TextMessageStart::new("m").into()]);
    let bad = TextMessageStart::new("m").with_subagent_run_id("s").into();
    assert_eq!(rules(&verifier.check(&bad)), [Rule::TextAlreadyOpen, Rule::OwnerMismatch]);
    let bad = RunFinished::new("t", "r2").into();
    assert_eq!(rules(&verifier.check(&bad)), [Rule::TextsLeftOpen, Rule::RunIdsDiffer]);
}

#[test]
fn messages_for_people_name_what_they_are_about() {
    let mut verifier =
        passed(&[run_started(), StepStarted::new("x").into(), TextMessageStart::new("m").into()]);
    for (event, expected) in [
        (
            StepFinished::new("x").with_subagent_run_id("s").into(),
            "the step is open, but another's. stepName=x, subagentRunId=s, owner=(the agent)",
        ),
        (
            TextMessageContent::new("m", "x").with_subagent_run_id("s").into(),
            "the tag names another than the owner. messageId=m, subagentRunId=s, owner=(the agent)",
        ),
        (
            ToolCallStart::new("c", "f").with_parent_message_id("m").with_subagent_run_id("s").into(),
            "the tag names another than the parent message's owner. toolCallId=c, subagentRunId=s, parentMessageId=m, parentOwner=(the agent)",
        ),
        (RunStarted::new("t", "r2").into(), "another run has not ended yet. runId=r1"),
    ] {
        assert_eq!(verifier.check(&event)[0].to_string(), expected);
    }
}

/// Runs follow each other, and each begins with nothing open and no owners.
#[test]
fn a_new_run_begins_anew() {
    let open = || -> Vec<E> {
        vec![
            TextMessageStart::new("m").with_subagent_run_id("s").into(),
            ToolCallStart::new("c", "f").with_subagent_run_id("s").into(),
            ReasoningStart::new("q").with_subagent_run_id("s").into(),
            ReasoningMessageStart::new("q").with_subagent_run_id("s").into(),
            activity("a").with_subagent_run_id("s").into(),
            StepStarted::new("x").into(),
            SubagentStarted::new("s", "helper").into(),
        ]
    };
    let mut events = vec![run_started()];
    events.extend(open());
    events.extend([run_error(), RunStarted::new("t", "r2").into()]);
    // Another owner now, and the same subagent again.
    events.extend([
        TextMessageStart::new("m").with_subagent_run_id("s2").into(),
        TextMessageEnd::new("m").into(),
        activity("a").with_replace(false).with_subagent_run_id("s2").into(),
        activity_delta("a").with_subagent_run_id("s2").into(),
        SubagentStarted::new("s", "helper").into(),
        SubagentError::new("s", "failed").into(),
        RunFinished::new("t", "r2").into(),
        RunStarted::new("t", "r3").into(),
        SubagentStarted::new("s", "helper").into(),
        SubagentFinished::new("s").into(),
        RunFinished::new("t", "r3").into(),
        run_error(),
        RunStarted::new("t", "r4").into(),
    ]);
    let mut verifier = passed(&events);
    assert_eq!(rules(&verifier.check(&TextMessageEnd::new("m").into())), [Rule::TextNotOpen]);
    assert_eq!(verifier.check(&RunFinished::new("t", "r4").into()), []);
}

#[test]
fn results_are_counted_across_runs() {
    let call = || -> [E; 2] { [ToolCallStart::new("c", "f").into(), ToolCallEnd::new("c").into()] };
    let mut events = vec![run_started()];
    events.extend(call());
    events.extend([run_finished(), RunStarted::new("t", "r2").into()]);
    // The call of an earlier run is answered now, and is none of this run's.
    events.push(result("c").into());
    let nothing = RunSuccess::new().with_pending_tool_call_ids(vec!["c".into()]);
    let mut verifier = passed(&events);
    let finished = RunFinished::new("t", "r2").with_outcome(nothing.clone()).into();
    assert_eq!(rules(&verifier.check(&finished)), [Rule::PendingCallsDiffer]);

    // A run that starts it again may be answered again, but only once, even if it is started twice.
    assert_eq!(verifier.check(&RunStarted::new("t", "r3").into()), []);
    for event in call().iter().chain(&[result("c").into()]).chain(&call()) {
        assert_eq!(verifier.check(event), []);
    }
    assert_eq!(rules(&verifier.check(&result("c").into())), [Rule::ResultRepeated]);
    let finished = RunFinished::new("t", "r3").with_outcome(nothing).into();
    assert_eq!(rules(&verifier.check(&finished)), [Rule::PendingCallsDiffer]);
}

#[test]
fn calls_in_messages_are_known() {
    passed(&[run_started(), snapshot(assistant("m", "c")), result("c").into()]);
    let input = RunAgentInput::new("t", "r1", vec![assistant("m", "c").into()]);
    passed(&[RunStarted::new("t", "r1").with_input(input).into(), result("c").into(), run_finished()]);
}

#[test]
fn calls_that_a_snapshot_shows_unanswered_may_be_listed() {
    let finished = |ids: &[&'static str]| -> E {
        let ids = ids.iter().map(|id| (*id).into()).collect::<Vec<_>>();
        RunFinished::new("t", "r1").with_outcome(RunSuccess::new().with_pending_tool_call_ids(ids)).into()
    };
    let verdict = |before: Vec<E>, ids: &[&'static str]| rules(&passed(&before).check(&finished(ids)));
    let called =
        |id: &'static str| -> [E; 2] { [ToolCallStart::new(id, "f").into(), ToolCallEnd::new(id).into()] };
    let shown = || vec![run_started(), snapshot(assistant("m", "c"))];
    assert_eq!(verdict(shown(), &["c"]), []);
    assert_eq!(verdict(shown(), &["x"]), [Rule::PendingCallsDiffer]);
    // What the run itself started must be there, and in order.
    let with_calls = || [shown(), called("d").into(), called("e").into()].concat();
    assert_eq!(verdict(with_calls(), &["c", "d", "e"]), []);
    assert_eq!(verdict(with_calls(), &["d", "e"]), []);
    assert_eq!(verdict(with_calls(), &["c", "d"]), [Rule::PendingCallsDiffer]);
    assert_eq!(verdict(with_calls(), &["c", "e", "d"]), [Rule::PendingCallsDiffer]);
    // A call with a result is not pending, whether the result is an event or a message.
    let answered = [shown(), vec![result("c").into()]].concat();
    assert_eq!(verdict(answered, &["c"]), [Rule::PendingCallsDiffer]);
    let messages = vec![assistant("m", "c").into(), ToolMessage::new("result", "c", "done").into()];
    let answered = vec![run_started(), MessagesSnapshot::new(messages).into()];
    assert_eq!(verdict(answered, &["c"]), [Rule::PendingCallsDiffer]);
    // Only a snapshot of the same run counts.
    let mut verifier = passed(&[shown(), vec![run_finished(), RunStarted::new("t", "r2").into()]].concat());
    let listed = RunSuccess::new().with_pending_tool_call_ids(vec!["c".into()]);
    let finished = RunFinished::new("t", "r2").with_outcome(listed).into();
    assert_eq!(rules(&verifier.check(&finished)), [Rule::PendingCallsDiffer]);
}

#[test]
fn snapshots_say_who_owns_what() {
    let tagged = |id| TextMessageStart::new(id).with_subagent_run_id("s");
    let mut verifier = passed(&[
        run_started(),
        tagged("m").into(),
        TextMessageEnd::new("m").into(),
        snapshot(assistant("m", "c")),
        snapshot(ReasoningMessage::new("q", "thought").with_subagent_run_id("s")),
        snapshot(ActivityMessage::new("a", "PLAN", object()).with_subagent_run_id("s")),
        // Kinds do not mix.
        TextMessageStart::new("q").with_subagent_run_id("s2").into(),
        TextMessageStart::new("a").with_subagent_run_id("s2").into(),
        activity("a").with_replace(false).into(),
    ]);
    for bad in [
        tagged("m").into(),
        ToolCallStart::new("c", "f").with_subagent_run_id("s").into(),
        ReasoningStart::new("q").with_subagent_run_id("s2").into(),
        activity_delta("a").with_subagent_run_id("s2").into(),
    ] {
        assert_eq!(rules(&verifier.check(&bad)), [Rule::OwnerMismatch], "{}", bad.to_json());
    }
}

#[test]
fn the_input_of_a_run_says_who_owned_what() {
    let messages = vec![
        UserMessage::new("u", "hi").into(),
        assistant("m", "c").with_subagent_run_id("s").into(),
        // The first one counts.
        AssistantMessage::new("m").into(),
    ];
    let input = RunAgentInput::new("t", "r1", messages);
    let started: E = RunStarted::new("t", "r1").with_input(input).into();
    let mut verifier = passed(&[started, TextMessageStart::new("m").with_subagent_run_id("s").into()]);
    for bad in [
        TextMessageStart::new("u").with_subagent_run_id("s").into(),
        ToolCallStart::new("c", "f").with_subagent_run_id("s2").into(),
    ] {
        assert_eq!(rules(&verifier.check(&bad)), [Rule::OwnerMismatch], "{}", bad.to_json());
    }
}

#[test]
fn a_result_makes_a_message_of_its_own() {
    let call: [E; 2] = [ToolCallStart::new("c", "f").into(), ToolCallEnd::new("c").into()];
    let mut verifier = passed(&[
        run_started(),
        TextMessageStart::new("result").with_subagent_run_id("s").into(),
        TextMessageEnd::new("result").into(),
    ]);
    for event in call.iter().chain(&[result("c").into()]) {
        assert_eq!(verifier.check(event), []);
    }
    let bad = TextMessageStart::new("result").with_subagent_run_id("s").into();
    assert_eq!(rules(&verifier.check(&bad)), [Rule::OwnerMismatch]);
}

#[test]
fn a_replacing_activity_changes_hands() {
    passed(&[
        run_started(),
        activity("a").into(),
        activity("a").with_replace(true).with_subagent_run_id("s").into(),
        activity_delta("a").with_subagent_run_id("s").into(),
        activity("a").with_subagent_run_id("s2").into(),
        activity_delta("a").with_subagent_run_id("s2").into(),
        activity_delta("a").into(),
    ]);
}

#[test]
fn chunks_and_unknown_events_pass_inside_of_a_run() {
    let unknown = Received::read(r#"{"type":"VENDOR"}"#).unwrap().into_event();
    passed(&[run_started(), TextMessageChunk::new().into(), unknown.clone()]);
    assert_eq!(rules(&Verifier::default().check(&unknown)), [Rule::BeforeRunStarted]);
}

#[test]
fn rules_have_names_of_their_own() {
    let names: BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.name()).collect();
    assert_eq!(names.len(), Rule::ALL.len());
    for rule in Rule::ALL {
        assert_eq!(Rule::from_name(rule.name()), Some(*rule));
        assert_eq!(Options::new().with_error(*rule).severity(*rule), Severity::Error);
    }
    assert_eq!(Rule::from_name("no_such_rule"), None);
}

/// Or this would take hours.
#[test]
fn open_things_are_not_searched() {
    let mut verifier = passed(&[run_started()]);
    for at in 0..50_000 {
        for event in [
            TextMessageStart::new(format!("m{at}")).into(),
            StepStarted::new("x").with_subagent_run_id(format!("s{at}")).into(),
        ] {
            assert_eq!(verifier.check(&event), []);
        }
        assert_eq!(verifier.check(&run_finished()).len(), 2);
        assert_eq!(rules(&verifier.check(&StepFinished::new("x").into())), [Rule::StepOfAnother]);
    }
}

fn read(stream: Vec<serde_json::Value>) -> Vec<E> {
    stream.into_iter().map(|event| Received::read_owned(event.to_string()).unwrap().into_event()).collect()
}

proptest! {
    #[test]
    fn an_error_leaves_no_trace(seed: u64) {
        let events = read(streams::wild(&mut Random::new(seed)));
        let mut verifier = Verifier::default();
        let mut accepted = Vec::new();
        for event in &events {
            let state = verifier.state.clone();
            if verifier.check(event).iter().any(Violation::is_error) {
                prop_assert_eq!(&verifier.state, &state);
            } else {
                accepted.push(event.clone());
            }
        }
        // The rest is judged as if the others had not been there.
        let mut again = Verifier::default();
        for event in &accepted {
            prop_assert!(!again.check(event).iter().any(Violation::is_error));
        }
        prop_assert_eq!(again.state, verifier.state);
    }

    #[test]
    fn strict_readers_and_reports_agree(seed: u64) {
        let events = read(streams::wild(&mut Random::new(seed)));
        let mut verifier = Verifier::default();
        let found: Vec<Violation> = events.iter().flat_map(|event| verifier.check(event)).collect();
        let first = found.into_iter().find(Violation::is_error);
        prop_assert_eq!(verify_all(&events, Options::new()).err(), first);
    }

    #[test]
    fn valid_streams_violate_nothing(seed: u64) {
        let mut expander = crate::stages::expand::Expander::new();
        let mut verifier = Verifier::default();
        for event in read(streams::valid(&mut Random::new(seed))) {
            for event in expander.expand(&event).unwrap().iter() {
                prop_assert_eq!(verifier.check(event), []);
            }
        }
        prop_assert_eq!(verifier.finish(), None);
    }
}
