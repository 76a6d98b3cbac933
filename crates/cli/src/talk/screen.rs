//! A run on a terminal: what is said as it comes, the rest a line each.

use super::visible::{line, visible};
use crate::check::paint::Paint;
use crate::report::Failure;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::time::Duration;
use threadline_client::{ClientError, Subscriber};
use threadline_protocol::content::Content;
use threadline_protocol::message::ToolCall;
use threadline_protocol::patch::Operation;
use threadline_protocol::stages::fold::{Changes, Fold};
use threadline_protocol::{Event, Message, Text};

/// How many characters of a line are shown.
const LINE_CHARS_MAX: usize = 100;

/// Shows runs. Failures to write are kept until somebody asks.
pub(crate) struct Screen<W: Write> {
    out: W,
    paint: Paint,
    /// How many bytes of a message's text were shown.
    shown: HashMap<Text<'static>, usize>,
    /// The message whose text the cursor stands behind.
    open: Option<Text<'static>>,
    /// Whether messages are shown that were told of as a whole.
    shows_snapshots: bool,
    /// Calls that were begun, and are shown when their arguments are whole.
    begun: HashSet<Text<'static>>,
    /// Calls whose arguments are whole.
    called: Vec<Text<'static>>,
    /// Subagents by the ids of their runs.
    subagents: HashMap<Text<'static>, String>,
    failed: Option<io::Error>,
}

impl<W: Write> Screen<W> {
    pub(crate) fn new(out: W, paint: Paint) -> Self {
        Self {
            out,
            paint,
            shown: HashMap::new(),
            open: None,
            shows_snapshots: false,
            begun: HashSet::new(),
            called: Vec::new(),
            subagents: HashMap::new(),
            failed: None,
        }
    }

    /// A run begins. What is held is known already.
    pub(crate) fn begin(&mut self, held: &Fold) {
        self.shows_snapshots = false;
        for message in held.messages() {
            if let Some(id) = message.id() {
                self.shown.insert(id.clone(), said(message).map_or(usize::MAX, |text| text.wtf8().len()));
            }
        }
    }

    /// What a server holds is to be shown.
    pub(crate) const fn begin_with_snapshots(&mut self) {
        self.shows_snapshots = true;
    }

    /// A line of its own.
    pub(crate) fn line(&mut self, text: &str) {
        self.end_line();
        self.write(&format!("{text}\n"));
    }

    /// Ends the line that is open, and says whether everything could be written.
    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        self.end_line();
        self.flush();
        self.failed.take().map_or(Ok(()), |error| Err(Failure::write(error)))
    }

    fn end_line(&mut self) {
        if self.open.take().is_some() {
            self.write("\n");
        }
    }

    fn write(&mut self, text: &str) {
        if self.failed.is_none()
            && let Err(error) = self.out.write_all(text.as_bytes())
        {
            self.failed = Some(error);
        }
    }

    fn flush(&mut self) {
        if self.failed.is_none()
            && let Err(error) = self.out.flush()
        {
            self.failed = Some(error);
        }
    }

    /// Shows what is new of a message's text.
    fn say(&mut self, message: &Message<'static>) {
        let (Some(id), Some(text)) = (message.id(), said(message)) else { return };
        if !self.shows_snapshots && !self.shown.contains_key(id) {
            return;
        }
        let known = self.shown.get(id).copied().unwrap_or(0);
        let new = text.wtf8().get(known..).unwrap_or_default();
        if new.is_empty() {
            return;
        }
        let new = visible(&String::from_utf8_lossy(new));
        self.shown.insert(id.clone(), text.wtf8().len());
        if self.open.as_ref() != Some(id) {
            self.end_line();
            let who = self.speaker(message);
            self.write(&who);
            self.open = Some(id.clone());
        }
        let new = match message {
            Message::Reasoning(_) => self.paint.dim(&new),
            Message::User(_) => self.paint.bold(&new),
            _ => new,
        };
        self.write(&new);
        self.flush();
    }

    /// Who speaks, where that is not the agent itself.
    fn speaker(&self, message: &Message<'static>) -> String {
        let (role, subagent) = match message {
            Message::Assistant(message) => ("", &message.subagent_run_id),
            Message::Reasoning(message) => ("", &message.subagent_run_id),
            Message::User(_) => return self.paint.dim("> "),
            Message::System(message) => ("system", &message.subagent_run_id),
            Message::Developer(message) => ("developer", &message.subagent_run_id),
            _ => return String::new(),
        };
        let subagent = subagent.as_ref().and_then(|id| self.subagents.get(id)).map_or("", String::as_str);
        match (subagent, role) {
            ("", "") => String::new(),
            ("", name) | (name, "") => self.paint.dim(&format!("{name}: ")),
            (name, role) => self.paint.dim(&format!("{name}, {role}: ")),
        }
    }

    /// Shows the calls of a message that was told of as a whole, or the result that it is.
    fn show_calls(&mut self, message: &Message<'static>) {
        match message {
            Message::Assistant(message) => {
                let calls = message.tool_calls.iter().flatten();
                let calls: Vec<_> = calls.filter(|call| !self.begun.contains(&call.id)).collect();
                for call in calls {
                    let shown = self.paint.bold(&call_line(call));
                    self.line(&shown);
                }
            }
            Message::Tool(message) => self.note(&format!("  = {}", result_line(&message.content))),
            _ => return,
        }
        if let Some(id) = message.id().filter(|_| said(message).is_none()) {
            self.shown.insert(id.clone(), usize::MAX);
        }
    }

    fn note(&mut self, text: &str) {
        let text = self.paint.dim(&line(text, LINE_CHARS_MAX));
        self.line(&text);
    }
}

/// What a message says as text that may grow.
fn said<'m>(message: &'m Message<'static>) -> Option<&'m Text<'static>> {
    match message {
        Message::Assistant(message) => message.content.as_ref(),
        Message::Reasoning(message) => Some(&message.content),
        Message::System(message) => Some(&message.content),
        Message::Developer(message) => Some(&message.content),
        Message::User(message) => match &message.content {
            Content::Text(text) => Some(text),
            Content::Parts(_) => None,
        },
        _ => None,
    }
}

/// A call on one line.
pub(crate) fn call_line(call: &ToolCall<'_>) -> String {
    let (name, arguments) = (call.function.name.to_str(), call.function.arguments.to_str());
    line(&format!("{name}({arguments})"), LINE_CHARS_MAX)
}

fn result_line(content: &Content<'_>) -> String {
    match content {
        Content::Text(text) => text.to_str().into_owned(),
        Content::Parts(parts) => format!("{} parts", parts.len()),
    }
}

fn patch_line(patch: &[Operation<'_>]) -> String {
    let each = patch.iter().map(|operation| match operation {
        Operation::Add(it) => format!("{}={}", it.path.as_text().to_str(), it.value.as_str()),
        Operation::Replace(it) => format!("{}={}", it.path.as_text().to_str(), it.value.as_str()),
        Operation::Remove(it) => format!("{} removed", it.path.as_text().to_str()),
        other => other.to_json(),
    });
    each.collect::<Vec<_>>().join(", ")
}

impl<W: Write> Subscriber for Screen<W> {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::TextMessageStart(event) => {
                self.shown.entry(event.message_id.clone().into_owned()).or_insert(0);
            }
            Event::ReasoningMessageStart(event) => {
                self.shown.entry(event.message_id.clone().into_owned()).or_insert(0);
            }
            Event::ToolCallStart(event) => {
                self.begun.insert(event.tool_call_id.clone().into_owned());
            }
            Event::ToolCallEnd(event) => self.called.push(event.tool_call_id.clone().into_owned()),
            Event::ToolCallResult(event) => {
                self.shown.insert(event.message_id.clone().into_owned(), usize::MAX);
                self.note(&format!("  = {}", result_line(&event.content)));
            }
            // A server says of every thread what its state is, and most have none.
            Event::StateSnapshot(event) if self.shows_snapshots && event.snapshot.as_str() == "{}" => {}
            Event::StateSnapshot(event) => self.note(&format!("state {}", event.snapshot.as_str())),
            Event::StateDelta(event) => self.note(&format!("state {}", patch_line(&event.delta))),
            Event::ActivitySnapshot(event) => {
                let content = event.content.as_json().as_str();
                self.note(&format!("{} {content}", event.activity_type.to_str()));
            }
            Event::ActivityDelta(event) => {
                self.note(&format!("{} {}", event.activity_type.to_str(), patch_line(&event.patch)));
            }
            Event::StepStarted(event) => self.note(&format!("step {}", event.step_name.to_str())),
            Event::Custom(event) => self.note(&format!("{} {}", event.name.to_str(), event.value.as_str())),
            Event::SubagentStarted(event) => {
                let name = line(&event.name.to_str(), LINE_CHARS_MAX);
                self.note(&format!("{name} begins"));
                self.subagents.insert(event.subagent_run_id.clone().into_owned(), name);
            }
            Event::SubagentFinished(event) => {
                let name = self.subagents.get(event.subagent_run_id.wtf8()).cloned().unwrap_or_default();
                self.note(&format!("{name} is done"));
            }
            Event::SubagentError(event) => {
                let name = self.subagents.get(event.subagent_run_id.wtf8()).cloned().unwrap_or_default();
                self.note(&format!("{name} fails: {}", event.message.to_str()));
            }
            Event::RunError(event) => {
                let code =
                    event.code.as_ref().map(|code| format!(" ({})", code.to_str())).unwrap_or_default();
                let said = line(&format!("{}{code}", event.message.to_str()), usize::MAX - 1);
                let said = format!("{} {said}", self.paint.wrong("failed:"));
                self.line(&said);
            }
            _ => {}
        }
    }

    fn changed(&mut self, changes: &Changes<'_>, held: &Fold) {
        for message in &changes.messages {
            let is_new = message.id().is_some_and(|id| !self.shown.contains_key(id));
            self.say(message);
            if self.shows_snapshots && is_new {
                self.show_calls(message);
            }
        }
        for id in std::mem::take(&mut self.called) {
            if let Some(call) = held.tool_call(&id) {
                let shown = self.paint.bold(&call_line(call));
                self.line(&shown);
            }
        }
    }

    fn lost(&mut self, error: &ClientError, after: Duration) {
        self.note(&format!("connection lost: {error}; trying again in {:.1} s", after.as_secs_f64()));
    }

    fn restarted(&mut self) {
        self.shows_snapshots = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadline_protocol::stages::consumer::Consumer;

    /// What a stream looks like.
    fn shown(events: &[&str], paint: Paint) -> String {
        let mut screen = Screen::new(Vec::new(), paint);
        screen.begin_with_snapshots();
        let mut consumer = Consumer::new(Fold::new());
        for event in events {
            let revision = consumer.fold().revision();
            consumer.push(event, |event| screen.event(event)).unwrap();
            screen.changed(&consumer.fold().changes_since(revision), consumer.fold());
        }
        screen.end().unwrap();
        String::from_utf8(screen.out).unwrap()
    }

    const RUN: [&str; 12] = [
        r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
        r#"{"type":"REASONING_MESSAGE_CHUNK","messageId":"h","delta":"I "}"#,
        r#"{"type":"REASONING_MESSAGE_CHUNK","messageId":"h","delta":"think"}"#,
        r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"Hello \u001b[2J"}"#,
        r#"{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"you"}"#,
        r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"count"}"#,
        r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{\"a\":1}"}"#,
        r#"{"type":"TOOL_CALL_END","toolCallId":"c"}"#,
        r#"{"type":"TOOL_CALL_RESULT","messageId":"o","toolCallId":"c","content":"2\n3"}"#,
        r#"{"type":"STATE_SNAPSHOT","snapshot":{"n":1}}"#,
        r#"{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/n","value":2}]}"#,
        r#"{"type":"RUN_ERROR","message":"no","code":"c"}"#,
    ];

    #[test]
    fn a_run_is_shown_compactly() {
        let expected = "\
I think
Hello \\u{1b}[2Jyou
count({\"a\":1})
  = 2 3
state {\"n\":1}
state /n=2
failed: no (c)
";
        assert_eq!(shown(&RUN, Paint::plain()), expected);
    }

    #[test]
    fn thoughts_and_notes_are_dimmed() {
        let painted = shown(&RUN, Paint::coloured());
        assert!(
            painted.starts_with("\u{1b}[2mI \u{1b}[0m\u{1b}[2mthink\u{1b}[0m\nHello \\u{1b}[2Jyou\n"),
            "{painted:?}"
        );
        assert!(painted.contains("\u{1b}[1mcount({\"a\":1})\u{1b}[0m\n"), "{painted:?}");
        assert!(painted.contains("\u{1b}[2mstate /n=2\u{1b}[0m\n"), "{painted:?}");
    }

    #[test]
    fn after_a_restart_what_was_missed_is_said() {
        let mut screen = Screen::new(Vec::new(), Paint::plain());
        let mut consumer = Consumer::new(Fold::new());
        let push = |consumer: &mut Consumer, screen: &mut Screen<Vec<u8>>, event: &str| {
            let revision = consumer.fold().revision();
            consumer.push(event, |event| screen.event(event)).unwrap();
            screen.changed(&consumer.fold().changes_since(revision), consumer.fold());
        };
        push(&mut consumer, &mut screen, RUN[0]);
        push(&mut consumer, &mut screen, r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#);
        push(&mut consumer, &mut screen, r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"one "}"#);
        consumer = Consumer::new(consumer.into_fold());
        screen.restarted();
        push(&mut consumer, &mut screen, RUN[0]);
        let snapshot =
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"assistant","id":"m","content":"one two "}]}"#;
        push(&mut consumer, &mut screen, snapshot);
        push(&mut consumer, &mut screen, r#"{"type":"TEXT_MESSAGE_START","messageId":"m"}"#);
        push(
            &mut consumer,
            &mut screen,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"three"}"#,
        );
        screen.end().unwrap();
        assert_eq!(String::from_utf8(screen.out).unwrap(), "one two three\n");
    }
}
