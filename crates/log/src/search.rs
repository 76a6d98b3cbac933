//! The words that threads are found by: the same on every store.

use std::collections::BTreeSet;
use threadline_protocol::content::{Content, ContentPart};
use threadline_protocol::{Event, Message, Received};

/// What has more characters is no word that anybody looks for, but data, and indexes do not take any length.
const WORD_CHARACTERS_MAX: usize = 256;

/// The words of a text: letters and digits that stand together, in lower case. Of long ones, their beginning.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| {
        let end = word.char_indices().nth(WORD_CHARACTERS_MAX).map_or(word.len(), |(end, _)| end);
        word[..end].to_lowercase()
    })
}

/// The words of the messages in a checkpoint's compacted events.
#[must_use]
pub fn words_of_delta(delta: &[u8]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let lines = delta.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    for received in lines.filter_map(|line| Received::read_bytes(line).ok()) {
        match received.event() {
            Event::TextMessageContent(content) => found.extend(words(&content.delta.to_string())),
            Event::MessagesSnapshot(snapshot) => {
                snapshot.messages.iter().for_each(|m| collect(m, &mut found))
            }
            Event::RunStarted(started) => {
                let messages = started.input.as_ref().map(|input| input.messages.as_slice());
                messages.unwrap_or_default().iter().for_each(|message| collect(message, &mut found));
            }
            _ => {}
        }
    }
    found
}

fn collect(message: &Message<'_>, found: &mut BTreeSet<String>) {
    for text in texts(message) {
        found.extend(words(&text));
    }
}

/// What a user or an assistant said.
#[must_use]
pub fn texts(message: &Message<'_>) -> Vec<String> {
    match message {
        Message::User(message) => match &message.content {
            Content::Text(text) => vec![text.to_string()],
            Content::Parts(parts) => {
                let texts = parts.iter().filter_map(|part| match part {
                    ContentPart::Text(part) => Some(part.text.to_string()),
                    _ => None,
                });
                texts.collect()
            }
        },
        Message::Assistant(message) => message.content.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    }
}

/// A name for a thread: the first words that a user said in a run's input.
#[must_use]
pub fn first_words(messages: &[Message<'_>]) -> Option<String> {
    const CHARACTERS_MAX: usize = 60;
    let users = messages.iter().filter(|message| matches!(message, Message::User(_)));
    let text = users.flat_map(texts).find(|text| !text.trim().is_empty())?;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(CHARACTERS_MAX).collect();
    Some(if short.len() < line.len() { format!("{}…", short.trim_end()) } else { short })
}
