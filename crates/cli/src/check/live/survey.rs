//! What to ask next, given what was observed so far. It sends nothing itself.

use super::exchange::{Answer, Exchange, Request, Sent, fails_run};
use super::input::{self, FAMILIES, HELLO, Ids, Role};
use super::plan::Plan;
use super::step::Step;
use crate::address::Address;
use serde_json::{Value, json};
use threadline_protocol::stages::consumer::Consumer;
use threadline_protocol::stages::fold::Fold;
use threadline_protocol::{RunAgentInput, Text};

const SSE: &str = "text/event-stream";
const PROTOBUF_PREFERRED: &str = "application/vnd.ag-ui.event+proto, text/event-stream;q=0.9";

/// The page that asks whether it may call. Nobody has a page there.
pub(crate) const ORIGIN: &str = "https://threadline-check.invalid";

/// An endpoint that is looked at.
#[derive(Clone, Debug)]
pub(crate) struct Survey<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) address: &'a Address,
    /// What makes ids different from those of every other check.
    pub(crate) nonce: &'a str,
}

impl Survey<'_> {
    /// What to ask next, if there is anything left to ask.
    pub(crate) fn next(&self, seen: &[Exchange]) -> Option<Request> {
        // One that is gone need not be asked any more.
        if let Some(Answer::Nothing { is_unreachable: true, .. }) = seen.last().map(|last| &last.answer) {
            return None;
        }
        let last = seen.last().map_or(Step::ALL[0], |exchange| exchange.request.step);
        let steps = Step::ALL.into_iter().skip_while(|step| *step < last);
        steps.into_iter().find_map(|step| {
            let nth = seen.iter().filter(|exchange| exchange.request.step == step).count();
            self.of_step(step, nth, seen)
        })
    }

    /// What a step asks for the `nth` time, from 0, if it asks at all.
    fn of_step(&self, step: Step, nth: usize, seen: &[Exchange]) -> Option<Request> {
        if nth >= self.plan.requests_max(step) {
            return None;
        }
        let needs_runs =
            !matches!(step, Step::Visit | Step::Capabilities | Step::Preflight | Step::Text | Step::Socket);
        if needs_runs && !has_runs(seen) {
            return None;
        }
        match step {
            Step::Visit => Some(self.get(step, self.address.http(), "text/html, */*;q=0.8")),
            Step::Capabilities => self.capabilities(nth, seen),
            Step::Preflight => Some(self.preflight()),
            Step::Text => Some(self.said(step, step.name(), HELLO)),
            Step::Protobuf => {
                let input = input::saying(&self.ids(step.name()), HELLO);
                Some(self.run(step, step.name(), input, PROTOBUF_PREFERRED))
            }
            Step::NotJson => {
                let body = "{\"threadId\": ".to_owned();
                Some(self.post(step, step.name(), body, None, SSE))
            }
            Step::Incomplete => Some(self.of(step, input::incomplete)),
            Step::WrongValue => Some(self.of(step, input::wrong_value)),
            Step::UnknownMembers => Some(self.of(step, input::unknown_members)),
            Step::Roles => Some(self.of(step, |ids| input::roles(ids, &Role::SENT))),
            Step::EachRole => self.each_role(nth, seen),
            Step::Tools => Some(self.of(step, input::tools)),
            Step::ToolResult => self.tool_result(seen),
            Step::Multimodal => Some(self.of(step, input::multimodal)),
            Step::Legacy => Some(self.of(step, input::legacy)),
            Step::Resume => Some(self.of(step, input::unasked)),
            Step::Families => FAMILIES.get(nth).map(|(name, text)| self.said(step, name, text)),
            Step::Say => {
                let text = self.plan.say.get(nth)?;
                Some(self.said(step, &format!("say-{}", nth + 1), text))
            }
            Step::Answer => self.answer(seen),
            Step::Socket => self.socket(nth, seen),
        }
    }

    fn ids(&self, name: &str) -> Ids {
        Ids::new(self.nonce, name)
    }

    fn get(&self, step: Step, url: String, accept: &'static str) -> Request {
        let sent = Sent::Http { method: "GET", headers: vec![("accept", accept)], body: String::new() };
        Request { step, name: step.name().to_owned(), url, sent, input: None }
    }

    fn capabilities(&self, nth: usize, seen: &[Exchange]) -> Option<Request> {
        let url = match nth {
            0 => self.address.below("capabilities"),
            _ => {
                let before = seen.iter().find(|exchange| exchange.request.step == Step::Capabilities);
                before.filter(|exchange| exchange.is_refused())?;
                self.address.at_root("capabilities")?
            }
        };
        Some(self.get(Step::Capabilities, url, "application/json"))
    }

    fn preflight(&self) -> Request {
        let headers = vec![
            ("origin", ORIGIN),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "content-type"),
        ];
        let sent = Sent::Http { method: "OPTIONS", headers, body: String::new() };
        let step = Step::Preflight;
        Request { step, name: step.name().to_owned(), url: self.address.http(), sent, input: None }
    }

    fn of(&self, step: Step, input: impl FnOnce(&Ids) -> Value) -> Request {
        self.run(step, step.name(), input(&self.ids(step.name())), SSE)
    }

    fn said(&self, step: Step, name: &str, text: &str) -> Request {
        self.run(step, name, input::saying(&self.ids(name), text), SSE)
    }

    fn run(&self, step: Step, name: &str, input: Value, accept: &'static str) -> Request {
        self.post(step, name, input.to_string(), Some(input), accept)
    }

    fn post(
        &self,
        step: Step,
        name: &str,
        body: String,
        input: Option<Value>,
        accept: &'static str,
    ) -> Request {
        let headers = vec![("content-type", "application/json"), ("accept", accept)];
        let sent = Sent::Http { method: "POST", headers, body };
        Request { step, name: name.to_owned(), url: self.address.http(), sent, input }
    }

    /// Roles one by one, if all together were not taken.
    fn each_role(&self, nth: usize, seen: &[Exchange]) -> Option<Request> {
        let together = seen.iter().find(|exchange| exchange.request.step == Step::Roles)?;
        if is_taken(together) {
            return None;
        }
        let role = *Role::SENT.get(nth)?;
        let name = format!("role-{}", role.name());
        let input = input::roles(&self.ids(&name), &[role]);
        Some(self.run(Step::EachRole, &name, input, SSE))
    }

    fn tool_result(&self, seen: &[Exchange]) -> Option<Request> {
        let called = seen.iter().find(|exchange| exchange.request.step == Step::Tools)?;
        let before = called.request.input.as_ref()?;
        let held = held(called)?;
        let calls: Vec<String> = held.pending_tool_calls().iter().map(Text::to_string).collect();
        if calls.is_empty() {
            return None;
        }
        let ids = self.ids(Step::Tools.name()).next("result");
        let input = input::tool_results(before, &ids, messages(&held), &calls);
        Some(self.run(Step::ToolResult, Step::ToolResult.name(), input, SSE))
    }

    /// Declines to answer what a run asked. Nothing is ever approved.
    fn answer(&self, seen: &[Exchange]) -> Option<Request> {
        let (asked, held) = seen.iter().find_map(|exchange| {
            let held = held(exchange)?;
            (!held.interrupts().is_empty()).then_some((exchange, held))
        })?;
        let before = asked.request.input.as_ref()?;
        let interrupts: Vec<String> = held.interrupts().iter().map(|it| it.id.to_string()).collect();
        let ids = self.ids(&asked.request.name).next("answer");
        let input = input::declining(before, &ids, &messages(&held), &interrupts);
        Some(self.run(Step::Answer, Step::Answer.name(), input, SSE))
    }

    /// What is said over a WebSocket: the input of a run, and if nobody understands that, what servers with words of their own
    /// are known to listen to.
    fn socket(&self, nth: usize, seen: &[Exchange]) -> Option<Request> {
        if has_runs(seen) {
            return None;
        }
        let before = seen.iter().filter(|exchange| exchange.request.step == Step::Socket);
        if before.into_iter().any(|exchange| exchange.stream().is_some()) {
            return None;
        }
        let ids = self.ids(Step::Socket.name());
        let input = input::saying(&ids, HELLO);
        let messages = vec![
            input.to_string(),
            json!({"type": "connect", "sessionId": ids.thread}).to_string(),
            json!({"type": "userMessage", "sessionId": ids.thread, "messageId": "m-user", "content": HELLO})
                .to_string(),
        ];
        let url = self.address.sockets().into_iter().nth(nth)?;
        let sent = Sent::Socket { messages };
        let step = Step::Socket;
        Some(Request { step, name: step.name().to_owned(), url, sent, input: Some(input) })
    }
}

/// Whether runs can be had over HTTP.
pub(crate) fn has_runs(seen: &[Exchange]) -> bool {
    let text = seen.iter().find(|exchange| exchange.request.step == Step::Text);
    text.and_then(|exchange| exchange.http())
        .is_some_and(|answer| answer.is_stream() && !answer.body.frames.is_empty())
}

/// Whether a run was begun and did not fail.
pub(crate) fn is_taken(exchange: &Exchange) -> bool {
    let Some(stream) = exchange.stream() else { return false };
    !stream.frames.is_empty() && !stream.events().any(|(_, json)| fails_run(json))
}

/// What a client holds after a run.
pub(crate) fn held(exchange: &Exchange) -> Option<Fold> {
    let input = exchange.request.input.as_ref()?.to_string();
    let (input, _) = RunAgentInput::read_json(&input).ok()?;
    let mut consumer = Consumer::new(Fold::from_input(&input));
    for (_, json) in exchange.stream()?.events() {
        // What a client cannot take, others are told about.
        consumer.push(json, |_| {}).ok()?;
    }
    Some(consumer.fold().clone())
}

/// The messages that go back to the agent. Activities do not.
fn messages(held: &Fold) -> Vec<Value> {
    let messages = held.messages().filter_map(|message| serde_json::from_str(&message.to_json()).ok());
    messages.filter(|message: &Value| message["role"] != "activity").collect()
}

#[cfg(test)]
mod tests {
    use super::super::exchange::{Frame, HttpAnswer, Stream};
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;
    use threadline_protocol::codec::Format;

    /// An answer with these events.
    fn stream(events: &[&str]) -> Answer {
        let frames = events.iter().map(|json| Frame { json: Ok((*json).to_owned()), at: Duration::ZERO });
        let body = Stream { frames: frames.collect(), format: Some(Format::Sse), ..Stream::default() };
        Answer::Http(HttpAnswer { status: 200, headers: Vec::new(), body })
    }

    /// Whatever may come back.
    fn answers() -> impl Strategy<Value = Answer> {
        let refusal = HttpAnswer { status: 404, headers: Vec::new(), body: Stream::default() };
        prop_oneof![
            5 => Just(Answer::Nothing { why: "nothing".to_owned(), is_unreachable: false }),
            1 => Just(Answer::Nothing { why: "gone".to_owned(), is_unreachable: true }),
            5 => Just(Answer::Http(refusal)),
            5 => Just(stream(&[
                r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
                r#"{"type":"RUN_ERROR","message":"m"}"#
            ])),
            5 => Just(stream(&[
                r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
                r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"n"}"#,
                r#"{"type":"TOOL_CALL_END","toolCallId":"c"}"#,
                r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"r"}]}}"#,
            ])),
            5 => Just(Answer::Socket(Stream::default())),
        ]
    }

    proptest! {
        /// Whatever comes back, no more is sent than was announced, and nothing to anybody else.
        #[test]
        fn no_more_is_asked_than_was_announced(
            answers in prop::collection::vec(answers(), 64),
            say in prop::collection::vec("[a-z]{0,4}", 0..3),
            is_socket in any::<bool>(),
        ) {
            let scheme = if is_socket { "ws" } else { "http" };
            let url = format!("{scheme}://127.0.0.1:1/agent");
            let (plan, address) = (Plan { url: url.clone(), say }, Address::parse(&url).expect("a url"));
            let survey = Survey { plan: &plan, address: &address, nonce: "n" };
            let mut seen: Vec<Exchange> = Vec::new();
            let mut answers = answers.into_iter();
            while let Some(request) = survey.next(&seen) {
                prop_assert!(request.url.split_once("://").is_some_and(|(_, rest)| rest.starts_with("127.0.0.1:1/")));
                let answer = answers.next().expect("fewer requests than answers");
                seen.push(Exchange { request, answer });
            }
            prop_assert!(seen.len() <= plan.total_max());
            let gone = |exchange: &Exchange| matches!(exchange.answer, Answer::Nothing { is_unreachable: true, .. });
            prop_assert!(seen.iter().rev().skip(1).all(|exchange| !gone(exchange)), "nobody is asked who is gone");
            for step in Step::ALL {
                let asked = seen.iter().filter(|exchange| exchange.request.step == step).count();
                prop_assert!(asked <= plan.requests_max(step), "{:?}", step);
            }
        }
    }
}
