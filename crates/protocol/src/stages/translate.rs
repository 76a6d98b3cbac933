//! The translate stage: shapes of AG-UI 0.x as 1.0 knows them.
//!
//! What the reference's compatibility boundary does, with one difference: ids that 0.x did not have are derived from
//! thread, run and position, where the reference draws random ones. Two readings of a run give the same ids.

use super::mint::mint;
use crate::content::{
    AudioPart, Content, ContentPart, DataSource, DocumentPart, ImagePart, Source, UrlSource, VideoPart,
};
use crate::event::{Event, ReasoningRole, Received, UnknownEvent};
use crate::json::{Json, JsonNonNull, JsonObject, Text, write_string};
use crate::message::Message;
use crate::run::RunAgentInput;
use crate::schema::{Departure, DepartureKind, ReadError, Unknown};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// Translates the events of one stream, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Translator {
    thread_id: Text<'static>,
    run_id: Text<'static>,
    /// How many ids this run was given.
    minted: u64,
    /// The span of thinking that is open.
    span: Option<String>,
    /// The thinking message that is open.
    message: Option<String>,
}

/// An event in the words of 1.0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translated<'a> {
    /// The event: as it was, byte for byte, if nothing was translated.
    pub event: Received<'a>,
    /// What was translated.
    pub changes: Vec<Change>,
}

/// Something that was translated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where, as a JSON pointer into the event as it came.
    pub pointer: String,
    /// What.
    pub kind: ChangeKind,
}

/// The kinds of [`Change`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeKind {
    /// A THINKING event became a REASONING event.
    Renamed {
        /// The type in 1.0.
        to: &'static str,
    },
    /// 1.0 has no place for it, and it is lost.
    Lost,
    /// A THINKING event continues nothing, so it was given an id that nothing opened.
    Orphaned,
    /// A `null` was removed.
    NullRemoved,
    /// A binary part became a media part.
    PartConverted,
    /// A binary part said again what a media part beside it says, and was removed.
    MirrorRemoved,
    /// The role of a reasoning message, which some releases called `assistant`.
    RoleCorrected,
}

impl Change {
    /// Whether something of the event did not survive: it was dropped, or nothing says what it belongs to.
    #[must_use]
    pub const fn is_loss(&self) -> bool {
        matches!(self.kind, ChangeKind::Lost | ChangeKind::Orphaned)
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ChangeKind::Renamed { to } => write!(f, "became {to}"),
            ChangeKind::Lost => write!(f, "has no place in 1.0 and is lost"),
            ChangeKind::Orphaned => write!(f, "continues nothing, given an id of its own"),
            ChangeKind::NullRemoved => write!(f, "null removed"),
            ChangeKind::PartConverted => write!(f, "binary part became a media part"),
            ChangeKind::MirrorRemoved => write!(f, "binary part repeats a media part, removed"),
            ChangeKind::RoleCorrected => write!(f, "role became reasoning"),
        }?;
        if self.pointer.is_empty() { Ok(()) } else { write!(f, ". path={}", self.pointer) }
    }
}

impl Translator {
    /// At the start of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Translates the next event.
    ///
    /// # Errors
    /// If a THINKING event, once translated, lacks what 1.0 requires or has it malformed.
    ///
    /// An event with a `null` that neither 0.x nor 1.0 has is left as it is.
    pub fn translate<'a>(&mut self, received: Received<'a>) -> Result<Translated<'a>, ReadError> {
        if let Event::Unknown(event) = received.event() {
            return match self.thinking(event) {
                Some((json, changes)) => Ok(Translated { event: Received::read_owned(json)?, changes }),
                None => Ok(Translated { event: received, changes: Vec::new() }),
            };
        }
        if let Event::RunStarted(started) = received.event() {
            *self = Self {
                thread_id: started.thread_id.clone().into_owned(),
                run_id: started.run_id.clone().into_owned(),
                ..Self::default()
            };
        }
        // Every other shape of 0.x departs from 1.0.
        if received.departures().is_empty() {
            return Ok(Translated { event: received, changes: Vec::new() });
        }
        translate_shapes(received)
    }

    /// A THINKING event as the text of a REASONING event.
    fn thinking(&mut self, event: &UnknownEvent<'_>) -> Option<(String, Vec<Change>)> {
        let mut changes = Vec::new();
        let (to, id) = match event.event_type().as_str()? {
            "THINKING_START" => {
                let id = self.mint();
                ("REASONING_START", self.span.insert(id).clone())
            }
            "THINKING_TEXT_MESSAGE_START" => {
                let id = self.mint();
                ("REASONING_MESSAGE_START", self.message.insert(id).clone())
            }
            "THINKING_TEXT_MESSAGE_CONTENT" => {
                let open = self.message.clone();
                ("REASONING_MESSAGE_CONTENT", self.continued(open, &mut changes))
            }
            "THINKING_TEXT_MESSAGE_END" => {
                let open = self.message.take();
                ("REASONING_MESSAGE_END", self.continued(open, &mut changes))
            }
            "THINKING_END" => {
                let open = self.span.take();
                ("REASONING_END", self.continued(open, &mut changes))
            }
            _ => return None,
        };
        changes.insert(0, Change { pointer: String::new(), kind: ChangeKind::Renamed { to } });
        let role = if to == "REASONING_MESSAGE_START" { r#","role":"reasoning""# } else { "" };
        let mut json = format!(r#"{{"type":"{to}","messageId":"{id}"{role}"#);
        let object = JsonObject::try_from(event.as_json().clone()).ok()?;
        for (key, value) in object.members() {
            match key.as_str() {
                Some("type" | "messageId") => continue,
                Some("role") if to == "REASONING_MESSAGE_START" => continue,
                Some("title") if to == "REASONING_START" => {
                    changes.push(Change { pointer: "/title".to_owned(), kind: ChangeKind::Lost });
                    continue;
                }
                Some("rawEvent") if value.is_null() => {
                    changes.push(Change { pointer: "/rawEvent".to_owned(), kind: ChangeKind::NullRemoved });
                    continue;
                }
                _ => {}
            }
            json.push(',');
            write_string(&mut json, &key);
            json.push(':');
            json.push_str(value.as_str());
        }
        json.push('}');
        Some((json, changes))
    }

    fn continued(&mut self, open: Option<String>, changes: &mut Vec<Change>) -> String {
        open.unwrap_or_else(|| {
            changes.push(Change { pointer: String::new(), kind: ChangeKind::Orphaned });
            self.mint()
        })
    }

    /// An id that is the same whenever this run is read.
    fn mint(&mut self) -> String {
        let id = mint(&self.thread_id, &self.run_id, self.minted.to_string().as_bytes());
        self.minted += 1;
        id
    }
}

/// Puts the messages of a request into the words of 1.0, as the reference does before it sends one: binary parts become
/// media parts.
pub fn translate_input(input: &mut RunAgentInput<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    convert_binary_parts(&mut input.messages, "/messages", &mut changes);
    changes
}

fn translate_shapes(received: Received<'_>) -> Result<Translated<'_>, ReadError> {
    let is_null = |departure: &&Departure| departure.kind == DepartureKind::NullOptional;
    let nulls = received.departures().iter().filter(is_null);
    let (legacy, foreign): (Vec<_>, Vec<_>) =
        nulls.partition(|departure| is_legacy_null(received.event(), &departure.pointer));
    // Writing the event anew would remove these, too, and nothing but a 0.x null may become absent. No reader of 1.0
    // takes such an event, translated or not.
    if !foreign.is_empty() {
        return Ok(Translated { event: received, changes: Vec::new() });
    }
    let removed =
        |departure: &Departure| Change { pointer: departure.pointer.clone(), kind: ChangeKind::NullRemoved };
    let mut changes: Vec<Change> = legacy.into_iter().map(removed).collect();
    let (json, mut event, departures) = received.into_parts();
    match &mut event {
        Event::MessagesSnapshot(snapshot) => {
            convert_binary_parts(&mut snapshot.messages, "/messages", &mut changes);
        }
        Event::RunStarted(started) => {
            if let Some(input) = &mut started.input {
                convert_binary_parts(&mut input.messages, "/input/messages", &mut changes);
            }
        }
        Event::ReasoningMessageStart(start) => {
            if let ReasoningRole::Unknown(word) = &start.role
                && *word.as_text() == "assistant"
            {
                start.role = ReasoningRole::Reasoning;
                changes.push(Change { pointer: "/role".to_owned(), kind: ChangeKind::RoleCorrected });
            }
        }
        _ => {}
    }
    let event = if changes.is_empty() {
        Received::from_parts(json, event, departures)
    } else {
        Received::read_owned(event.to_json())?
    };
    Ok(Translated { event, changes })
}

/// Whether 0.x wrote `null` there where 1.0 leaves the field out.
pub(crate) fn is_legacy_null(event: &Event<'_>, pointer: &str) -> bool {
    let path: Vec<&str> = pointer.split('/').skip(1).collect();
    match (event, path.as_slice()) {
        (_, ["rawEvent"])
        | (Event::RunFinished(_), ["result" | "outcome"])
        | (Event::SubagentFinished(_), ["result"])
        | (Event::ToolCallStart(_) | Event::ToolCallChunk(_), ["parentMessageId"])
        | (
            Event::RunStarted(_),
            ["input", "forwardedProps"]
            | ["input", "tools", _, "parameters"]
            | ["input", "resume", _, "payload"],
        ) => true,
        (Event::MessagesSnapshot(snapshot), ["messages", message, "content", part, "metadata"]) => {
            is_media(&snapshot.messages, message, part)
        }
        (Event::RunStarted(started), ["input", "messages", message, "content", part, "metadata"]) => {
            started.input.as_ref().is_some_and(|input| is_media(&input.messages, message, part))
        }
        _ => false,
    }
}

fn is_media(messages: &[Message<'_>], message: &str, part: &str) -> bool {
    let at = |index: &str| index.parse::<usize>().ok();
    let content = at(message).and_then(|index| messages.get(index)).and_then(content_of);
    let Some(Content::Parts(parts)) = content else { return false };
    let part = at(part).and_then(|index| parts.get(index));
    part.is_some_and(|part| !matches!(part, ContentPart::Text(_) | ContentPart::Unknown(_)))
}

fn content_of<'m, 'a>(message: &'m Message<'a>) -> Option<&'m Content<'a>> {
    match message {
        Message::User(message) => Some(&message.content),
        Message::Tool(message) => Some(&message.content),
        _ => None,
    }
}

fn content_of_mut<'m, 'a>(message: &'m mut Message<'a>) -> Option<&'m mut Content<'a>> {
    match message {
        Message::User(message) => Some(&mut message.content),
        Message::Tool(message) => Some(&mut message.content),
        _ => None,
    }
}

fn convert_binary_parts(messages: &mut [Message<'_>], at: &str, changes: &mut Vec<Change>) {
    for (index, message) in messages.iter_mut().enumerate() {
        let Some(Content::Parts(parts)) = content_of_mut(message) else { continue };
        if !parts.iter().any(|part| matches!(part, ContentPart::Unknown(_))) {
            continue;
        }
        // A mirror is told by the parts that were modern from the start, wherever they stand.
        let mut modern: HashMap<Bytes, HashSet<Option<String>>> = HashMap::new();
        for Media { bytes, filename } in parts.iter().filter_map(Media::of) {
            modern.entry(bytes).or_default().insert(filename);
        }
        // A filename is something to hold, too: only a part that holds it is the same.
        let is_mirror = |media: &Media| {
            let same = modern.get(&media.bytes);
            same.is_some_and(|filenames| media.filename.is_none() || filenames.contains(&media.filename))
        };
        let mut position = 0;
        parts.retain_mut(|part| {
            let pointer = format!("{at}/{index}/content/{position}");
            position += 1;
            let ContentPart::Unknown(unknown) = part else { return true };
            let Some(media) = Media::from_binary(unknown) else { return true };
            if is_mirror(&media) {
                changes.push(Change { pointer, kind: ChangeKind::MirrorRemoved });
                return false;
            }
            *part = media.into_part();
            changes.push(Change { pointer, kind: ChangeKind::PartConverted });
            true
        });
    }
}

/// What counts when parts are compared.
#[derive(Debug)]
struct Media {
    bytes: Bytes,
    filename: Option<String>,
}

/// What a part shows, and where it is.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Bytes {
    kind: MediaKind,
    by_url: bool,
    value: String,
    mime_type: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum MediaKind {
    Image,
    Audio,
    Video,
    Document,
}

impl Media {
    /// A binary part of 0.x. One that has only an id cannot be converted.
    fn from_binary(part: &Unknown<'_>) -> Option<Self> {
        let object = JsonObject::try_from(part.as_json().clone()).ok()?;
        let members = object.members();
        let string = |name: &str| {
            let (_, value) = members.iter().find(|(key, _)| *key == name)?;
            value.as_text().map(|text| text.to_str().into_owned())
        };
        let filled = |name: &str| string(name).filter(|text| !text.is_empty());
        if string("type")? != "binary" {
            return None;
        }
        let mime_type = string("mimeType")?;
        let kind = match mime_type.split_once('/').map(|(kind, _)| kind) {
            Some("image") => MediaKind::Image,
            Some("audio") => MediaKind::Audio,
            Some("video") => MediaKind::Video,
            _ => MediaKind::Document,
        };
        let (by_url, value) = match filled("data") {
            Some(data) => (false, data),
            None => (true, filled("url")?),
        };
        Some(Self { bytes: Bytes { kind, by_url, value, mime_type }, filename: filled("filename") })
    }

    /// A media part of 1.0.
    fn of(part: &ContentPart<'_>) -> Option<Self> {
        let (kind, source, metadata) = match part {
            ContentPart::Image(part) => (MediaKind::Image, &part.source, &part.metadata),
            ContentPart::Audio(part) => (MediaKind::Audio, &part.source, &part.metadata),
            ContentPart::Video(part) => (MediaKind::Video, &part.source, &part.metadata),
            ContentPart::Document(part) => (MediaKind::Document, &part.source, &part.metadata),
            ContentPart::Text(_) | ContentPart::Unknown(_) => return None,
        };
        let (by_url, value, mime_type) = match source {
            Source::Data(source) => (false, &source.value, &source.mime_type),
            Source::Url(source) => (true, &source.value, source.mime_type.as_ref()?),
            Source::File(_) | Source::Unknown(_) => return None,
        };
        let filename = metadata.as_ref().and_then(|metadata| {
            let object = JsonObject::try_from(metadata.as_json().clone()).ok()?;
            let members = object.members();
            let (_, value) = members.iter().find(|(key, _)| *key == "filename")?;
            value.as_text().map(|text| text.to_str().into_owned())
        });
        let (value, mime_type) = (value.to_str().into_owned(), mime_type.to_str().into_owned());
        Some(Self { bytes: Bytes { kind, by_url, value, mime_type }, filename })
    }

    fn into_part(self) -> ContentPart<'static> {
        let Bytes { kind, by_url, value, mime_type } = self.bytes;
        let source = if by_url {
            Source::from(UrlSource::new(value).with_mime_type(mime_type))
        } else {
            Source::from(DataSource::new(value, mime_type))
        };
        let metadata = self.filename.map(|filename| {
            let mut json = String::from(r#"{"filename":"#);
            write_string(&mut json, &Text::from(filename));
            json.push('}');
            JsonNonNull::try_from(Json::made(json)).expect("an object is not null")
        });
        macro_rules! part {
            ($part:ident) => {{
                let mut part = $part::new(source);
                part.metadata = metadata;
                part.into()
            }};
        }
        match kind {
            MediaKind::Image => part!(ImagePart),
            MediaKind::Audio => part!(AudioPart),
            MediaKind::Video => part!(VideoPart),
            MediaKind::Document => part!(DocumentPart),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translate(events: &[&str]) -> Vec<String> {
        let mut translator = Translator::new();
        let translated = events
            .iter()
            .map(|json| translator.translate(Received::read(json).unwrap()).unwrap().event.json().to_owned());
        translated.collect()
    }

    #[test]
    fn thinking_becomes_reasoning_with_the_same_ids_each_time() {
        let run = [
            r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
            r#"{"type":"THINKING_START","title":"plan","timestamp":1}"#,
            r#"{"type":"THINKING_TEXT_MESSAGE_START"}"#,
            r#"{"type":"THINKING_TEXT_MESSAGE_CONTENT","delta":"hm","messageId":"x"}"#,
            r#"{"type":"THINKING_TEXT_MESSAGE_END","rawEvent":null}"#,
            r#"{"type":"THINKING_END"}"#,
        ];
        let once = translate(&run);
        assert_eq!(once, translate(&run));
        let ids: Vec<String> = once[1..]
            .iter()
            .map(|json| serde_json::from_str::<serde_json::Value>(json).unwrap()["messageId"].to_string())
            .collect();
        assert_eq!((&ids[0], &ids[1], &ids[1]), (&ids[4], &ids[2], &ids[3]));
        assert_ne!(ids[0], ids[1]);
        assert!(once[1].contains(r#""timestamp":1"#) && !once[1].contains("title"), "{}", once[1]);
        assert!(once[2].contains(r#""role":"reasoning""#), "{}", once[2]);
        assert!(!once[4].contains("rawEvent"), "{}", once[4]);

        let other_run = run[0].replace(r#""r""#, r#""r2""#);
        assert_ne!(translate(&[&other_run, run[1]])[1], once[1]);
    }

    #[test]
    fn an_orphan_is_given_an_id_and_says_so() {
        let mut translator = Translator::new();
        let orphan = Received::read(r#"{"type":"THINKING_END"}"#).unwrap();
        let translated = translator.translate(orphan).unwrap();
        assert_eq!(translated.changes[1].kind, ChangeKind::Orphaned);
        assert!(matches!(translated.event.event(), Event::ReasoningEnd(_)));
    }

    #[test]
    fn a_thinking_event_without_its_delta_is_refused() {
        let received = Received::read(r#"{"type":"THINKING_TEXT_MESSAGE_CONTENT"}"#).unwrap();
        assert!(Translator::new().translate(received).is_err());
    }

    #[test]
    fn nulls_of_0_x_are_removed() {
        for (json, count) in [
            (r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":null,"outcome":null}"#, 2),
            (r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"s","result":null}"#, 1),
            (r#"{"type":"TOOL_CALL_CHUNK","parentMessageId":null,"rawEvent":null}"#, 2),
            (
                r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","state":null,
                "messages":[],"forwardedProps":null,"tools":[{"name":"n","description":"d","parameters":null}],
                "resume":[{"interruptId":"i","status":"resolved","payload":null}]}}"#,
                3,
            ),
            (
                r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":[
                {"type":"image","source":{"type":"url","value":"u"},"metadata":null}]}]}"#,
                1,
            ),
        ] {
            let translated = Translator::new().translate(Received::read(json).unwrap()).unwrap();
            assert_eq!(translated.changes.len(), count, "{json}");
            assert_eq!(translated.event.departures(), [], "{json}");
            assert!(!translated.event.json().contains("null"), "{json}");
        }
    }

    #[test]
    fn an_event_with_another_null_is_left_as_it_is() {
        for json in [
            r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"s","outcome":null,"result":null}"#,
            r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":null,"metadata":null}"#,
            r#"{"type":"TOOL_CALL_CHUNK","parentMessageId":null,"rawEvent":null,"delta":null}"#,
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":[{"type":"text","text":"t","metadata":null}]}]}"#,
        ] {
            assert_eq!(translate(&[json]), [json]);
        }
    }

    #[test]
    fn hostile_snapshots_are_translated_in_linear_time() {
        let many = |part: &str| vec![part; 20_000].join(",");
        let [unknown, binary, modern] = [
            r#"{"type":"x"}"#,
            r#"{"type":"binary","mimeType":"image/png","data":"A"}"#,
            r#"{"type":"image","source":{"type":"data","value":"B","mimeType":"image/png"}}"#,
        ]
        .map(many);
        let content = format!("{unknown},{binary},{modern}");
        let json = format!(
            r#"{{"type":"MESSAGES_SNAPSHOT","messages":[{{"id":"u","role":"user","content":[{content}]}}]}}"#
        );
        // Minutes, if each part were compared with each other one; nextest ends a test that takes that long.
        let translated = Translator::new().translate(Received::read(&json).unwrap()).unwrap();
        assert_eq!(translated.changes.len(), 20_000);
        assert_eq!(translated.event.departures().len(), 20_000);
    }

    #[test]
    fn binary_parts_become_media_parts() {
        let json = r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":[
            {"type":"binary","mimeType":"image/png","data":"AA==","filename":"a.png"},
            {"type":"binary","mimeType":"application/pdf","url":"https://x/y"},
            {"type":"binary","mimeType":"audio/wav","url":"https://x/z"},
            {"type":"audio","source":{"type":"url","value":"https://x/z","mimeType":"audio/wav"}},
            {"type":"binary","mimeType":"video/mp4","id":"only"}]}]}"#;
        let translated = Translator::new().translate(Received::read(json).unwrap()).unwrap();
        assert_eq!(
            translated.event.json(),
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"user","id":"u","content":["#.to_owned()
                + r#"{"type":"image","source":{"type":"data","value":"AA==","mimeType":"image/png"},"metadata":{"filename":"a.png"}},"#
                + r#"{"type":"document","source":{"type":"url","value":"https://x/y","mimeType":"application/pdf"}},"#
                + r#"{"type":"audio","source":{"type":"url","value":"https://x/z","mimeType":"audio/wav"}},"#
                + r#"{"type":"binary","mimeType":"video/mp4","id":"only"}]}]}"#
        );
        let kinds: Vec<&ChangeKind> = translated.changes.iter().map(|change| &change.kind).collect();
        assert_eq!(
            kinds,
            [&ChangeKind::PartConverted, &ChangeKind::PartConverted, &ChangeKind::MirrorRemoved]
        );
        assert_eq!(translated.event.departures().len(), 1);
    }

    #[test]
    fn requests_are_translated_too() {
        let json = r#"{"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":[{"type":"binary","mimeType":"audio/wav","url":"u"}]}]}"#;
        let (mut input, _) = RunAgentInput::read_json(json).unwrap();
        let changes = translate_input(&mut input);
        assert_eq!(changes[0].pointer, "/messages/0/content/0");
        assert!(
            input
                .to_json()
                .contains(r#"{"type":"audio","source":{"type":"url","value":"u","mimeType":"audio/wav"}}"#)
        );
    }

    #[test]
    fn the_wrong_role_of_reasoning_is_corrected() {
        let json = r#"{"type":"REASONING_MESSAGE_START","messageId":"m","role":"assistant"}"#;
        assert_eq!(
            translate(&[json]),
            [r#"{"type":"REASONING_MESSAGE_START","messageId":"m","role":"reasoning"}"#]
        );
    }

    #[test]
    fn what_is_not_of_0_x_is_untouched() {
        for json in [
            r#"{"type":"VENDOR","x":1.50}"#,
            r#"{ "type":"TEXT_MESSAGE_END","messageId":"m","x":1 }"#,
            r#"{"type":"TEXT_MESSAGE_END","messageId":"m","name":null,"subagentRunId":null}"#,
        ] {
            assert_eq!(translate(&[json]), [json]);
        }
    }
}
