//! The messages of a socket, as docs/http.md has them.

use crate::error::Refusal;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio_websockets::Message;

/// The longest name that a client may give to a request.
const ID_LEN_MAX: usize = 256;

/// What a client asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Something that is answered.
    Call(Call),
    /// To hear no more of the request of this name.
    Detach(Arc<str>),
}

/// A request that is answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// What its answers are known by.
    pub(super) id: Arc<str>,
    pub(super) kind: Kind,
    /// The body that it would have over HTTP, as it was sent.
    pub(super) input: String,
    /// The cursor to go on from.
    pub(super) after: Option<String>,
    /// The run to attach to.
    pub(super) run: Option<String>,
    pub(super) encoding: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Run,
    Connect,
    Cancel,
    Detach,
}

/// How events are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Form {
    /// As JSON, in messages of text.
    #[default]
    Json,
    /// As protobuf, in binary messages.
    Protobuf,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written<'a> {
    id: String,
    #[serde(rename = "type")]
    kind: Kind,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    after: Option<String>,
    run: Option<String>,
    encoding: Option<Form>,
}

impl Asked {
    /// Reads a message.
    ///
    /// # Errors
    /// If it is none of ours; with its name, if it has one.
    pub(super) fn read(text: &str) -> Result<Self, (Option<Arc<str>>, Refusal)> {
        let written: Written<'_> = serde_json::from_str(text)
            .map_err(|error| (id_of(text), Refusal::input("", format!("not a message: {error}"))))?;
        let id: Arc<str> = written.id.as_str().into();
        written.into_asked(Arc::clone(&id)).map_err(|refusal| (Some(id), refusal))
    }
}

impl Written<'_> {
    fn into_asked(self, id: Arc<str>) -> Result<Asked, Refusal> {
        let Self { kind, input, after, run, encoding, .. } = self;
        if id.len() > ID_LEN_MAX {
            return Err(Refusal::input("/id", format!("the id is too long. bytes_max={ID_LEN_MAX}")));
        }
        let (takes_input, takes_place) = (kind != Kind::Detach, kind == Kind::Connect);
        let takes_form = matches!(kind, Kind::Run | Kind::Connect);
        for (name, is_there, is_taken) in [
            ("/input", input.is_some(), takes_input),
            ("/after", after.is_some(), takes_place),
            ("/run", run.is_some(), takes_place),
            ("/encoding", encoding.is_some(), takes_form),
        ] {
            if is_there && !is_taken {
                return Err(Refusal::input(name, "a message of this type does not have this"));
            }
        }
        if kind == Kind::Detach {
            return Ok(Asked::Detach(id));
        }
        let input = input.ok_or_else(|| Refusal::input("/input", "missing field input"))?.get().to_owned();
        let encoding = encoding.unwrap_or_default();
        Ok(Asked::Call(Call { id, kind, input, after, run, encoding }))
    }
}

/// The name of a message that is wrong otherwise, so that its sender knows which.
fn id_of(text: &str) -> Option<Arc<str>> {
    let value: Value = serde_json::from_str(text).ok()?;
    value.get("id")?.as_str().filter(|id| id.len() <= ID_LEN_MAX).map(Arc::from)
}

/// An event, whose JSON is not looked at.
pub(super) fn event(id: &str, cursor: Option<&str>, event: &str) -> Message {
    let id = json!(id);
    let cursor = cursor.map(|cursor| format!(r#","cursor":{}"#, json!(cursor))).unwrap_or_default();
    Message::text(format!(r#"{{"id":{id},"type":"event"{cursor},"event":{event}}}"#))
}

/// An event in protobuf, behind what it is an answer to and the length of that.
pub(super) fn binary_event(id: &str, event: &[u8]) -> Message {
    let head = json!({ "id": id, "type": "event" }).to_string();
    let head_len = u32::try_from(head.len()).expect("ids are short");
    // In network order, as AG-UI prefixes its messages.
    Message::binary([&head_len.to_be_bytes(), head.as_bytes(), event].concat())
}

/// All events were there.
pub(super) fn end(id: &str) -> Message {
    said(&json!({ "id": id, "type": "end" }))
}

/// There are more events than could be sent.
pub(super) fn cut(id: &str, reason: &str) -> Message {
    said(&json!({ "id": id, "type": "cut", "reason": reason }))
}

/// There may be more events, and nobody wants them.
pub(super) fn detached(id: &str) -> Message {
    said(&json!({ "id": id, "type": "detached" }))
}

/// An answer that is not events.
pub(super) fn result(id: &str, result: &Value) -> Message {
    said(&json!({ "id": id, "type": "result", "result": result }))
}

/// A refusal: the status and the body that it would have over HTTP.
pub(super) fn refused(id: Option<&str>, status: u16, body: &Value) -> Message {
    said(&json!({ "id": id, "type": "error", "status": status, "error": body["error"] }))
}

fn said(value: &Value) -> Message {
    Message::text(value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, kind: Kind, input: &str) -> Call {
        Call { id: id.into(), kind, input: input.to_owned(), after: None, run: None, encoding: Form::Json }
    }

    #[test]
    fn the_input_is_kept_as_it_was_written() {
        let asked = Asked::read(r#"{"id":"1","type":"run","input":{"b": 1.0,"a":[ ]}}"#).unwrap();
        assert_eq!(asked, Asked::Call(call("1", Kind::Run, r#"{"b": 1.0,"a":[ ]}"#)));
        let text = r#"{"type":"connect","after":"x","run":"r","encoding":"protobuf","input":{},"id":"é\n"}"#;
        let expected = Call {
            after: Some("x".to_owned()),
            run: Some("r".to_owned()),
            encoding: Form::Protobuf,
            ..call("é\n", Kind::Connect, "{}")
        };
        assert_eq!(Asked::read(text).unwrap(), Asked::Call(expected));
        assert_eq!(Asked::read(r#"{"id":"1","type":"detach"}"#).unwrap(), Asked::Detach("1".into()));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_name_and_place() {
        for (text, id, pointer) in [
            ("", None, ""),
            ("[]", None, ""),
            (r#"{"type":"run","input":{}}"#, None, ""),
            (r#"{"id":7,"type":"run","input":{}}"#, None, ""),
            (r#"{"id":"1","type":"walk","input":{}}"#, Some("1"), ""),
            (r#"{"id":"1","type":"run","input":{},"x":1}"#, Some("1"), ""),
            (r#"{"id":"1","type":"run"}"#, Some("1"), "/input"),
            (r#"{"id":"1","type":"run","input":{},"after":"c"}"#, Some("1"), "/after"),
            (r#"{"id":"1","type":"cancel","input":{},"run":"r"}"#, Some("1"), "/run"),
            (r#"{"id":"1","type":"cancel","input":{},"encoding":"json"}"#, Some("1"), "/encoding"),
            (r#"{"id":"1","type":"detach","input":{}}"#, Some("1"), "/input"),
        ] {
            let (named, refusal) = Asked::read(text).unwrap_err();
            assert_eq!(named.as_deref(), id, "{text}");
            assert_eq!(refusal.details.unwrap()["pointer"], pointer, "{text}");
        }
        let long = format!(r#"{{"id":"{}","type":"detach"}}"#, "i".repeat(ID_LEN_MAX + 1));
        assert_eq!(Asked::read(&long).unwrap_err().1.details.unwrap()["pointer"], "/id");
    }

    #[test]
    fn answers_are_json_whatever_the_id() {
        let text = |message: Message| -> Value { serde_json::from_str(message.as_text().unwrap()).unwrap() };
        let id = "\"\\\u{0}é";
        assert_eq!(
            text(event(id, Some("c"), r#"{"type":"RAW"}"#)),
            json!({ "id": id, "type": "event", "cursor": "c", "event": { "type": "RAW" } })
        );
        assert_eq!(text(event(id, None, "{}")), json!({ "id": id, "type": "event", "event": {} }));
        assert_eq!(text(end(id)), json!({ "id": id, "type": "end" }));
        let binary = binary_event(id, b"proto").into_payload().to_vec();
        let (len, rest) = binary.split_first_chunk().unwrap();
        let (head, event) = rest.split_at(u32::from_be_bytes(*len) as usize);
        assert_eq!(serde_json::from_slice::<Value>(head).unwrap(), json!({ "id": id, "type": "event" }));
        assert_eq!(event, b"proto");
    }
}
