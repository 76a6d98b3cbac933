//! The bodies of requests: RunAgentInput, or the part of it that a route needs.

use crate::error::{Code, Refusal};
use bytes::Bytes;
use threadline_log::{RunId, ThreadId};
use threadline_protocol::json::JsonObject;
use threadline_protocol::{Json, ReadError, RunAgentInput, Text};

/// What every route with a body needs of it.
#[derive(Clone, Debug)]
pub struct Input {
    /// As it came.
    pub bytes: Bytes,
    /// The thread.
    pub thread: ThreadId,
    /// The run, if it is named.
    pub run: Option<RunId>,
    /// The version of AG-UI that the client speaks; none before 1.0.
    pub protocol_version: Option<String>,
    /// `forwardedProps`, if they are an object.
    pub props: Option<JsonObject<'static>>,
}

impl Input {
    /// Reads the body of a route that starts nothing: only the thread must be named.
    ///
    /// # Errors
    /// If it is no JSON object, or a member that is needed is not what it should be.
    pub fn read(bytes: &Bytes) -> Result<Self, Refusal> {
        let text = text(bytes)?;
        let json = Json::parse(text).map_err(|error| Refusal::input("", error.to_string()))?;
        let object = JsonObject::try_from(json).map_err(|_other| Refusal::input("", "expected an object"))?;
        let members = object.members();
        // The last one counts, as everywhere.
        let member = |name: &str| members.iter().rev().find(|(key, _)| *key == *name).map(|(_, value)| value);
        let string = |name: &str| match member(name).filter(|value| !value.is_null()) {
            Some(value) => match value.as_text().and_then(|text| text.as_str().map(str::to_owned)) {
                Some(text) => Ok(Some(text)),
                None => Err(Refusal::input(&format!("/{name}"), "expected a string of Unicode")),
            },
            None => Ok(None),
        };
        let thread = string("threadId")?.ok_or_else(|| missing("threadId"))?;
        let run = string("runId")?.map(|run| run_id(&run)).transpose()?;
        let protocol_version = string("protocolVersion")?;
        let props = member("forwardedProps").cloned().map(Json::into_owned);
        let props = props.and_then(|props| JsonObject::try_from(props).ok());
        Ok(Self { thread: thread_id(&thread)?, run, protocol_version, props, bytes: bytes.clone() })
    }

    /// Reads the body of a run: all of it must be right, before anything is done.
    ///
    /// # Errors
    /// If it is no RunAgentInput.
    pub fn read_run(bytes: &Bytes) -> Result<Self, Refusal> {
        RunAgentInput::read_json(text(bytes)?).map_err(|error| unreadable(&error))?;
        let input = Self::read(bytes)?;
        if input.run.is_none() { Err(missing("runId")) } else { Ok(input) }
    }

    /// Whether the client speaks a version before 1.0.
    #[must_use]
    pub const fn is_legacy(&self) -> bool {
        self.protocol_version.is_none()
    }

    /// A member of `forwardedProps`, if it is there.
    ///
    /// # Errors
    /// If it is no string.
    pub fn prop(&self, name: &str) -> Result<Option<String>, Refusal> {
        let members = self.props.as_ref().map(JsonObject::members).unwrap_or_default();
        let value = members.iter().rev().find(|(key, _)| *key == *name).map(|(_, value)| value);
        let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
        let text = value.as_text().and_then(|text: Text<'_>| text.as_str().map(str::to_owned));
        text.map(Some).ok_or_else(|| Refusal::input(&prop_pointer(name), "expected a string of Unicode"))
    }
}

fn text(bytes: &Bytes) -> Result<&str, Refusal> {
    std::str::from_utf8(bytes).map_err(|error| Refusal::input("", format!("not UTF-8: {error}")))
}

fn missing(name: &str) -> Refusal {
    Refusal::input(&format!("/{name}"), format!("missing field {name}"))
}

/// What cannot be read, and where.
pub(crate) fn unreadable(error: &ReadError) -> Refusal {
    // What is missing has no place of its own but the one where it should be.
    let pointer = match error.kind() {
        threadline_protocol::ReadErrorKind::Missing(name) => format!("{}/{name}", error.pointer()),
        _ => error.pointer().to_owned(),
    };
    Refusal::input(&pointer, error.to_string())
}

/// Where a member of `forwardedProps` is.
pub(crate) fn prop_pointer(name: &str) -> String {
    pointer(&["forwardedProps", name])
}

/// A place in a body, as in RFC 6901.
pub(crate) fn pointer(names: &[&str]) -> String {
    names.iter().map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1"))).collect()
}

fn thread_id(id: &str) -> Result<ThreadId, Refusal> {
    ThreadId::new(id).map_err(|error| Refusal::input("/threadId", error.to_string()))
}

/// A run id out of a request.
pub(crate) fn run_id(id: &str) -> Result<RunId, Refusal> {
    RunId::new(id).map_err(|error| Refusal::input("/runId", error.to_string()))
}

/// The thread of a path.
pub(crate) fn thread_of_path(id: &str) -> Result<ThreadId, Refusal> {
    ThreadId::new(id).map_err(|error| Refusal::new(Code::InvalidParameter, error.to_string()))
}

/// The run of a query.
pub(crate) fn run_of_query(id: &str) -> Result<RunId, Refusal> {
    RunId::new(id).map_err(|error| Refusal::new(Code::InvalidParameter, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refusal(result: Result<Input, Refusal>) -> (String, String) {
        let refusal = result.unwrap_err();
        assert_eq!(refusal.code, Code::InvalidInput);
        let pointer = refusal.details.unwrap()["pointer"].as_str().unwrap().to_owned();
        (pointer, refusal.message)
    }

    #[test]
    fn only_the_thread_must_be_named() {
        let body = r#"{"threadId":"t","forwardedProps":{"userId":"u","n":1},"messages":["\ud83d",1]}"#;
        let input = Input::read(&Bytes::from(body)).unwrap();
        assert_eq!((input.thread.as_str(), &input.run), ("t", &None));
        assert!(input.is_legacy());
        assert_eq!(input.prop("userId").unwrap().as_deref(), Some("u"));
        assert_eq!(input.prop("x").unwrap(), None);
        assert_eq!(input.prop("n").unwrap_err().details, Some(json!({"pointer": "/forwardedProps/n"})));
    }

    #[test]
    fn what_is_wrong_has_a_place() {
        let long = format!(r#"{{"threadId":"{}"}}"#, "t".repeat(257));
        for (body, pointer) in [
            ("", ""),
            ("[]", ""),
            ("{", ""),
            ("{}", "/threadId"),
            (r#"{"threadId":1}"#, "/threadId"),
            (r#"{"threadId":"t","runId":2}"#, "/runId"),
            (r#"{"threadId":"\ud800"}"#, "/threadId"),
            (&long, "/threadId"),
        ] {
            let (at, message) = refusal(Input::read(&Bytes::from(body.to_owned())));
            assert_eq!(at, pointer, "{body}: {message}");
        }
        assert_eq!(refusal(Input::read(&Bytes::from_static(b"\xff"))).0, "");
    }

    #[test]
    fn a_run_must_be_right_as_a_whole() {
        let good = json!({"threadId":"t","runId":"r","messages":[]});
        assert!(Input::read_run(&Bytes::from(good.to_string())).is_ok());
        for (body, pointer) in [
            (json!({"threadId":"t","messages":[]}), "/runId"),
            (json!({"threadId":"t","runId":"r"}), "/messages"),
            (json!({"threadId":"t","runId":"r","messages":[{"role":"user"}]}), "/messages/0/id"),
            (json!({"threadId":"t","runId":"r","messages":[],"tools":{}}), "/tools"),
        ] {
            assert_eq!(refusal(Input::read_run(&Bytes::from(body.to_string()))).0, pointer, "{body}");
        }
    }
}
