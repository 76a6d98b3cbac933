//! Endpoints that do what a test wants them to.

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_websockets::{Message, ServerBuilder};

/// A request, as far as an endpoint has to know it.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) head: String,
    pub(super) body: String,
}

impl Asked {
    /// The body as a RunAgentInput, if it is JSON.
    pub(super) fn input(&self) -> Option<Value> {
        serde_json::from_str(&self.body).ok()
    }

    /// The input, if it can be one.
    pub(super) fn valid_input(&self) -> Option<Value> {
        let input = self.input()?;
        let is_valid =
            input["threadId"].is_string() && input["runId"].is_string() && input["messages"].is_array();
        is_valid.then_some(input)
    }

    pub(super) fn accepts(&self, what: &str) -> bool {
        let accept = self.head.lines().find(|line| line.to_lowercase().starts_with("accept:"));
        accept.is_some_and(|line| line.contains(what))
    }
}

type Answers = Arc<dyn Fn(&Asked) -> Vec<u8> + Send + Sync>;
type Says = Arc<dyn Fn(&str) -> Vec<String> + Send + Sync>;

/// An endpoint on loopback. It goes when it is dropped.
pub(super) struct Endpoint {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    _runtime: Runtime,
}

impl Endpoint {
    /// Answers requests with bytes of HTTP, and closes the connection after each.
    pub(super) fn start(answers: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::start_both(Arc::new(answers), None)
    }

    /// The same, and answers each message of a WebSocket at `/agent` with messages.
    pub(super) fn with_socket(
        answers: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static,
        says: impl Fn(&str) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        Self::start_both(Arc::new(answers), Some(Arc::new(says)))
    }

    fn start_both(answers: Answers, says: Option<Says>) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = listener.local_addr().expect("an address");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let taken = Arc::clone(&asked);
        runtime.spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let (answers, says, taken) = (Arc::clone(&answers), says.clone(), Arc::clone(&taken));
                tokio::spawn(async move { serve(tcp, &answers, says, &taken).await });
            }
        });
        Self { address, asked, _runtime: runtime }
    }

    pub(super) fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}/agent", self.address)
    }

    /// The requests so far, sockets included.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("nobody panicked").clone()
    }
}

async fn serve(mut tcp: TcpStream, answers: &Answers, says: Option<Says>, taken: &Mutex<Vec<Asked>>) {
    let mut seen = vec![0; 16 * 1024];
    // The head is small, and comes in one piece over loopback.
    let len = tcp.peek(&mut seen).await.unwrap_or(0);
    let head = String::from_utf8_lossy(&seen[..len]).to_lowercase();
    if let (true, Some(says)) = (head.contains("upgrade: websocket") && head.starts_with("get /agent "), says)
    {
        note(taken, "GET /agent HTTP/1.1", String::new());
        converse(tcp, &says).await;
        return;
    }
    let Some((head, body)) = read(&mut tcp).await else { return };
    let asked = note(taken, &head, body);
    let answer = answers(&asked);
    // A client that has heard enough is not our concern.
    let _ = tcp.write_all(&answer).await;
    if answer.windows(HELD.len()).any(|window| window == HELD.as_bytes()) {
        while tcp.read(&mut [0; 1024]).await.is_ok_and(|len| len > 0) {}
    }
    let _ = tcp.shutdown().await;
}

fn note(taken: &Mutex<Vec<Asked>>, head: &str, body: String) -> Asked {
    let mut words = head.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let asked = Asked { method, path, head: head.to_owned(), body };
    taken.lock().expect("nobody panicked").push(asked.clone());
    asked
}

async fn read(tcp: &mut TcpStream) -> Option<(String, String)> {
    let mut received = Vec::new();
    let end = loop {
        if let Some(at) = received.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        if tcp.read_buf(&mut received).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&received[..end]).into_owned();
    let length = head
        .lines()
        .find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = received.split_off(end + 4);
    while body.len() < length.unwrap_or(0) {
        if tcp.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some((head, String::from_utf8_lossy(&body).into_owned()))
}

async fn converse(tcp: TcpStream, says: &Says) {
    let Ok((_, mut socket)) = ServerBuilder::new().accept(tcp).await else { return };
    while let Some(Ok(message)) = socket.next().await {
        let Some(text) = message.as_text() else { continue };
        for answer in says(text) {
            if socket.send(Message::text(answer)).await.is_err() {
                return;
            }
        }
    }
}

/// An answer as bytes of HTTP.
pub(super) fn answer(status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut head =
        format!("HTTP/1.1 {status} Status\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    [head.as_bytes(), b"\r\n", body].concat()
}

/// A comment that keeps an answer open until the client goes.
const HELD: &str = ": held\n\n";

/// Events as server-sent events that do not end.
pub(super) fn held(events: &[String]) -> Vec<u8> {
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    format!("{head}{HELD}{body}").into_bytes()
}

/// Events as server-sent events.
pub(super) fn sse(events: &[String]) -> Vec<u8> {
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    answer(200, &[("content-type", "text/event-stream")], body)
}

/// A refusal.
pub(super) fn refused(status: u16) -> Vec<u8> {
    answer(status, &[("content-type", "application/json")], "{\"error\":\"no\"}")
}
