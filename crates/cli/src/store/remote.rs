//! A server that is asked in place of a store.

use super::args::PlaceArgs;
use super::told::{RunTold, ThreadTold};
use crate::report::Failure;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;
pub(crate) use threadline_client::Refused;
use threadline_client::{Answer, ClientError, Endpoint, EndpointOptions, Payload};
use threadline_log::ThreadId;
use threadline_log::run::RunInfo;
use threadline_log::thread::{ThreadInfo, ThreadOrder};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;

/// The largest answer that is held as a whole. Pages are smaller.
const ANSWER_BYTES_MAX: usize = 256 * 1024 * 1024;
/// As many threads as servers list at once.
const PAGE_THREADS: usize = 1_000;
/// How long a server may take to answer: copies of large threads take their time.
const ANSWER_TIMEOUT: Duration = Duration::from_hours(1);
/// How many pieces of an import wait to be sent.
const PIECES_WAITING: usize = 16;

/// A running server.
pub(crate) struct Remote {
    endpoint: Arc<Endpoint>,
    runtime: Runtime,
}

impl Remote {
    /// The server that is named, if one is.
    pub(crate) fn of(place: &PlaceArgs) -> Result<Option<Self>, Failure> {
        let Some(url) = &place.server else { return Ok(None) };
        let mut headers = HeaderMap::new();
        if let Some(token) = &place.token {
            let bearer = HeaderValue::try_from(format!("Bearer {token}"));
            let bearer = bearer.map_err(|_other| Failure::Usage("the token is none".to_owned()))?;
            headers.insert(header::AUTHORIZATION, bearer);
        }
        let options =
            EndpointOptions { headers, response_timeout: ANSWER_TIMEOUT, ..EndpointOptions::default() };
        let endpoint = Endpoint::new(url, options).map_err(|error| Failure::Usage(error.to_string()))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|error| Failure::Environment(error.to_string()))?;
        Ok(Some(Self { endpoint: Arc::new(endpoint), runtime }))
    }

    fn begin(&self, method: Method, path: &str, payload: Payload) -> Result<Answer, ClientError> {
        self.runtime.block_on(self.endpoint.ask(method, path, payload))
    }

    /// Asks for something that is answered by JSON.
    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.try_get(path)?.map_err(|error| failure(&error))
    }

    /// The same for who can do something about a refusal.
    pub(crate) fn try_get<T: DeserializeOwned>(&self, path: &str) -> Result<Result<T, ClientError>, Failure> {
        match self.begin(Method::GET, path, Payload::Nothing) {
            Ok(answer) => self.read(answer).map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }

    fn read<T: DeserializeOwned>(&self, answer: Answer) -> Result<T, Failure> {
        let bytes = self.runtime.block_on(answer.all(ANSWER_BYTES_MAX)).map_err(|error| failure(&error))?;
        read(&bytes)
    }

    pub(crate) fn post<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, Failure> {
        let payload = Payload::Json(body.to_string().into());
        let answer = self.begin(Method::POST, path, payload).map_err(|error| failure(&error))?;
        self.read(answer)
    }

    pub(crate) fn delete(&self, path: &str) -> Result<(), Failure> {
        self.begin(Method::DELETE, path, Payload::Nothing).map(drop).map_err(|error| failure(&error))
    }

    /// Hands over an answer piece by piece. What the server did wrong is for the caller to judge.
    pub(crate) fn download(
        &self,
        path: &str,
        mut each: impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<Result<(), ClientError>, Failure> {
        let mut answer = match self.begin(Method::GET, path, Payload::Nothing) {
            Ok(answer) => answer,
            Err(error) => return Ok(Err(error)),
        };
        while let Some(piece) = self.runtime.block_on(answer.next()) {
            match piece {
                Ok(piece) => each(&piece)?,
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(()))
    }

    /// Begins to send lines.
    pub(crate) fn upload(&self, path: String) -> Upload {
        let (pieces, sent): (Sender<io::Result<Bytes>>, Receiver<_>) = channel(PIECES_WAITING);
        let endpoint = Arc::clone(&self.endpoint);
        let answer = self.runtime.spawn(async move {
            endpoint.ask(Method::POST, &path, Payload::Lines(sent)).await?.all(ANSWER_BYTES_MAX).await
        });
        Upload { pieces, answer }
    }

    /// What the server has to say about what it was sent. Why it was refused is for the caller to tell.
    pub(crate) fn answer<T: DeserializeOwned>(
        &self,
        upload: Upload,
    ) -> Result<Result<T, ClientError>, Failure> {
        drop(upload.pieces);
        let answer = self.runtime.block_on(upload.answer);
        match answer.map_err(|error| Failure::Environment(error.to_string()))? {
            Ok(answer) => read(&answer).map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }

    pub(crate) fn thread(&self, id: &ThreadId) -> Result<ThreadInfo, Failure> {
        let told: ThreadTold = self.get(&thread_path(id))?;
        told.info()
    }

    pub(crate) fn runs(&self, id: &ThreadId) -> Result<Vec<RunInfo>, Failure> {
        #[derive(Deserialize)]
        struct Runs {
            runs: Vec<RunTold>,
        }
        let Runs { runs } = self.get(&format!("{}/runs", thread_path(id)))?;
        RunTold::infos(runs)
    }

    /// Threads, the last that was updated first, up to so many.
    pub(crate) fn threads(&self, query: &[(&str, String)], limit: usize) -> Result<Vec<ThreadInfo>, Failure> {
        let mut threads = match limit {
            ..=PAGE_THREADS => self.page(query, ThreadOrder::Updated, None)?.0,
            // Between two pages those that are written to would be missed.
            _ => self.all_threads(query)?,
        };
        threads.sort_by(|one, other| ThreadOrder::Updated.compare(one, other));
        threads.truncate(limit);
        Ok(threads)
    }

    /// All threads, in the order of their names, which those that are written to meanwhile keep.
    pub(crate) fn all_threads(&self, query: &[(&str, String)]) -> Result<Vec<ThreadInfo>, Failure> {
        let (mut threads, mut next) = self.page(query, ThreadOrder::Name, None)?;
        while let Some(after) = next {
            let (page, behind) = self.page(query, ThreadOrder::Name, Some(&after))?;
            threads.extend(page);
            next = behind;
        }
        Ok(threads)
    }

    /// As many threads as are told at once, and where the next ones begin.
    fn page(
        &self,
        query: &[(&str, String)],
        order: ThreadOrder,
        after: Option<&str>,
    ) -> Result<(Vec<ThreadInfo>, Option<String>), Failure> {
        #[derive(Deserialize)]
        struct Page {
            threads: Vec<ThreadTold>,
            next: Option<String>,
        }
        let mut path = format!("/v1/threads?limit={PAGE_THREADS}");
        // Servers of before know one order, and no word for it.
        let order = (order == ThreadOrder::Name).then_some(("order", "name"));
        let query = query.iter().map(|(name, value)| (*name, value.as_str()));
        for (name, value) in query.chain(order).chain(after.map(|after| ("after", after))) {
            path += &format!("&{name}={}", escaped(value));
        }
        let Page { threads, next } = self.get(&path)?;
        let threads = threads.into_iter().map(ThreadTold::info).collect::<Result<_, _>>()?;
        Ok((threads, next))
    }
}

/// Lines that are being sent.
pub(crate) struct Upload {
    pieces: Sender<io::Result<Bytes>>,
    answer: JoinHandle<Result<Vec<u8>, ClientError>>,
}

impl Upload {
    /// Sends some more. False if the server has said enough.
    pub(crate) fn send(&self, piece: Vec<u8>) -> bool {
        self.pieces.blocking_send(Ok(piece.into())).is_ok()
    }

    /// Cuts it off, so that nothing of it is kept.
    pub(crate) fn cut(&self) {
        let _ = self.pieces.blocking_send(Err(io::ErrorKind::InvalidData.into()));
    }
}

/// The path of a thread.
pub(crate) fn thread_path(id: &ThreadId) -> String {
    format!("/v1/threads/{}", escaped(id.as_str()))
}

/// A text as a part of a path or a query.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'~' => out.push(char::from(byte)),
            // A path of dots alone would mean something else.
            _ => out += &format!("%{byte:02X}"),
        }
    }
    out
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(bytes)
        .map_err(|error| Failure::Environment(format!("the server's answer makes no sense: {error}")))
}

/// Why a server did not do what it was asked.
pub(crate) fn failure(error: &ClientError) -> Failure {
    let said = Refused::of(error).map(|refused| refused.message);
    match error {
        ClientError::Status { status, .. } if status.is_client_error() => {
            Failure::Usage(said.unwrap_or_else(|| format!("the server refuses. status={}", status.as_u16())))
        }
        ClientError::Status { .. } => Failure::Environment(said.unwrap_or_else(|| error.to_string())),
        error => {
            let mut text = format!("the server cannot be asked: {error}");
            let mut cause = error.source();
            while let Some(error) = cause {
                text += &format!(": {error}");
                cause = error.source();
            }
            Failure::Environment(text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped() {
        assert_eq!(escaped("a-B_9~"), "a-B_9~");
        assert_eq!(escaped("../ ü&=+"), "%2E%2E%2F%20%C3%BC%26%3D%2B");
    }
}
