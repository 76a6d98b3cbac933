//! A network between a client and a server that cuts connections where a test says so.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// Passes connections on to a server, and cuts the next one after as many bytes of the answer as it is told. It goes when it is dropped, with
/// all of its connections.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    cuts: Arc<Mutex<Vec<usize>>>,
    connections: Arc<AtomicUsize>,
    listening: AbortHandle,
}

impl FaultProxy {
    /// In front of a server.
    ///
    /// # Panics
    /// If there is no port to listen on.
    pub async fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let (cuts, connections) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let listening = tokio::spawn(listen(listener, server, Arc::clone(&cuts), Arc::clone(&connections)));
        Self { address, cuts, connections, listening: listening.abort_handle() }
    }

    /// Where it is.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Cuts the next connections, one after so many bytes of its answer each. Those after them are whole.
    pub fn cut(&self, after: &[usize]) {
        let mut cuts = self.cuts.lock().unwrap_or_else(PoisonError::into_inner);
        *cuts = after.iter().rev().copied().collect();
    }

    /// How many connections there were.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn listen(
    listener: TcpListener,
    server: SocketAddr,
    cuts: Arc<Mutex<Vec<usize>>>,
    connections: Arc<AtomicUsize>,
) {
    let mut tasks = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        connections.fetch_add(1, Ordering::Relaxed);
        let cut = cuts.lock().unwrap_or_else(PoisonError::into_inner).pop();
        tasks.spawn(async move {
            if let Ok(server) = TcpStream::connect(server).await {
                pass(client, server, cut.unwrap_or(usize::MAX)).await;
            }
        });
    }
}

/// Passes bytes in both directions until one side is gone, or so many have gone to the client.
async fn pass(client: TcpStream, server: TcpStream, mut left: usize) {
    // How either side goes is not our concern.
    _ = client.set_nodelay(true);
    _ = server.set_nodelay(true);
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    let asking = async {
        _ = tokio::io::copy(&mut from_client, &mut to_server).await;
        // A client that says no more still listens.
        std::future::pending::<()>().await;
    };
    let answering = async {
        let mut piece = [0; 4096];
        while left > 0 {
            let size = left.min(piece.len());
            let Ok(len @ 1..) = from_server.read(&mut piece[..size]).await else { return };
            if to_client.write_all(&piece[..len]).await.is_err() {
                return;
            }
            left -= len;
        }
    };
    tokio::select! {
        () = asking => {}
        () = answering => {}
    }
}
