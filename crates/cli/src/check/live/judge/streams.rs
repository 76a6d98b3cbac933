//! Every stream, event by event, by the same rules as a recording.

use super::super::exchange::{Exchange, Stream};
use super::super::finding::{Affects, Area, Evidence, Finding};
use super::super::rule::Rule;
use super::{add, dialect, worse};
use std::borrow::Cow;
use threadline_protocol::check::{CheckReport, Checker, Code, Coverage, Finding as Found, Verdict};
use threadline_protocol::codec::Format;
use threadline_protocol::stages::verify::Rule as Sequence;

/// What was seen in all streams together.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) coverage: Coverage,
    pub(crate) events: u64,
    /// That of the worst stream; none if there was no event.
    pub(crate) verdict: Option<Verdict>,
}

pub(super) fn judge(exchanges: &[Exchange]) -> (Vec<Finding>, Seen) {
    let coverage = Checker::new().finish().coverage;
    let (mut findings, mut seen) = (Vec::new(), Seen { coverage, events: 0, verdict: None });
    for exchange in exchanges {
        let Some(stream) = exchange.stream() else { continue };
        let (report, frames) = check(exchange, stream, &mut findings);
        seen.events += report.readable;
        add(&mut seen.coverage, &report.coverage);
        if report.readable > 0 {
            seen.verdict = Some(seen.verdict.map_or(report.verdict, |worst| worse(worst, report.verdict)));
        }
        for found in &report.findings {
            findings.push(finding(exchange, found, &frames));
        }
    }
    (findings, seen)
}

/// Checks a stream. What is no event at all goes to the findings, and the numbers of the frames that are events are given.
fn check(exchange: &Exchange, stream: &Stream, findings: &mut Vec<Finding>) -> (CheckReport, Vec<usize>) {
    let mut checker = Checker::new();
    let mut frames = Vec::new();
    for (at, frame) in stream.frames.iter().enumerate() {
        let marker = match frame.json.as_deref().map(str::trim) {
            Ok("") if stream.format == Some(Format::Sse) => {
                Some((Rule::SseEmptyData, "a frame has empty data"))
            }
            Ok("[DONE]") => Some((Rule::SseDone, "the stream has a marker `[DONE]`")),
            _ => None,
        };
        if let Some((rule, message)) = marker {
            findings.push(Finding::new(rule, message, Evidence::frame(exchange, at)));
            continue;
        }
        match &frame.json {
            Ok(json) => checker.push(json),
            Err(error) => checker.push_unreadable(error),
        };
        if stream.joined == Some(at) {
            checker.joined(frames.len() as u64);
        }
        frames.push(at);
    }
    (checker.finish(), frames)
}

fn finding(exchange: &Exchange, found: &Found, frames: &[usize]) -> Finding {
    let at = |position: &u64| {
        let at = usize::try_from(*position).ok().and_then(|position| frames.get(position).copied());
        Evidence::frame(exchange, at.unwrap_or(usize::MAX))
    };
    let evidence: Vec<Evidence> = found.positions.iter().map(at).collect();
    let event_type = found.event_type.as_deref();
    let mut finding = match dialect::named(found) {
        Some((rule, remedy)) => {
            let first = evidence.first().cloned().unwrap_or_else(|| Evidence::head(exchange));
            let mut finding = Finding::new(rule, rule.summary(), first).with_remedy(remedy);
            // What is meant is in the area where it belongs, but for what every type may be.
            finding.severity = found.severity;
            finding
        }
        None => Finding {
            severity: found.severity,
            rule: found.code.name(),
            summary: found.code.summary(),
            area: Area::from(found.family),
            affects: affects(found.code),
            types: Vec::new(),
            path: String::new(),
            message: found.message.clone(),
            says: says(found.code),
            remedy: found.advice.clone(),
            count: 1,
            evidence: Vec::new(),
        },
    };
    finding = finding.with_type(event_type);
    finding.path.clone_from(&found.path);
    finding.count = found.count;
    finding.evidence = evidence;
    finding
}

/// Whose clients have trouble with it.
const fn affects(code: Code) -> Affects {
    match code {
        Code::UnknownMember
        | Code::NullMember
        | Code::LegacyNull
        | Code::ThinkingEvent
        | Code::ThinkingTitleLost
        | Code::ThinkingOrphan
        | Code::BinaryPart
        | Code::ReasoningRole
        | Code::TimestampNotInteger
        | Code::VersionUndeclared
        | Code::VersionOther
        | Code::PatchNotAppliable
        | Code::Sequence(
            Sequence::SpanAlreadyOpen
            | Sequence::SpanNotOpen
            | Sequence::ReasoningAlreadyOpen
            | Sequence::ReasoningNotOpen
            | Sequence::ReasoningLeftOpen
            | Sequence::SpansLeftOpen
            | Sequence::PendingCallsDiffer,
        ) => Affects::V1,
        _ => Affects::Both,
    }
}

/// What the specification says about it.
fn says(code: Code) -> Cow<'static, str> {
    Cow::Borrowed(match code {
        Code::Undecodable | Code::NotJson | Code::NotAnObject | Code::NoType => {
            "every frame holds one JSON object with a `type`; a client ends the stream at anything else"
        }
        Code::SseLineEnds => "lines end in LF, and frames in LF LF; clients look for nothing else",
        Code::TypeMember | Code::TypeSpelling | Code::ForeignType | Code::UnknownType => {
            "1.0 has 31 types in SCREAMING_SNAKE_CASE; a client of 1.0 drops any other, one of 0.x fails"
        }
        Code::MemberSpelling | Code::MemberName | Code::MissingMember => {
            "members have fixed names in camelCase; an event without one that is required ends the run"
        }
        Code::UnknownMember => {
            "members that 1.0 does not describe are stripped; one's own belong into `metadata`"
        }
        Code::NullMember | Code::LegacyNull => "an optional member without a value is left out, never null",
        Code::UnknownVariant | Code::LostInProtobuf => {
            "objects of a kind that 1.0 does not have are removed, with what cannot be without them"
        }
        Code::PatchNotAList | Code::PatchNotAppliable => {
            "a patch is a list of operations of RFC 6902 that fit what they change; one that does not fit is skipped"
        }
        Code::TimestampNotInteger => "a timestamp is an integer, by convention milliseconds since 1970",
        Code::MessageIsText | Code::MessageWithoutId | Code::UnknownRole => {
            "a message is an object with an id, unique in the thread, and one of seven roles"
        }
        Code::FlatToolCall | Code::ToolCallWithoutType => Rule::FlatToolCall.says(),
        Code::ArgumentsNotText => {
            "arguments are text that holds JSON, so that they can be sent piece by piece"
        }
        Code::InputIncomplete => "`input` of RUN_STARTED is the RunAgentInput, whole",
        Code::ThinkingEvent | Code::ThinkingTitleLost | Code::ThinkingOrphan | Code::ReasoningRole => {
            "REASONING events with ids have replaced THINKING events, which 1.0 reads until 2027-09-17"
        }
        Code::BinaryPart => "parts are text, image, audio, video and document, the last four with a source",
        Code::VersionUndeclared | Code::VersionOther => {
            "a producer of 1.0 declares its version in RUN_STARTED; without one it counts as 0.x"
        }
        Code::Sequence(_) | Code::Chunk(_) => {
            return Cow::Owned(format!("clients verify the sequence of events: {}", code.advice()));
        }
        _ => "a known member that holds what the schema does not allow ends the run; nothing is coerced",
    })
}
