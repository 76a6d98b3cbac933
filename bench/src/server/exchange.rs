//! Requests of a client, and how their answers are read.

use axum::http::{Request, StatusCode, header};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use std::io;
use std::net::SocketAddr;
use tokio::net::TcpStream;

/// A connection to a server.
#[derive(Debug)]
pub(super) struct Client {
    address: SocketAddr,
    sender: SendRequest<Full<Bytes>>,
}

impl Client {
    pub(super) async fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        // Whoever reads the answer is told how it ended.
        tokio::spawn(connection);
        Ok(Self { address, sender })
    }

    /// Posts JSON, and gives the answer as it comes. A second request waits for the end of the first answer.
    pub(super) async fn post(&mut self, path: &str, body: impl Into<Bytes>) -> io::Result<Answer> {
        match self.ask("anybody", path, body).await? {
            (StatusCode::OK, answer) => Ok(answer),
            (status, _) => Err(io::Error::other(format!("refused. status={status}"))),
        }
    }

    /// The same for somebody, whatever is answered.
    pub(super) async fn ask(
        &mut self,
        user: &str,
        path: &str,
        body: impl Into<Bytes>,
    ) -> io::Result<(StatusCode, Answer)> {
        let request = Request::post(path)
            .header(header::HOST, self.address.to_string())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "text/event-stream")
            .header("x-user", user)
            .body(Full::new(body.into()))
            .map_err(io::Error::other)?;
        self.sender.ready().await.map_err(io::Error::other)?;
        let response = self.sender.send_request(request).await.map_err(io::Error::other)?;
        Ok((response.status(), Answer(response.into_body())))
    }
}

/// Posts JSON over a connection of its own.
pub(super) async fn post(address: SocketAddr, path: &str, body: impl Into<Bytes>) -> io::Result<Answer> {
    Client::connect(address).await?.post(path, body).await
}

/// The body of an answer.
pub(super) struct Answer(pub(super) Incoming);

impl Answer {
    /// The next piece, of whatever size it came in.
    pub(super) async fn next(&mut self) -> io::Result<Option<Bytes>> {
        while let Some(frame) = self.0.frame().await {
            if let Ok(piece) = frame.map_err(io::Error::other)?.into_data() {
                return Ok(Some(piece));
            }
        }
        Ok(None)
    }
}
