//! What of the protocol a stream uses.

use super::family::Family;
use super::tree_path::is_within;
use super::types::THINKING;
use crate::content::{Content, ContentPart, Source};
use crate::event::{Event, EventType, TextRole};
use crate::message::{Message, ToolCall};
use crate::run::{RunAgentInput, RunOutcome};

/// What of the protocol a stream uses, and how well.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Coverage {
    /// The 31 events of 1.0, by family.
    pub event_types: Vec<Usage>,
    /// The events of 0.x that 1.0 no longer has.
    pub thinking_types: Vec<Usage>,
    /// The roles of messages, written as such or implied by events.
    pub roles: Vec<Usage>,
    /// The structures inside of events.
    pub structures: Vec<Usage>,
}

/// How often something of the protocol is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// What.
    pub name: &'static str,
    /// The family of an event.
    pub family: Option<Family>,
    /// How often.
    pub used: u64,
    /// How often with an error or a warning.
    pub deviating: u64,
}

impl Usage {
    /// Whether it is used, and never with an error or a warning.
    #[must_use]
    pub const fn is_correct(&self) -> bool {
        self.used > 0 && self.deviating == 0
    }
}

const ROLES: [&str; 7] = ["developer", "system", "assistant", "user", "tool", "activity", "reasoning"];

macro_rules! structures {
    ($( $structure:ident = $name:literal, )*) => {
        #[derive(Clone, Copy, Debug)]
        enum Structure {
            $( $structure, )*
        }

        const STRUCTURES: &[&str] = &[$( $name, )*];
    };
}

structures! {
    Input = "RunAgentInput",
    Tool = "tool definitions",
    Context = "context entries",
    Resume = "resume entries",
    ToolCall = "tool calls in messages",
    TextPart = "text parts",
    ImagePart = "image parts",
    AudioPart = "audio parts",
    VideoPart = "video parts",
    DocumentPart = "document parts",
    DataSource = "data sources",
    UrlSource = "url sources",
    FileSource = "file sources",
    Patch = "JSON patches",
    Outcome = "outcomes",
    Interrupt = "interrupts",
    TokenUsage = "token usage",
    Metadata = "metadata",
    Attribution = "subagent attribution",
}

impl Coverage {
    pub(super) fn new() -> Self {
        let usage = |name, family| Usage { name, family, used: 0, deviating: 0 };
        let mut event_types: Vec<Usage> =
            EventType::ALL.iter().map(|event| usage(event.as_str(), Some(Family::of(*event)))).collect();
        event_types.sort_by_key(|usage| usage.family);
        Self {
            event_types,
            thinking_types: THINKING.iter().map(|&(name, _)| usage(name, Some(Family::Reasoning))).collect(),
            roles: ROLES.iter().map(|name| usage(name, None)).collect(),
            structures: STRUCTURES.iter().map(|name| usage(name, None)).collect(),
        }
    }

    /// Counts an event of a type.
    pub(super) fn count_type(&mut self, name: &str, deviates: bool) {
        let types = self.event_types.iter_mut().chain(&mut self.thinking_types);
        if let Some(usage) = types.into_iter().find(|usage| usage.name == name) {
            usage.count(deviates);
        }
    }

    /// Counts what is in an event. `wrong` are the places where something is.
    pub(super) fn count_inside(&mut self, event: &Event<'_>, wrong: &[String]) {
        Counter { coverage: self, wrong }.event(event);
    }
}

impl Usage {
    const fn count(&mut self, deviates: bool) {
        self.used += 1;
        if deviates {
            self.deviating += 1;
        }
    }
}

struct Counter<'c> {
    coverage: &'c mut Coverage,
    wrong: &'c [String],
}

impl Counter<'_> {
    /// Pointers are only needed if something is wrong, which is rare.
    fn deviates(&self, at: impl FnOnce() -> String) -> bool {
        if self.wrong.is_empty() {
            return false;
        }
        let at = at();
        self.wrong.iter().any(|path| is_within(path, &at))
    }

    fn structure(&mut self, structure: Structure, at: impl FnOnce() -> String) {
        let deviates = self.deviates(at);
        if let Some(usage) = self.coverage.structures.get_mut(structure as usize) {
            usage.count(deviates);
        }
    }

    fn role(&mut self, name: &str, at: impl FnOnce() -> String) {
        let deviates = self.deviates(at);
        if let Some(usage) = self.coverage.roles.iter_mut().find(|usage| usage.name == name) {
            usage.count(deviates);
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        let role_at = || "/role".to_owned();
        if event.metadata().is_some() {
            self.structure(Structure::Metadata, || "/metadata".to_owned());
        }
        if is_attributed(event) {
            self.structure(Structure::Attribution, || "/subagentRunId".to_owned());
        }
        match event {
            Event::TextMessageStart(start) => self.text_role(start.role.as_ref()),
            Event::TextMessageChunk(chunk) if chunk.role.is_some() => self.text_role(chunk.role.as_ref()),
            Event::ToolCallResult(result) => {
                self.role("tool", role_at);
                self.content(&result.content, "");
            }
            Event::ReasoningMessageStart(_) => self.role("reasoning", role_at),
            Event::ActivitySnapshot(_) => self.role("activity", String::new),
            Event::ActivityDelta(_) => self.structure(Structure::Patch, || "/patch".to_owned()),
            Event::StateDelta(_) => self.structure(Structure::Patch, || "/delta".to_owned()),
            Event::MessagesSnapshot(snapshot) => self.messages(&snapshot.messages, ""),
            Event::RunStarted(started) => {
                if let Some(input) = &started.input {
                    self.input(input);
                }
            }
            Event::RunFinished(finished) => {
                if let Some(outcome) = &finished.outcome {
                    self.outcome(outcome);
                }
                self.token_usage(finished.usage.as_ref().map_or(0, Vec::len));
            }
            Event::RunError(error) => self.token_usage(error.usage.as_ref().map_or(0, Vec::len)),
            Event::SubagentFinished(finished) if finished.outcome.is_some() => {
                self.structure(Structure::Outcome, || "/outcome".to_owned());
            }
            _ => {}
        }
    }

    fn text_role(&mut self, role: Option<&TextRole<'_>>) {
        let name = match role {
            Some(TextRole::Developer) => "developer",
            Some(TextRole::System) => "system",
            Some(TextRole::User) => "user",
            Some(TextRole::Assistant) | None => "assistant",
            Some(_) => return,
        };
        self.role(name, || "/role".to_owned());
    }

    fn outcome(&mut self, outcome: &RunOutcome<'_>) {
        self.structure(Structure::Outcome, || "/outcome".to_owned());
        if let RunOutcome::Interrupt(interrupt) = outcome {
            for index in 0..interrupt.interrupts.as_slice().len() {
                self.structure(Structure::Interrupt, || format!("/outcome/interrupts/{index}"));
            }
        }
    }

    fn token_usage(&mut self, len: usize) {
        for index in 0..len {
            self.structure(Structure::TokenUsage, || format!("/usage/{index}"));
        }
    }

    fn input(&mut self, input: &RunAgentInput<'_>) {
        self.structure(Structure::Input, || "/input".to_owned());
        let lists = [
            (Structure::Tool, "tools", input.tools.as_ref().map_or(0, Vec::len)),
            (Structure::Context, "context", input.context.as_ref().map_or(0, Vec::len)),
            (Structure::Resume, "resume", input.resume.as_ref().map_or(0, Vec::len)),
        ];
        for (structure, name, len) in lists {
            for index in 0..len {
                self.structure(structure, || format!("/input/{name}/{index}"));
            }
        }
        self.messages(&input.messages, "/input");
    }

    fn messages(&mut self, messages: &[Message<'_>], at: &str) {
        for (index, message) in messages.iter().enumerate() {
            let path = || format!("{at}/messages/{index}");
            let (role, metadata) = match message {
                Message::Developer(message) => ("developer", &message.metadata),
                Message::System(message) => ("system", &message.metadata),
                Message::Assistant(message) => {
                    self.tool_calls(message.tool_calls.as_deref().unwrap_or_default(), &path);
                    ("assistant", &message.metadata)
                }
                Message::User(message) => {
                    self.content(&message.content, &path());
                    ("user", &message.metadata)
                }
                Message::Tool(message) => {
                    self.content(&message.content, &path());
                    ("tool", &message.metadata)
                }
                Message::Activity(message) => ("activity", &message.metadata),
                Message::Reasoning(message) => ("reasoning", &message.metadata),
                Message::Unknown(_) => continue,
            };
            if metadata.is_some() {
                self.structure(Structure::Metadata, || path() + "/metadata");
            }
            self.role(role, path);
        }
    }

    fn tool_calls(&mut self, calls: &[ToolCall<'_>], message: &impl Fn() -> String) {
        for index in 0..calls.len() {
            self.structure(Structure::ToolCall, || format!("{}/toolCalls/{index}", message()));
        }
    }

    fn content(&mut self, content: &Content<'_>, at: &str) {
        let Content::Parts(parts) = content else { return };
        for (index, part) in parts.iter().enumerate() {
            let path = || format!("{at}/content/{index}");
            let (structure, source) = match part {
                ContentPart::Text(_) => (Structure::TextPart, None),
                ContentPart::Image(part) => (Structure::ImagePart, Some(&part.source)),
                ContentPart::Audio(part) => (Structure::AudioPart, Some(&part.source)),
                ContentPart::Video(part) => (Structure::VideoPart, Some(&part.source)),
                ContentPart::Document(part) => (Structure::DocumentPart, Some(&part.source)),
                ContentPart::Unknown(_) => continue,
            };
            self.structure(structure, path);
            let structure = match source {
                Some(Source::Data(_)) => Structure::DataSource,
                Some(Source::Url(_)) => Structure::UrlSource,
                Some(Source::File(_)) => Structure::FileSource,
                Some(Source::Unknown(_)) | None => continue,
            };
            self.structure(structure, || path() + "/source");
        }
    }
}

/// Whether the event says that it is a subagent's. The events about subagents name them, which is something else.
fn is_attributed(event: &Event<'_>) -> bool {
    macro_rules! attributed {
        ($( $name:ident )*) => {
            match event {
                $( Event::$name(event) => event.subagent_run_id.is_some(), )*
                _ => false,
            }
        };
    }
    attributed! {
        StepStarted StepFinished
        TextMessageStart TextMessageContent TextMessageEnd TextMessageChunk
        ToolCallStart ToolCallArgs ToolCallEnd ToolCallChunk ToolCallResult
        ReasoningStart ReasoningMessageStart ReasoningMessageContent ReasoningMessageEnd ReasoningMessageChunk
        ReasoningEnd ReasoningEncryptedValue
        StateSnapshot StateDelta ActivitySnapshot ActivityDelta Raw Custom
    }
}
