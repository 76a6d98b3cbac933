//! A socket from its opening to its end.

use super::answers::{Answer, Answers};
use super::exchange::Session;
use super::message::{self, Asked, Call};
use crate::access::Caller;
use crate::error::{Code, Refusal};
use futures_util::{SinkExt, StreamExt};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use threadline_log::Timestamp;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_websockets::{CloseCode, Limits, Message, ServerBuilder, WebSocketStream};

/// The most requests of a socket that are answered at once; as many as streams of a connection of HTTP/2.
const CALLS_MAX: usize = 128;
/// How many answers wait to be sent before those who make them wait.
const WAITING_MAX: usize = 64;
/// How long the other end has to take the last that it is told.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// A socket, and what goes on in it.
#[derive(Debug)]
pub(crate) struct Connection {
    session: Arc<Session>,
    /// After how much silence the other end is asked whether it is there; none is never.
    keep_alive: Option<Duration>,
    /// Said when the server stops.
    stopping: CancellationToken,
    answers: mpsc::Sender<Answer>,
    waiting: mpsc::Receiver<Answer>,
    /// The requests that are being answered, by name.
    calls: HashMap<Arc<str>, Active>,
    /// Those of all of them that still do something. They end with the socket.
    tasks: JoinSet<()>,
    /// How many requests there have been.
    count: u64,
}

#[derive(Debug)]
struct Active {
    number: u64,
    task: AbortHandle,
}

/// Why a socket ends.
enum End {
    /// The other end has left.
    Left,
    /// There is something to say first.
    Closed(CloseCode, &'static str),
}

impl Connection {
    /// A socket that has just been opened.
    pub(crate) fn new(session: Session, keep_alive: Option<Duration>, stopping: CancellationToken) -> Self {
        let (answers, waiting) = mpsc::channel(WAITING_MAX);
        Self {
            session: Arc::new(session),
            keep_alive,
            stopping,
            answers,
            waiting,
            calls: HashMap::new(),
            tasks: JoinSet::new(),
            count: 0,
        }
    }

    /// Answers until one of both ends leaves. What it has begun to run goes on.
    pub(crate) async fn serve<S>(mut self, stream: S, bytes_max: usize, now: Timestamp)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let limits = Limits::default().max_payload_len(Some(bytes_max));
        let mut socket = ServerBuilder::new().limits(limits).serve(stream);
        let caller = self.session.caller.clone();
        if let Ok(End::Closed(code, reason)) = self.answer_all(&mut socket, &caller, now).await {
            let _ = timeout(CLOSE_TIMEOUT, async {
                let _ = socket.send(Message::close(Some(code), reason)).await;
                // The other end says goodbye, too.
                while let Some(Ok(_)) = socket.next().await {}
            })
            .await;
        }
    }

    async fn answer_all<S>(
        &mut self,
        socket: &mut WebSocketStream<S>,
        caller: &Caller,
        now: Timestamp,
    ) -> Result<End, tokio_websockets::Error>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let revoked = caller.no_longer(now);
        tokio::pin!(revoked);
        let stopping = self.stopping.clone();
        loop {
            // Streams end by themselves when the server stops, and say so.
            if stopping.is_cancelled() && self.calls.is_empty() {
                return Ok(End::Closed(CloseCode::GOING_AWAY, "the server stops"));
            }
            tokio::select! {
                () = &mut revoked => {
                    return Ok(End::Closed(CloseCode::POLICY_VIOLATION, "the caller may no longer see this"));
                }
                answer = self.waiting.recv() => {
                    if let Some(answer) = answer {
                        self.send(socket, answer).await?;
                    }
                }
                received = socket.next() => {
                    let Some(received) = received.transpose()? else { return Ok(End::Left) };
                    if let Some(refused) = self.take(&received) {
                        socket.send(refused).await?;
                    }
                }
                () = stopping.cancelled(), if self.calls.is_empty() => {}
                () = silence(self.keep_alive) => socket.send(Message::ping("")).await?,
            }
        }
    }

    /// Sends what there is, and only then makes sure that it leaves.
    async fn send<S>(
        &mut self,
        socket: &mut WebSocketStream<S>,
        first: Answer,
    ) -> Result<(), tokio_websockets::Error>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let mut next = Some(first);
        while let Some(Answer { id, number, message, is_last }) = next {
            // Nobody wants the rest of what was detached from.
            let is_wanted = self.calls.get(&id).is_some_and(|active| active.number == number);
            if is_wanted {
                socket.feed(message).await?;
            }
            if is_wanted && is_last {
                self.calls.remove(&id);
            }
            next = self.waiting.try_recv().ok();
        }
        socket.flush().await
    }

    /// Does what a message asks for; the answer is to be sent at once.
    fn take(&mut self, received: &Message) -> Option<Message> {
        if received.is_binary() {
            return Some(refused(None, &Refusal::input("", "messages are JSON, in text")));
        }
        match Asked::read(received.as_text()?) {
            Ok(Asked::Call(call)) => self.begin(call),
            Ok(Asked::Detach(id)) => {
                if let Some(active) = self.calls.remove(&id) {
                    active.task.abort();
                }
                Some(message::detached(&id))
            }
            Err((id, refusal)) => Some(refused(id.as_deref(), &refusal)),
        }
    }

    fn begin(&mut self, call: Call) -> Option<Message> {
        let id = Arc::clone(&call.id);
        if self.calls.contains_key(&id) {
            let refusal = Refusal::new(Code::InvalidInput, "a request of this id is being answered");
            return Some(refused(Some(&id), &refusal));
        }
        if self.calls.len() >= CALLS_MAX {
            let refusal =
                Refusal::new(Code::TooMany, format!("the socket has too many requests. max={CALLS_MAX}"));
            return Some(refused(Some(&id), &refusal));
        }
        while self.tasks.try_join_next().is_some() {}
        self.count += 1;
        let (number, session) = (self.count, Arc::clone(&self.session));
        let answers = Answers { id: Arc::clone(&id), number, sender: self.answers.clone() };
        let task = self.tasks.spawn(async move {
            // Whoever is gone need not be told.
            let _ = session.exchange(&call, &answers).await;
        });
        self.calls.insert(id, Active { number, task });
        None
    }
}

async fn silence(length: Option<Duration>) {
    match length {
        Some(length) => sleep(length).await,
        None => std::future::pending().await,
    }
}

fn refused(id: Option<&str>, refusal: &Refusal) -> Message {
    let status = refusal.code.status().as_u16();
    message::refused(id, status, &refusal.body())
}
