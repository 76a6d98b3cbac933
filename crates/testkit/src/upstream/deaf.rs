//! An address that swallows everything.

use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::timeout;

/// How long a connection on loopback may take that comes about.
const SOON: Duration = Duration::from_millis(200);

/// Somebody who listens but takes no connections: the queue is full, so that one more is not even refused.
#[derive(Debug)]
pub struct Deaf {
    listener: TcpListener,
    _queued: Vec<TcpStream>,
}

impl Deaf {
    /// Listens to nobody. The clock must not be paused.
    ///
    /// # Panics
    /// If there is no port, or the queue has no end.
    pub async fn new() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a free port");
        let listener = socket.listen(1).expect("a bound socket can listen");
        let address = listener.local_addr().expect("a bound socket has an address");
        let mut queued = Vec::new();
        while let Ok(Ok(tcp)) = timeout(SOON, TcpStream::connect(address)).await {
            queued.push(tcp);
            assert!(queued.len() < 100, "the queue never fills");
        }
        Self { listener, _queued: queued }
    }

    /// Where it is.
    ///
    /// # Panics
    /// Never: a bound socket has an address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listener.local_addr().expect("a bound socket has an address")
    }
}
