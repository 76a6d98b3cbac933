//! A producer that keeps to the rules.
//!
//! Written from the protocol's description and not from our stages, so that a slip in one of them is noticed.

use super::old::{self, OldWords};
use crate::random::Random;
use serde_json::{Value, json};

/// What is said bit by bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Call,
    Reasoning,
    Span,
}

/// A message, a call or a span. It keeps its owner for the whole stream, so that no tag is ever wrong.
#[derive(Clone, Debug)]
struct Thing {
    kind: Kind,
    id: String,
    owner: Option<String>,
    /// The role of a text, the tool of a call.
    word: &'static str,
    /// The speaker of a text, the message that a call stands in.
    detail: Option<String>,
    /// Whether a start has opened it. What chunks open is in a lane instead.
    open: bool,
    started: bool,
    answered: bool,
}

/// Produces the runs of one thread, and knows what may be said next.
#[derive(Debug)]
pub(super) struct Producer<'r> {
    random: &'r mut Random,
    pub(super) events: Vec<Value>,
    things: Vec<Thing>,
    activities: Vec<(String, Option<String>)>,
    /// What is being assembled from chunks, by owner.
    lanes: Vec<(Option<String>, usize)>,
    steps: Vec<(&'static str, Option<String>)>,
    active: Vec<String>,
    /// All subagents of this run.
    known: Vec<String>,
    /// Calls in the order in which this run started them.
    calls: Vec<usize>,
    ids: usize,
    /// What it says in the words of 0.x, if it does.
    pub(super) old: Option<OldWords>,
}

const WORDS: &[&str] =
    &["", "a", "Hello, ", "wörld", "日本", "😀", "e", "\u{301}", "line\n", "{\"x\":", "1}", "\"\\"];

impl<'r> Producer<'r> {
    pub(super) const fn new(random: &'r mut Random) -> Self {
        Self {
            random,
            events: Vec::new(),
            things: Vec::new(),
            activities: Vec::new(),
            lanes: Vec::new(),
            steps: Vec::new(),
            active: Vec::new(),
            known: Vec::new(),
            calls: Vec::new(),
            ids: 0,
            old: None,
        }
    }

    /// Adds a run.
    pub(super) fn run(&mut self, run: usize) {
        let ids = json!({"threadId": "t", "runId": format!("r{run}")});
        let mut started = ids.clone();
        started["type"] = "RUN_STARTED".into();
        if self.random.chance(30) {
            let mut input = ids.clone();
            input["messages"] = self.messages();
            started["input"] = input;
        }
        self.push(started);
        for _ in 0..self.random.below(40) {
            self.act();
        }
        if self.random.chance(75) {
            self.close_everything();
            let mut finished = ids;
            finished["type"] = "RUN_FINISHED".into();
            if let Some(outcome) = self.outcome() {
                finished["outcome"] = outcome;
            }
            self.push(finished);
        }
        if self.events.last().is_some_and(|last| last["type"] != "RUN_FINISHED") || self.random.chance(10) {
            self.push(json!({"type": "RUN_ERROR", "message": "failed"}));
        }
        self.steps.clear();
        self.active.clear();
        self.known.clear();
        self.calls.clear();
        self.old = self.old.take().map(|_| OldWords::default());
        for thing in &mut self.things {
            (thing.open, thing.started) = (false, false);
        }
    }

    fn act(&mut self) {
        if self.old.is_some() && self.random.chance(25) {
            return self.think();
        }
        match self.random.below(20) {
            0..3 => self.start(),
            3..8 => self.content(),
            8..10 => self.end(),
            10..14 => self.chunk(),
            14 => self.step(),
            15 => self.subagent(),
            16 => self.activity(),
            17 => self.result(),
            18 => self.whole(),
            _ => self.standalone(),
        }
    }

    /// Adds an event, with some of what every event may carry.
    fn push(&mut self, mut event: Value) {
        if self.random.chance(10) {
            event["timestamp"] = (1_726_000_000_000_u64 + self.events.len() as u64).into();
        }
        if self.random.chance(10) {
            event["rawEvent"] = json!({"provider": self.events.len()});
        }
        if self.random.chance(10) {
            event["metadata"] = json!({(*self.random.pick(&["k", "l"])): self.events.len()});
        }
        if self.old.is_some() {
            old::add_nulls(&mut event, self.random);
        }
        let closes = |owner: &Option<String>| match event["type"].as_str().unwrap_or_default() {
            "RUN_STARTED" | "RUN_FINISHED" | "RUN_ERROR" | "MESSAGES_SNAPSHOT" => true,
            "RAW"
            | "ACTIVITY_SNAPSHOT"
            | "ACTIVITY_DELTA"
            | "REASONING_ENCRYPTED_VALUE"
            | "SUBAGENT_STARTED" => false,
            chunk if chunk.ends_with("_CHUNK") => false,
            _ => event["subagentRunId"].as_str() == owner.as_deref(),
        };
        self.lanes.retain(|(owner, _)| !closes(owner));
        self.events.push(event);
    }

    fn new_id(&mut self, prefix: &str) -> String {
        self.ids += 1;
        format!("{prefix}{}", self.ids)
    }

    fn owner(&mut self) -> Option<String> {
        // Tags may name subagents that are never announced.
        match self.random.below(12) {
            0..5 => None,
            5 => Some(String::new()),
            6 => Some("ghost".to_owned()),
            _ if self.active.is_empty() => None,
            _ => Some(self.random.pick(&self.active).clone()),
        }
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.random.below(WORDS.len())]
    }

    fn any_thing(&mut self, wanted: impl Fn(&Self, usize) -> bool) -> Option<usize> {
        let found: Vec<usize> = (0..self.things.len()).filter(|at| wanted(self, *at)).collect();
        if found.is_empty() { None } else { Some(*self.random.pick(&found)) }
    }

    fn in_lane(&self, at: usize) -> bool {
        self.lanes.iter().any(|(_, thing)| *thing == at)
    }

    /// A thing that is closed or new.
    fn thing(&mut self, kinds: &[Kind]) -> usize {
        if self.random.chance(20)
            && let Some(at) = self.any_thing(|all, at| {
                kinds.contains(&all.things[at].kind) && !all.things[at].open && !all.in_lane(at)
            })
        {
            return at;
        }
        let kind = *self.random.pick(kinds);
        let owner = self.owner();
        let (prefix, word, detail) = match kind {
            Kind::Text => {
                let role = *self.random.pick(&["assistant", "assistant", "user", "system", "developer"]);
                ("m", role, self.random.chance(20).then(|| "Ada".to_owned()))
            }
            Kind::Call => {
                let parent = self
                    .any_thing(|all, at| all.things[at].kind == Kind::Text && all.things[at].owner == owner);
                let parent = parent.filter(|_| self.random.chance(60)).map(|at| self.things[at].id.clone());
                ("c", *self.random.pick(&["search", "weather"]), parent)
            }
            Kind::Reasoning | Kind::Span => ("q", "reasoning", None),
        };
        let mut id = self.new_id(prefix);
        // A span and a message in it usually share an id, and then an owner.
        let other = if kind == Kind::Span { Kind::Reasoning } else { Kind::Span };
        let twin = self.any_thing(|all, at| {
            let thing = &all.things[at];
            thing.kind == other && thing.owner == owner && !all.has(kind, &thing.id)
        });
        if let (Kind::Span | Kind::Reasoning, Some(twin)) = (kind, twin) {
            id.clone_from(&self.things[twin].id);
        }
        self.things.push(Thing {
            kind,
            id,
            owner,
            word,
            detail,
            open: false,
            started: false,
            answered: false,
        });
        self.things.len() - 1
    }

    fn has(&self, kind: Kind, id: &str) -> bool {
        self.things.iter().any(|thing| thing.kind == kind && thing.id == id)
    }

    /// An event about a thing: type, id and tag.
    fn about(&mut self, at: usize, event_type: &str, tagged: bool) -> Value {
        let thing = &self.things[at];
        let id = if thing.kind == Kind::Call { "toolCallId" } else { "messageId" };
        let mut event = json!({"type": event_type, id: thing.id});
        if let Some(owner) = &thing.owner
            && (tagged || self.random.chance(70))
        {
            event["subagentRunId"] = owner.as_str().into();
        }
        event
    }

    /// Says what is said when a thing is opened.
    fn opening(&self, at: usize, event: &mut Value) {
        let thing = &self.things[at];
        let (word, detail) = match thing.kind {
            Kind::Text => ("role", "name"),
            Kind::Call => ("toolCallName", "parentMessageId"),
            Kind::Reasoning | Kind::Span => return,
        };
        event[word] = thing.word.into();
        if let Some(value) = &thing.detail {
            event[detail] = value.as_str().into();
        }
    }

    fn mark_started(&mut self, at: usize) {
        let thing = &mut self.things[at];
        if !thing.started {
            (thing.started, thing.answered) = (true, false);
            if thing.kind == Kind::Call {
                self.calls.push(at);
            }
        }
    }

    fn start(&mut self) {
        let at = self.thing(&[Kind::Text, Kind::Text, Kind::Call, Kind::Reasoning, Kind::Span]);
        let event_type = match self.things[at].kind {
            Kind::Text => "TEXT_MESSAGE_START",
            Kind::Call => "TOOL_CALL_START",
            Kind::Reasoning => "REASONING_MESSAGE_START",
            Kind::Span => "REASONING_START",
        };
        let mut event = self.about(at, event_type, true);
        self.opening(at, &mut event);
        if event_type == "REASONING_MESSAGE_START" {
            event["role"] = "reasoning".into();
        }
        self.push(event);
        self.mark_started(at);
        self.things[at].open = true;
    }

    fn content(&mut self) {
        let Some(at) = self.any_thing(|all, at| all.things[at].open && all.things[at].kind != Kind::Span)
        else {
            return;
        };
        let event_type = match self.things[at].kind {
            Kind::Text => "TEXT_MESSAGE_CONTENT",
            Kind::Call => "TOOL_CALL_ARGS",
            Kind::Reasoning | Kind::Span => "REASONING_MESSAGE_CONTENT",
        };
        let mut event = self.about(at, event_type, false);
        event["delta"] = self.word().into();
        self.push(event);
    }

    fn end(&mut self) {
        if let Some(at) = self.any_thing(|all, at| all.things[at].open) {
            self.end_thing(at);
        }
    }

    fn end_thing(&mut self, at: usize) {
        let event_type = match self.things[at].kind {
            Kind::Text => "TEXT_MESSAGE_END",
            Kind::Call => "TOOL_CALL_END",
            Kind::Reasoning => "REASONING_MESSAGE_END",
            Kind::Span => "REASONING_END",
        };
        self.things[at].open = false;
        let event = self.about(at, event_type, false);
        self.push(event);
    }

    fn chunk(&mut self) {
        let continued = if self.lanes.is_empty() || self.random.chance(40) {
            None
        } else {
            Some(self.random.pick(&self.lanes).1)
        };
        let at = continued.unwrap_or_else(|| self.thing(&[Kind::Text, Kind::Call, Kind::Reasoning]));
        let event_type = match self.things[at].kind {
            Kind::Text => "TEXT_MESSAGE_CHUNK",
            Kind::Call => "TOOL_CALL_CHUNK",
            Kind::Reasoning | Kind::Span => "REASONING_MESSAGE_CHUNK",
        };
        let mut event = self.about(at, event_type, continued.is_none());
        if continued.is_none() || self.random.chance(20) {
            self.opening(at, &mut event);
        }
        if continued.is_some() && self.random.chance(50) && self.is_implied(at, &event) {
            let object = event.as_object_mut().expect("made as an object");
            object.retain(|key, _| key != "messageId" && key != "toolCallId");
        }
        if self.random.chance(80) {
            event["delta"] = self.word().into();
        }
        self.push(event);
        if continued.is_none() {
            let owner = self.things[at].owner.clone();
            self.lanes.retain(|(other, _)| *other != owner);
            self.lanes.push((owner, at));
            self.mark_started(at);
        }
    }

    /// Whether a chunk can leave the id out.
    fn is_implied(&self, at: usize, event: &Value) -> bool {
        let kind = self.things[at].kind;
        let same: Vec<_> = self.lanes.iter().filter(|(_, thing)| self.things[*thing].kind == kind).collect();
        event.get("subagentRunId").is_some() || self.things[at].owner.is_none() || same.len() == 1
    }

    fn step(&mut self) {
        if !self.steps.is_empty() && self.random.chance(50) {
            let at = self.random.below(self.steps.len());
            self.end_step(at);
            return;
        }
        let step = (*self.random.pick(&["plan", "tools", "answer"]), self.owner());
        if !self.steps.contains(&step) {
            self.push(tagged(json!({"type": "STEP_STARTED", "stepName": step.0}), step.1.as_deref()));
            self.steps.push(step);
        }
    }

    fn end_step(&mut self, at: usize) {
        let (name, owner) = self.steps.remove(at);
        self.push(tagged(json!({"type": "STEP_FINISHED", "stepName": name}), owner.as_deref()));
    }

    /// The next thing to say of a thought: 0.x has one at a time, without ids.
    fn think(&mut self) {
        let on = self.random.chance(60);
        let words = self.old.as_mut().expect("only a producer of 0.x thinks");
        let mut event = json!({"type": words.next(on)});
        if event["type"] == "THINKING_TEXT_MESSAGE_CONTENT" {
            event["delta"] = self.word().into();
        } else if event["type"] == "THINKING_START" && self.random.chance(30) {
            event["title"] = "Hm".into();
        }
        self.push(event);
    }

    fn subagent(&mut self) {
        if !self.active.is_empty() && self.random.chance(40) {
            let at = self.random.below(self.active.len());
            self.end_subagent(at);
            return;
        }
        // Ids of an earlier run may come again when a suspended subagent goes on.
        let earlier = format!("s{}", self.random.below(self.ids + 1));
        let id =
            if self.known.contains(&earlier) || self.random.chance(70) { self.new_id("s") } else { earlier };
        let mut event = json!({"type": "SUBAGENT_STARTED", "subagentRunId": id, "name": "helper"});
        if !self.known.is_empty() && self.random.chance(40) {
            event["parentSubagentRunId"] = self.random.pick(&self.known).as_str().into();
        }
        self.push(event);
        self.known.push(id.clone());
        self.active.push(id);
    }

    fn end_subagent(&mut self, at: usize) {
        let id = self.active.remove(at);
        let event = match self.random.below(4) {
            0 => json!({"type": "SUBAGENT_ERROR", "subagentRunId": id, "message": "failed"}),
            1 => json!({"type": "SUBAGENT_FINISHED", "subagentRunId": id, "outcome": {"type": "suspended"}}),
            _ => json!({"type": "SUBAGENT_FINISHED", "subagentRunId": id}),
        };
        self.push(event);
    }

    fn activity(&mut self) {
        let known = !self.activities.is_empty() && self.random.chance(60);
        let at = if known {
            self.random.below(self.activities.len())
        } else {
            let activity = (self.new_id("a"), self.owner());
            self.activities.push(activity);
            self.activities.len() - 1
        };
        let (id, owner) = self.activities[at].clone();
        let event = if known && self.random.chance(60) {
            let patch = json!([{"op": "add", "path": "/k", "value": self.word()}]);
            json!({"type": "ACTIVITY_DELTA", "messageId": id, "activityType": "PLAN", "patch": patch})
        } else {
            let content = json!({"text": self.word()});
            let mut event = json!({"type": "ACTIVITY_SNAPSHOT", "messageId": id, "activityType": "PLAN", "content": content});
            if self.random.chance(30) {
                event["replace"] = self.random.chance(50).into();
            }
            event
        };
        self.push(tagged(event, owner.as_deref()));
    }

    fn result(&mut self) {
        let Some(at) = self.any_thing(|all, at| {
            let thing = &all.things[at];
            thing.kind == Kind::Call && thing.started && !thing.open && !thing.answered && !all.in_lane(at)
        }) else {
            return;
        };
        self.things[at].answered = true;
        let message = self.new_id("m");
        let event = json!({"type": "TOOL_CALL_RESULT", "messageId": message, "toolCallId": self.things[at].id,
            "content": self.word()});
        let owner = self.things[at].owner.clone();
        self.push(tagged(event, owner.as_deref()));
    }

    /// State or messages as a whole.
    fn whole(&mut self) {
        let event = match self.random.below(3) {
            0 => json!({"type": "MESSAGES_SNAPSHOT", "messages": self.messages()}),
            1 => json!({"type": "STATE_SNAPSHOT", "snapshot": {"n": self.events.len()}}),
            _ => json!({"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/d", "value": self.word()}]}),
        };
        self.push(event);
    }

    /// Events that change nothing.
    fn standalone(&mut self) {
        let event = match self.random.below(3) {
            0 => json!({"type": "RAW", "event": null}),
            1 => json!({"type": "CUSTOM", "name": "vendor.thing", "value": self.word()}),
            _ => {
                let Some(at) = self.any_thing(|all, at| all.things[at].kind != Kind::Span) else { return };
                let thing = &self.things[at];
                let subtype = if thing.kind == Kind::Call { "tool-call" } else { "message" };
                let event = json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": subtype,
                    "entityId": thing.id, "encryptedValue": "0xff"});
                let owner = thing.owner.clone();
                return self.push(tagged(event, owner.as_deref()));
            }
        };
        let owner = self.owner();
        self.push(tagged(event, owner.as_deref()));
    }

    /// Some of the messages that there are, and one of the user.
    fn messages(&mut self) -> Value {
        let mut messages = vec![json!({"id": "u", "role": "user", "content": "Hello"})];
        for at in 0..self.things.len() {
            if self.random.chance(50) {
                continue;
            }
            let thing = &self.things[at];
            let id = thing.id.as_str();
            let message = match thing.kind {
                Kind::Text => json!({"id": id, "role": thing.word, "content": "text"}),
                Kind::Reasoning => json!({"id": id, "role": "reasoning", "content": "thought"}),
                Kind::Call => json!({"id": format!("m-{id}"), "role": "assistant", "toolCalls": [
                    {"id": id, "type": "function", "function": {"name": thing.word, "arguments": "{}"}}]}),
                Kind::Span => continue,
            };
            messages.push(tagged(message, thing.owner.as_deref()));
        }
        if self.old.is_some() {
            let content = old::parts(self.random);
            messages.push(json!({"id": "files", "role": "user", "content": content}));
        }
        for (id, owner) in &self.activities {
            let message = json!({"id": id, "role": "activity", "activityType": "PLAN", "content": {}});
            messages.push(tagged(message, owner.as_deref()));
        }
        messages.into()
    }

    fn outcome(&mut self) -> Option<Value> {
        let pending: Vec<&str> = self
            .calls
            .iter()
            .map(|at| &self.things[*at])
            .filter(|call| !call.answered)
            .map(|call| &*call.id)
            .collect();
        match self.random.below(6) {
            0 => Some(json!({"type": "success", "pendingToolCallIds": pending})),
            1 => Some(json!({"type": "success"})),
            2 => Some(json!({"type": "interrupt", "interrupts": [
                {"id": "i1", "reason": "confirmation"}, {"id": "i2", "reason": "tool_call", "message": "?"}]})),
            3 => Some(json!({"type": "cancelled"})),
            _ => None,
        }
    }

    fn close_everything(&mut self) {
        while let Some(at) = self.any_thing(|all, at| all.things[at].open) {
            self.end_thing(at);
        }
        while let Some(event_type) = self.old.as_mut().and_then(OldWords::close) {
            self.push(json!({"type": event_type}));
        }
        while !self.steps.is_empty() {
            let at = self.random.below(self.steps.len());
            self.end_step(at);
        }
        while !self.active.is_empty() {
            let at = self.random.below(self.active.len());
            self.end_subagent(at);
        }
    }
}

fn tagged(mut value: Value, owner: Option<&str>) -> Value {
    if let Some(owner) = owner {
        value["subagentRunId"] = owner.into();
    }
    value
}
