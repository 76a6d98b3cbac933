//! Answers on their way to a socket.

use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_websockets::Message;

/// Something to send.
#[derive(Debug)]
pub(super) struct Answer {
    /// What the client calls the request.
    pub(super) id: Arc<str>,
    /// Which request of the socket it is. Names may be used again.
    pub(super) number: u64,
    pub(super) message: Message,
    /// Whether nothing more comes of the request.
    pub(super) is_last: bool,
}

/// Where the answers to one request go.
#[derive(Debug)]
pub(super) struct Answers {
    pub(super) id: Arc<str>,
    pub(super) number: u64,
    pub(super) sender: mpsc::Sender<Answer>,
}

/// Nobody listens any more.
#[derive(Debug)]
pub(super) struct Gone;

impl Answers {
    pub(super) async fn tell(&self, message: Message) -> Result<(), Gone> {
        self.send(message, false).await
    }

    pub(super) async fn last(&self, message: Message) -> Result<(), Gone> {
        self.send(message, true).await
    }

    async fn send(&self, message: Message, is_last: bool) -> Result<(), Gone> {
        let answer = Answer { id: Arc::clone(&self.id), number: self.number, message, is_last };
        self.sender.send(answer).await.map_err(|_unsent| Gone)
    }
}
