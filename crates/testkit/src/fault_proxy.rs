//! A network between a client and a server that cuts connections where a test says so, or is cut itself.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

/// Passes connections on to a server, and cuts the next one after as many bytes of the answer as it is told. It goes when it is dropped, with
/// all of its connections.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    cuts: Arc<Mutex<Vec<usize>>>,
    connections: Arc<AtomicUsize>,
    network: watch::Sender<Network>,
    listening: AbortHandle,
}

/// How the network is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Network {
    Whole,
    /// Connections stay, and new ones come about, but nothing arrives.
    Silent,
    /// What servers say does not arrive.
    Mute,
    /// Nothing arrives on the connections that were there when there were so many; others are whole.
    Stuck(usize),
    /// There are no connections.
    Severed,
}

impl Network {
    /// Whether something arrives on the connection of this number.
    const fn lets_pass(self, connection: usize, is_answer: bool) -> bool {
        match self {
            Self::Whole => true,
            Self::Mute => !is_answer,
            Self::Stuck(connections) => connection >= connections,
            Self::Silent | Self::Severed => false,
        }
    }
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
        let (network, watched) = watch::channel(Network::Whole);
        let listening =
            tokio::spawn(listen(listener, server, Arc::clone(&cuts), Arc::clone(&connections), watched));
        Self { address, cuts, connections, network, listening: listening.abort_handle() }
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

    /// Cuts the network: all connections are broken off, and so is every new one.
    pub fn sever(&self) {
        self.network.send_replace(Network::Severed);
    }

    /// Loses everything that is sent, without anybody being told. What was lost arrives after all when the network is whole again, as
    /// TCP has it, unless it was severed meanwhile.
    pub fn silence(&self) {
        self.network.send_replace(Network::Silent);
    }

    /// The same for answers alone: what clients ask arrives.
    pub fn mute(&self) {
        self.network.send_replace(Network::Mute);
    }

    /// The same for the connections that there are: new ones are whole.
    pub fn get_stuck(&self) {
        self.network.send_replace(Network::Stuck(self.connections()));
    }

    /// Makes the network whole again.
    pub fn heal(&self) {
        self.network.send_replace(Network::Whole);
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
    network: watch::Receiver<Network>,
) {
    let mut tasks = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let number = connections.fetch_add(1, Ordering::Relaxed);
        let cut = cuts.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut network = network.clone();
        tasks.spawn(async move {
            let passed = network.clone();
            tokio::select! {
                biased;
                _ = network.wait_for(|network| *network == Network::Severed) => {}
                () = reach(client, server, number, cut.unwrap_or(usize::MAX), &passed) => {}
            }
        });
        while tasks.try_join_next().is_some() {}
    }
}

async fn reach(
    client: TcpStream,
    server: SocketAddr,
    number: usize,
    left: usize,
    network: &watch::Receiver<Network>,
) {
    if let Ok(server) = TcpStream::connect(server).await {
        pass(client, server, number, left, network).await;
    }
}

/// Passes bytes in both directions until one side is gone, or so many have gone to the client.
async fn pass(
    client: TcpStream,
    server: TcpStream,
    number: usize,
    left: usize,
    network: &watch::Receiver<Network>,
) {
    // How either side goes is not our concern.
    _ = client.set_nodelay(true);
    _ = server.set_nodelay(true);
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    let asking = async {
        let mut to_server = to_server;
        let passes = |network: &Network| network.lets_pass(number, false);
        carry(from_client, &mut to_server, usize::MAX, network.clone(), passes).await;
        // A client that says no more still listens.
        _ = to_server.shutdown().await;
        std::future::pending::<()>().await;
    };
    let answering = async {
        let mut to_client = to_client;
        let passes = |network: &Network| network.lets_pass(number, true);
        carry(from_server, &mut to_client, left, network.clone(), passes).await;
    };
    tokio::select! {
        () = asking => {}
        () = answering => {}
    }
}

/// Passes up to so many bytes on, while the network lets them pass.
async fn carry(
    mut from: OwnedReadHalf,
    to: &mut OwnedWriteHalf,
    mut left: usize,
    mut network: watch::Receiver<Network>,
    passes: impl Fn(&Network) -> bool,
) {
    let mut piece = [0; 4096];
    while left > 0 {
        let size = left.min(piece.len());
        let read = from.read(&mut piece[..size]).await;
        // Also that somebody is gone is not told. Who switches the network outlives its connections.
        _ = network.wait_for(&passes).await;
        let Ok(len @ 1..) = read else { return };
        if to.write_all(&piece[..len]).await.is_err() {
            return;
        }
        left -= len;
    }
}

#[cfg(test)]
mod tests {
    use super::FaultProxy;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::timeout;

    /// A server that says everything twice.
    async fn echo() -> std::net::SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move {
            while let Ok((mut tcp, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = tcp.split();
                    _ = tokio::io::copy(&mut from, &mut to).await;
                });
            }
        });
        address
    }

    async fn say(tcp: &mut TcpStream, word: &[u8; 3]) -> std::io::Result<[u8; 3]> {
        tcp.write_all(word).await?;
        let mut heard = [0; 3];
        tcp.read_exact(&mut heard).await?;
        Ok(heard)
    }

    #[tokio::test]
    async fn a_network_is_whole_then_silent_then_severed_then_whole() {
        let proxy = FaultProxy::start(echo().await).await;
        let mut tcp = TcpStream::connect(proxy.address()).await.expect("a proxy");
        assert_eq!(say(&mut tcp, b"one").await.expect("an echo"), *b"one");

        proxy.silence();
        tcp.write_all(b"two").await.expect("somebody who takes it");
        let mut heard = [0; 3];
        timeout(Duration::from_millis(50), tcp.read_exact(&mut heard)).await.expect_err("silence");
        proxy.heal();
        tcp.read_exact(&mut heard).await.expect("an echo");
        assert_eq!(heard, *b"two");

        proxy.sever();
        assert!(!matches!(tcp.read(&mut heard).await, Ok(1..)));
        if let Ok(mut new) = TcpStream::connect(proxy.address()).await {
            say(&mut new, b"new").await.expect_err("nobody");
        }
        proxy.heal();
        let mut tcp = TcpStream::connect(proxy.address()).await.expect("a proxy");
        assert_eq!(say(&mut tcp, b"six").await.expect("an echo"), *b"six");
    }
}
