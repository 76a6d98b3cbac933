//! What calls are named.

use crate::event::Event;
use crate::json::Text;
use crate::message::Message;
use std::collections::HashMap;

/// What a call is named whose producer never said. It is kept: its arguments may tell a person more.
const UNNAMED: &str = "unknown";

/// The tools of the calls of a stream: a call that is started again must not be renamed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CallNames(HashMap<Text<'static>, Text<'static>>);

impl CallNames {
    pub(super) fn name_of(&self, id: &Text<'_>) -> Text<'static> {
        self.0.get(id.wtf8()).cloned().unwrap_or_else(|| UNNAMED.into())
    }

    pub(super) fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::ToolCallStart(start) => self.set(&start.tool_call_id, &start.tool_call_name),
            Event::ToolCallChunk(chunk) => {
                if let (Some(id), Some(name)) = (&chunk.tool_call_id, &chunk.tool_call_name) {
                    self.set(id, name);
                }
            }
            Event::RunStarted(started) => {
                self.seed(started.input.as_ref().map_or(&[], |input| &input.messages));
            }
            Event::MessagesSnapshot(snapshot) => self.seed(&snapshot.messages),
            _ => {}
        }
    }

    fn seed(&mut self, messages: &[Message<'_>]) {
        for message in messages {
            let Message::Assistant(message) = message else { continue };
            for call in message.tool_calls.iter().flatten() {
                self.set(&call.id, &call.function.name);
            }
        }
    }

    fn set(&mut self, id: &Text<'_>, name: &Text<'_>) {
        self.0.insert(id.clone().into_owned(), name.clone().into_owned());
    }
}
