//! How events travel.

use super::super::exchange::{Answer, Ending, Exchange, HttpAnswer};
use super::super::finding::{Evidence, Finding};
use super::super::rule::Rule;
use super::super::step::{Sends, Step};
use super::super::survey::{ORIGIN, has_runs};
use super::of;
use std::time::Duration;
use threadline_protocol::codec::Format;

const PROTOBUF: &str = "application/vnd.ag-ui.event+proto";

/// Proxies cut connections that are silent for longer.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// A run that takes less than this has nothing to stream.
const STREAMED_MIN: Duration = Duration::from_millis(1_500);
/// If all events come within this time, at the end, they were held back.
const BURST_MAX: Duration = Duration::from_millis(20);
/// So few events may well come at once.
const STREAMED_EVENTS_MIN: usize = 5;

pub(super) fn judge(exchanges: &[Exchange]) -> Vec<Finding> {
    let mut findings = presence(exchanges);
    for exchange in exchanges.iter().filter(|exchange| exchange.request.step.sends() != Sends::Requests) {
        findings.extend(of_answer(exchange));
        findings.extend(of_stream(exchange));
    }
    findings.extend(of(exchanges, Step::Protobuf).flat_map(protobuf));
    findings.extend(of(exchanges, Step::Preflight).filter_map(preflight));
    findings
}

/// Whether there are runs, and over what.
fn presence(exchanges: &[Exchange]) -> Vec<Finding> {
    let Some(text) = of(exchanges, Step::Text).next() else { return Vec::new() };
    let socket = of(exchanges, Step::Socket).find(|exchange| matches!(exchange.answer, Answer::Socket(_)));
    let mut findings = Vec::new();
    match socket {
        _ if has_runs(exchanges) => {}
        Some(socket) => {
            let message = format!("POST is answered by {}, a WebSocket is there", text.head());
            let mut finding = Finding::new(Rule::WebsocketOnly, message, Evidence::head(text));
            finding.evidence.push(Evidence::of(socket, &format!("{} {}", socket.request.url, socket.head())));
            findings.push(finding);
        }
        None if text.http().is_some_and(HttpAnswer::is_stream) => {
            findings.push(Finding::new(Rule::NoEvents, "the run has no events", Evidence::head(text)));
        }
        None => {
            let message = format!("POST of a RunAgentInput is answered by {}", text.head());
            findings
                .push(Finding::new(Rule::NoRun, message, Evidence::head(text)).with_remedy(instead(text)));
        }
    }
    findings.extend(socket.and_then(run_agent_input));
    findings.extend(exchanges.iter().filter_map(unanswered));
    findings
}

/// What to do about a run that is not there: it may be elsewhere, or for others.
fn instead(text: &Exchange) -> String {
    let answer = text.http();
    let location =
        answer.filter(|answer| (300..400).contains(&answer.status)).and_then(|it| it.header("location"));
    match (location, answer.map(|answer| answer.status)) {
        (Some(location), _) => format!("clients follow no redirects of a POST: use {location}"),
        (None, Some(401 | 403)) => "say who is calling, with --header 'Authorization: ...'".to_owned(),
        _ => Rule::NoRun.remedy().to_owned(),
    }
}

/// A request without an answer. That there is no run, and no WebSocket, is said elsewhere.
fn unanswered(exchange: &Exchange) -> Option<Finding> {
    let Answer::Nothing { why, .. } = &exchange.answer else { return None };
    if matches!(exchange.request.step, Step::Text | Step::Socket) {
        return None;
    }
    let message = format!("a request is not answered: {why}");
    Some(Finding::new(Rule::NoAnswer, message, Evidence::head(exchange)))
}

/// Whether the first thing that was said over a WebSocket, a RunAgentInput, brought anything but an error.
fn run_agent_input(socket: &Exchange) -> Option<Finding> {
    let stream = socket.stream()?;
    // Something else had to be said.
    let until = *stream.said.get(1)?;
    let evidence = match until {
        0 => Evidence::of(socket, "nothing came before something else was said"),
        _ => Evidence::frame(socket, until - 1),
    };
    Some(Finding::new(Rule::NoRunAgentInput, Rule::NoRunAgentInput.summary(), evidence))
}

/// What the head of an answer with events says.
fn of_answer(exchange: &Exchange) -> Vec<Finding> {
    let Some(answer) = exchange.http().filter(|answer| answer.is_stream()) else { return Vec::new() };
    let mut findings = Vec::new();
    let essence = answer.essence();
    let is_known = matches!(essence.as_deref(), Some("text/event-stream" | PROTOBUF));
    if !is_known {
        let message = format!("server-sent events are called {}", essence.as_deref().unwrap_or("nothing"));
        findings.push(Finding::new(Rule::ContentType, message, Evidence::head(exchange)));
    }
    if let Some(encoding) =
        answer.header("content-encoding").filter(|it| !it.eq_ignore_ascii_case("identity"))
    {
        let message = format!("the answer is compressed with {encoding}");
        findings.push(Finding::new(Rule::ContentEncoding, message, Evidence::head(exchange)));
    }
    findings
}

/// How the events came.
fn of_stream(exchange: &Exchange) -> Vec<Finding> {
    let Some(stream) = exchange.stream() else { return Vec::new() };
    let mut findings = Vec::new();
    let last = || Evidence::frame(exchange, stream.frames.len().saturating_sub(1));
    match &stream.ending {
        Ending::Broken(why) => {
            let message = format!("the answer breaks off: {why}");
            findings.push(Finding::new(Rule::BodyCut, message, last()));
        }
        Ending::OpenAfterEnd => {
            let message = "the answer is still open two seconds after its run has ended";
            findings.push(Finding::new(Rule::BodyNotClosed, message, last()));
        }
        Ending::Silent => {
            findings.push(Finding::new(Rule::SilentRun, Rule::SilentRun.summary(), last()));
        }
        Ending::Ended | Ending::TooMuch => {}
    }
    if stream.silence_max >= SILENCE_MAX && stream.format == Some(Format::Sse) {
        let message = format!("nothing came for {} seconds", stream.silence_max.as_secs());
        findings.push(Finding::new(Rule::NoKeepAlive, message, last()));
    }
    if let (Some(first), Some(end)) = (stream.frames.first(), stream.frames.last())
        && stream.frames.len() >= STREAMED_EVENTS_MIN
        && first.at >= STREAMED_MIN
        && end.at.saturating_sub(first.at) <= BURST_MAX
    {
        let message = format!(
            "{} events came within {} ms, after {} ms of nothing",
            stream.frames.len(),
            end.at.saturating_sub(first.at).as_millis(),
            first.at.as_millis()
        );
        findings.push(Finding::new(Rule::NotStreamed, message, Evidence::frame(exchange, 0)));
    }
    findings
}

fn protobuf(exchange: &Exchange) -> Vec<Finding> {
    let Some(answer) = exchange.http() else { return Vec::new() };
    if !(200..300).contains(&answer.status) {
        let message = format!("a client that prefers protobuf is answered by {}", exchange.head());
        return vec![Finding::new(Rule::ProtobufRefused, message, Evidence::head(exchange))];
    }
    if answer.essence().as_deref() != Some(PROTOBUF) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    if answer.header("content-type") != Some(PROTOBUF) {
        let message = format!("the content type is {}", answer.header("content-type").unwrap_or_default());
        findings.push(Finding::new(Rule::ContentTypeParameters, message, Evidence::head(exchange)));
    }
    let is_readable = answer.body.events().next().is_some();
    if !is_readable {
        let message = "no frame of the answer is an event in protobuf";
        findings.push(Finding::new(Rule::ProtobufMislabelled, message, Evidence::frame(exchange, 0)));
    }
    findings
}

fn preflight(exchange: &Exchange) -> Option<Finding> {
    let answer = exchange.http()?;
    if answer.status >= 500 {
        let message = "OPTIONS is answered by a server error";
        return Some(Finding::new(Rule::PreflightFails, message, Evidence::head(exchange)));
    }
    // Who lets no page of others in is on the safe side.
    let origin = answer.header("access-control-allow-origin").filter(|it| matches!(*it, "*" | ORIGIN))?;
    let allows = |header: &str, wanted: &str| {
        let listed = answer.header(header).unwrap_or_default();
        listed.split(',').map(str::trim).any(|it| it == "*" || it.eq_ignore_ascii_case(wanted))
    };
    let shown = || {
        let headers = answer.headers.iter().filter(|(name, _)| name.starts_with("access-control-"));
        let lines: Vec<String> = headers.map(|(name, value)| format!("{name}: {value}")).collect();
        Evidence::of(exchange, &lines.join(", "))
    };
    // POST is always allowed once the origin is; a header never is.
    if !allows("access-control-allow-headers", "content-type") {
        let message = format!("the origin {origin} may call, but not with content-type: application/json");
        return Some(Finding::new(Rule::CorsIncomplete, message, shown()));
    }
    if answer.header("access-control-allow-credentials") == Some("true") {
        let message = format!("a page of {ORIGIN}, which nobody has, may call with credentials");
        return Some(Finding::new(Rule::CorsAnyWithCredentials, message, shown()));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::super::exchange::{Frame, Request, Sent, Stream};
    use super::*;

    /// A run whose frames came at these times, in milliseconds.
    fn run(times: &[u64], change: impl FnOnce(&mut HttpAnswer)) -> Vec<&'static str> {
        let frame = |ms: &u64| Frame { json: Ok("{}".to_owned()), at: Duration::from_millis(*ms) };
        let body = Stream {
            frames: times.iter().map(frame).collect(),
            format: Some(Format::Sse),
            ..Stream::default()
        };
        let headers = vec![("content-type".to_owned(), "text/event-stream; charset=utf-8".to_owned())];
        let mut answer = HttpAnswer { status: 200, headers, body };
        change(&mut answer);
        let sent = Sent::Http { method: "POST", headers: Vec::new(), body: String::new() };
        let (name, url) = ("text".to_owned(), "http://localhost/".to_owned());
        let request = Request { step: Step::Text, name, url, sent, input: None };
        let found = judge(&[Exchange { request, answer: Answer::Http(answer) }]);
        found.iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn what_is_held_back_is_told_from_what_is_quick_or_slow() {
        assert_eq!(run(&[2_000, 2_001, 2_002, 2_003, 2_010], |_| {}), ["not_streamed"]);
        assert_eq!(run(&[100, 101, 102, 103, 104], |_| {}), [""; 0]);
        assert_eq!(run(&[2_000, 2_001, 2_002, 2_003, 2_200], |_| {}), [""; 0]);
        assert_eq!(run(&[2_000, 2_001, 2_002], |_| {}), [""; 0]);
    }

    #[test]
    fn how_a_stream_is_and_ends() {
        let ends = |ending: Ending| run(&[1], |answer| answer.body.ending = ending);
        assert_eq!(ends(Ending::OpenAfterEnd), ["body_not_closed"]);
        assert_eq!(ends(Ending::Silent), ["silent_run"]);
        assert_eq!(ends(Ending::Broken("x".to_owned())), ["body_cut"]);
        assert_eq!(ends(Ending::Ended), [""; 0]);
        assert_eq!(run(&[1], |answer| answer.body.silence_max = SILENCE_MAX), ["no_keep_alive"]);
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let compressed = run(&[1], |answer| answer.headers.push(header("content-encoding", "br")));
        assert_eq!(compressed, ["content_encoding"]);
        let plain = run(&[1], |answer| answer.headers.push(header("content-encoding", "identity")));
        assert_eq!(plain, [""; 0]);
    }
}
