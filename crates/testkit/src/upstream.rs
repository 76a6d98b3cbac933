//! An agent that plays a script: raw bytes of HTTP over loopback, step by step, so that anything can be played that an agent
//! or a network might do.

mod deaf;
mod script;

pub use deaf::Deaf;
pub use script::{
    Signal, Step, answer, chunk, head, last_chunk, protobuf_answer, protobuf_body, sse_answer, sse_body,
};

use bytes::Bytes;
use script::play;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// An agent on loopback. It goes when it is dropped, with all of its connections.
#[derive(Debug)]
pub struct Upstream {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    listening: AbortHandle,
}

/// A request that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The path and the query.
    pub target: String,
    /// In the order they came, names as they were written.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

impl Upstream {
    /// Plays the first script on the first connection, the second on the second, and the last one on all that follow: each
    /// as soon as a request has come in whole. The connection is closed after the last step.
    ///
    /// # Panics
    /// If there is no script, or no port to listen on.
    pub async fn start(scripts: impl IntoIterator<Item = Vec<Step>>) -> Self {
        let scripts: Vec<_> = scripts.into_iter().collect();
        assert!(!scripts.is_empty(), "nothing to play");
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let listening = tokio::spawn(listen(listener, scripts, Arc::clone(&requests))).abort_handle();
        Self { address, requests, listening }
    }

    /// Where it is.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// A URL there. `path` begins with a slash.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests so far, in the order in which they were whole.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Request {
    /// The values of a header, in whatever case it is written.
    #[must_use]
    pub fn header(&self, name: &str) -> Vec<&str> {
        let values = self.headers.iter().filter(|(candidate, _)| candidate.eq_ignore_ascii_case(name));
        values.map(|(_, value)| value.as_str()).collect()
    }
}

async fn listen(listener: TcpListener, scripts: Vec<Vec<Step>>, requests: Arc<Mutex<Vec<Request>>>) {
    let mut connections = JoinSet::new();
    let last = scripts.len() - 1;
    for turn in 0.. {
        let Ok((tcp, _)) = listener.accept().await else { return };
        let script = scripts[last.min(turn)].clone();
        let requests = Arc::clone(&requests);
        connections.spawn(async move {
            // A client that goes is a part of many scripts.
            let _gone = serve(tcp, script, &requests).await;
        });
    }
}

async fn serve(mut tcp: TcpStream, script: Vec<Step>, requests: &Mutex<Vec<Request>>) -> io::Result<()> {
    tcp.set_nodelay(true)?;
    let request = read_request(&mut tcp).await?;
    requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
    play(&mut tcp, script).await
}

/// Reads a request whose body, if any, has its length in the head.
async fn read_request(tcp: &mut TcpStream) -> io::Result<Request> {
    let mut received = Vec::new();
    let head_len = loop {
        if let Some(at) = received.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if tcp.read_buf(&mut received).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    };
    let head = String::from_utf8_lossy(&received[..head_len]).into_owned();
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    let (method, target) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let mut request = Request { method, target, headers, body: Bytes::new() };
    let body_len =
        request.header("content-length").first().and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = received.split_off(head_len + 4);
    while body.len() < body_len {
        if tcp.read_buf(&mut body).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    request.body = body.into();
    Ok(request)
}
