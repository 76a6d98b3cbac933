//! The inputs of runs that an endpoint is asked for.

use serde_json::{Value, json};

/// A run's ids, and what is said in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ids {
    pub(crate) thread: String,
    pub(crate) run: String,
}

impl Ids {
    /// Ids that nobody else has, as long as nobody else has the nonce.
    pub(crate) fn new(nonce: &str, name: &str) -> Self {
        let thread = format!("threadline-check-{nonce}-{name}");
        Self { run: format!("{thread}-run"), thread }
    }

    /// Another run of the same thread.
    pub(crate) fn next(&self, name: &str) -> Self {
        Self { thread: self.thread.clone(), run: format!("{}-{name}", self.thread) }
    }
}

/// What brings a family of events forth, where an agent has it: a name, and words for a model. The words that the demo agent
/// listens to are among them.
pub(crate) const FAMILIES: [(&str, &str); 6] = [
    ("reasoning", "Think it through before you answer: what is 17 times 23?"),
    ("state", "Change the shared state, if there is one, and say what you have changed."),
    ("activity", "Show an activity, such as your plan, while you work on it."),
    ("steps", "Do this in steps: read the question, weigh it, answer it."),
    ("subagents", TEAM),
    ("interrupts", "Write one sentence as a letter to nobody. Let me approve it before you go on."),
];

/// What clients of 0.x know nothing of, if the agent has any.
const TEAM: &str = "Let a team of subagents, if you have one, look up how many pages Moby-Dick has.";

/// What every other run says.
pub(crate) const HELLO: &str = "Say hello in one short sentence.";

/// The tool that is offered.
pub(crate) const TOOL: &str = "threadline_probe";

/// What the tool answers.
const TOOL_ANSWER: &str = "{\"answer\":\"pong\"}";

/// The name of members that AG-UI does not have.
pub(crate) const UNKNOWN_MEMBER: &str = "threadlineProbe";

/// A picture of one pixel.
const PIXEL_PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/// `hello`, as data.
const HELLO_BASE64: &str = "aGVsbG8=";

/// A role of messages that are sent to agents. Activities never are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Role {
    Developer,
    System,
    Tool,
    Reasoning,
}

impl Role {
    /// Those beside user and assistant, which every run has.
    pub(crate) const SENT: [Self; 4] = [Self::Developer, Self::System, Self::Tool, Self::Reasoning];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Developer => "developer",
            Self::System => "system",
            Self::Tool => "tool",
            Self::Reasoning => "reasoning",
        }
    }

    /// What such a message needs before it, and the message.
    fn messages(self) -> Vec<Value> {
        match self {
            Self::Developer => vec![json!({"id": "m-dev", "role": "developer", "content": "Be brief."})],
            Self::System => vec![json!({"id": "m-sys", "role": "system", "content": "You are polite."})],
            Self::Reasoning => {
                vec![json!({"id": "m-think", "role": "reasoning", "content": "They want to be greeted."})]
            }
            Self::Tool => vec![
                json!({"id": "m-call", "role": "assistant", "toolCalls": [{
                    "id": "call-1", "type": "function", "function": {"name": TOOL, "arguments": "{}"},
                }]}),
                json!({"id": "m-tool", "role": "tool", "toolCallId": "call-1", "content": TOOL_ANSWER}),
            ],
        }
    }
}

fn user(content: impl Into<Value>) -> Value {
    json!({"id": "m-user", "role": "user", "content": content.into()})
}

fn of(ids: &Ids, messages: impl Into<Vec<Value>>) -> Value {
    json!({
        "threadId": ids.thread, "runId": ids.run, "protocolVersion": "1.0", "state": {},
        "messages": messages.into(), "tools": [], "context": [], "forwardedProps": {},
    })
}

/// A run in which the user says something.
pub(crate) fn saying(ids: &Ids, text: &str) -> Value {
    of(ids, [user(text)])
}

/// The same from a client of 0.x, which should not see what it asks for.
pub(crate) fn legacy(ids: &Ids) -> Value {
    without(saying(ids, TEAM), &["protocolVersion"])
}

pub(crate) fn incomplete(ids: &Ids) -> Value {
    without(saying(ids, HELLO), &["threadId", "runId", "messages"])
}

pub(crate) fn wrong_value(ids: &Ids) -> Value {
    let mut input = saying(ids, HELLO);
    input["messages"] = json!(5);
    input
}

pub(crate) fn unknown_members(ids: &Ids) -> Value {
    let mut input = saying(ids, HELLO);
    input[UNKNOWN_MEMBER] = json!({"a": [1]});
    input["messages"][0][UNKNOWN_MEMBER] = json!("unknown");
    input["context"] = json!([{"description": "what this is", "value": "a check", UNKNOWN_MEMBER: null}]);
    input
}

/// A history with these roles, and then the user.
pub(crate) fn roles(ids: &Ids, roles: &[Role]) -> Value {
    let mut messages = Vec::new();
    for role in roles {
        // A result and a thought answer something.
        if matches!(role, Role::Tool | Role::Reasoning)
            && !messages.iter().any(|it: &Value| it["role"] == "user")
        {
            messages.push(json!({"id": "m-first", "role": "user", "content": "Hello."}));
        }
        messages.extend(role.messages());
    }
    messages.push(json!({"id": "m-said", "role": "assistant", "content": "Hello."}));
    messages.push(json!({"id": "m-user", "role": "user", "content": HELLO}));
    of(ids, messages)
}

pub(crate) fn tools(ids: &Ids) -> Value {
    let text = format!("Please ask the tool {TOOL} with the question ping, and say what it answers.");
    let mut input = saying(ids, &text);
    input["tools"] = json!([{
        "name": TOOL,
        "description": "Answers a question. Call it when you are asked to.",
        "parameters": {
            "type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"],
        },
    }]);
    input
}

/// The run after `before`, which holds `messages` now and waits for the results of these calls.
pub(crate) fn tool_results(before: &Value, ids: &Ids, messages: Vec<Value>, calls: &[String]) -> Value {
    let mut input = before.clone();
    input["runId"] = json!(ids.run);
    let mut messages = messages;
    for call in calls {
        messages.push(json!({
            "id": format!("m-result-{call}"), "role": "tool", "toolCallId": call, "content": TOOL_ANSWER,
        }));
    }
    input["messages"] = json!(messages);
    input
}

/// The run after `before` that declines to answer these interrupts.
pub(crate) fn declining(before: &Value, ids: &Ids, messages: &[Value], interrupts: &[String]) -> Value {
    let mut input = before.clone();
    input["runId"] = json!(ids.run);
    input["messages"] = json!(messages);
    let entries = interrupts.iter().map(|id| json!({"interruptId": id, "status": "cancelled"}));
    input["resume"] = entries.collect();
    input
}

pub(crate) fn multimodal(ids: &Ids) -> Value {
    let source = |value: &str, mime: &str| json!({"type": "data", "value": value, "mimeType": mime});
    let parts = json!([
        {"type": "text", "text": HELLO},
        {"type": "image", "source": source(PIXEL_PNG, "image/png")},
        {"type": "document", "source": source(HELLO_BASE64, "text/plain")},
    ]);
    of(ids, [user(parts)])
}

/// A run that answers what nobody asked.
pub(crate) fn unasked(ids: &Ids) -> Value {
    let mut input = saying(ids, HELLO);
    input["resume"] = json!([{"interruptId": "threadline-check-unasked", "status": "cancelled"}]);
    input
}

fn without(mut input: Value, members: &[&str]) -> Value {
    if let Some(object) = input.as_object_mut() {
        object.retain(|name, _| !members.contains(&name.as_str()));
    }
    input
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadline_protocol::RunAgentInput;

    fn departures(input: &Value) -> Vec<String> {
        let text = input.to_string();
        let (_, departures) = RunAgentInput::read_json(&text).expect("an input");
        departures.into_iter().map(|departure| departure.pointer).collect()
    }

    #[test]
    fn inputs_are_those_of_the_protocol() {
        let ids = Ids::new("n", "x");
        let next = ids.next("y");
        assert_eq!((ids.thread == next.thread, ids.run == next.run), (true, false));
        let before = tools(&ids);
        for input in [
            saying(&ids, HELLO),
            legacy(&ids),
            roles(&ids, &Role::SENT),
            roles(&ids, &[Role::Tool]),
            tool_results(&before, &next, vec![user("x")], &["c".to_owned()]),
            declining(&before, &next, &[user("x")], &["i".to_owned()]),
            multimodal(&ids),
            unasked(&ids),
            before,
        ] {
            assert_eq!(departures(&input), [""; 0], "{input}");
        }
    }

    #[test]
    fn what_must_be_refused_cannot_be_read_and_what_is_unknown_can() {
        let ids = Ids::new("n", "x");
        for input in [incomplete(&ids), wrong_value(&ids)] {
            assert!(RunAgentInput::read_json(&input.to_string()).is_err(), "{input}");
        }
        let mut unknown = departures(&unknown_members(&ids));
        unknown.sort();
        assert_eq!(
            unknown,
            ["/context/0/threadlineProbe", "/messages/0/threadlineProbe", "/threadlineProbe"]
        );
    }
}
