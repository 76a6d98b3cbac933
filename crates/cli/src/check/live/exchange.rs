//! What was sent, and what was observed.

use super::step::Step;
use serde_json::Value;
use std::time::Duration;
use threadline_protocol::codec::Format;

/// A request to be sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) step: Step,
    /// What it is called in reports.
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) sent: Sent,
    /// The input of the run that it asks for.
    pub(crate) input: Option<Value>,
}

/// What is sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Sent {
    Http {
        method: &'static str,
        headers: Vec<(&'static str, &'static str)>,
        body: String,
    },
    /// One message after the other, as long as the run has not ended.
    Socket {
        messages: Vec<String>,
    },
}

/// A request, and what came of it.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) request: Request,
    pub(crate) answer: Answer,
}

/// What came of a request.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// Nothing, and why.
    Nothing {
        why: String,
        is_unreachable: bool,
    },
    Http(HttpAnswer),
    Socket(Stream),
}

/// An answer over HTTP.
#[derive(Clone, Debug)]
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Stream,
}

/// What came, piece by piece.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stream {
    pub(crate) frames: Vec<Frame>,
    /// How the frames were told apart. None over a WebSocket, which does that.
    pub(crate) format: Option<Format>,
    /// The first frame that clients cannot tell from the one before, because of its line ends.
    pub(crate) joined: Option<usize>,
    /// The beginning, as text.
    pub(crate) text: String,
    pub(crate) ending: Ending,
    /// The longest time in which nothing came, not even a comment.
    pub(crate) silence_max: Duration,
    /// How many frames had come when each message was sent. Only of a WebSocket.
    pub(crate) said: Vec<usize>,
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The event as JSON, or what is there in its place.
    pub(crate) json: Result<String, String>,
    /// When it came, from when the request was sent.
    pub(crate) at: Duration,
}

/// How a stream ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    /// As it should.
    #[default]
    Ended,
    /// It did not, although the run had ended, and was left.
    OpenAfterEnd,
    /// Nothing more came in the time that it had.
    Silent,
    /// It broke.
    Broken(String),
    /// There was more than is read.
    TooMuch,
}

impl Exchange {
    pub(crate) const fn http(&self) -> Option<&HttpAnswer> {
        match &self.answer {
            Answer::Http(answer) => Some(answer),
            Answer::Nothing { .. } | Answer::Socket(_) => None,
        }
    }

    /// The events, if the answer has any.
    pub(crate) fn stream(&self) -> Option<&Stream> {
        match &self.answer {
            Answer::Http(answer) if answer.is_stream() => Some(&answer.body),
            Answer::Socket(stream) => Some(stream),
            Answer::Http(_) | Answer::Nothing { .. } => None,
        }
    }

    /// Whether there was an answer, whatever it says.
    pub(crate) const fn is_answered(&self) -> bool {
        !matches!(self.answer, Answer::Nothing { .. })
    }

    /// Whether it was refused before a run began.
    pub(crate) fn is_refused(&self) -> bool {
        self.http().is_some_and(|answer| !(200..300).contains(&answer.status))
    }

    /// What the first line of the answer says, for reports.
    pub(crate) fn head(&self) -> String {
        match &self.answer {
            Answer::Nothing { why, .. } => why.clone(),
            Answer::Socket(_) => "101 Switching Protocols".to_owned(),
            Answer::Http(answer) => {
                let content_type = answer.header("content-type").unwrap_or("no content-type");
                format!("{} {content_type}", answer.status)
            }
        }
    }
}

impl HttpAnswer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The content type without its parameters, in lower case.
    pub(crate) fn essence(&self) -> Option<String> {
        let value = self.header("content-type")?;
        Some(value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
    }

    /// Whether it holds events: by what it says it is, or by what it looks like.
    pub(crate) fn is_stream(&self) -> bool {
        let is_said = matches!(
            self.essence().as_deref(),
            Some("text/event-stream" | "application/vnd.ag-ui.event+proto" | "application/x-ndjson")
        );
        (200..300).contains(&self.status) && (is_said || self.body.format == Some(Format::Sse))
    }
}

impl Stream {
    /// The events, as JSON.
    pub(crate) fn events(&self) -> impl Iterator<Item = (usize, &str)> {
        let frames = self.frames.iter().enumerate();
        frames.filter_map(|(at, frame)| Some((at, frame.json.as_deref().ok()?)))
    }
}

/// The type of an event, as it is written.
pub(crate) fn type_of(json: &str) -> Option<String> {
    let value: Value = serde_json::from_str(json).ok()?;
    Some(value.get("type")?.as_str()?.to_owned())
}

/// Lower-case letters and digits: what is left of a name whatever its spelling.
pub(crate) fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

/// Whether an event ends a run, in whatever dialect.
pub(crate) fn ends_run(json: &str) -> bool {
    fails_run(json)
        || type_of(json).is_some_and(|name| matches!(&*letters(&name), "runfinished" | "lifecycleend"))
}

/// Whether an event says that a run has failed, in whatever dialect.
pub(crate) fn fails_run(json: &str) -> bool {
    type_of(json).is_some_and(|name| matches!(&*letters(&name), "runerror" | "lifecycleerror"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_known_in_dialects() {
        for name in ["RUN_FINISHED", "runError", "lifecycle.end", "LifecycleError"] {
            assert!(ends_run(&format!("{{\"type\":\"{name}\"}}")), "{name}");
        }
        assert!(!ends_run("{\"type\":\"RUN_STARTED\"}") && !ends_run("[DONE]") && !ends_run("{\"type\":1}"));
    }
}
