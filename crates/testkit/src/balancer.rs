//! What stands in front of several instances of a server: each request goes to the next one.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// The most that the head of a request may have.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// Gives each connection to the next instance that takes it, and lets it have one request: it is passed on with
/// `connection: close`, so that client and server agree that nothing follows. One that becomes something else, as a WebSocket does, is
/// passed on as it is. It goes when it is dropped, with all of its connections.
#[derive(Debug)]
pub struct Balancer {
    address: SocketAddr,
    turns: Arc<Mutex<Turns>>,
    listening: AbortHandle,
}

/// Whose turn it is.
#[derive(Debug)]
struct Turns {
    instances: Vec<SocketAddr>,
    next: usize,
    /// How many requests each has had.
    taken: Vec<usize>,
}

impl Turns {
    /// The instances in the order in which they are tried for one request.
    fn turn(&mut self) -> Vec<(usize, SocketAddr)> {
        let first = self.next;
        self.next = (first + 1) % self.instances.len();
        let places = (first..self.instances.len()).chain(0..first);
        places.map(|place| (place, self.instances[place])).collect()
    }
}

impl Balancer {
    /// In front of these.
    ///
    /// # Panics
    /// If there are none, or no port to listen on.
    pub async fn start(instances: impl IntoIterator<Item = SocketAddr>) -> Self {
        let instances: Vec<SocketAddr> = instances.into_iter().collect();
        assert!(!instances.is_empty(), "nobody to pass requests on to");
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let taken = vec![0; instances.len()];
        let turns = Arc::new(Mutex::new(Turns { instances, next: 0, taken }));
        let listening = tokio::spawn(listen(listener, Arc::clone(&turns))).abort_handle();
        Self { address, turns, listening }
    }

    /// Where it is.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// An instance is somewhere else now.
    ///
    /// # Panics
    /// If there is no such instance.
    pub fn moved(&self, instance: usize, address: SocketAddr) {
        self.turns().instances[instance] = address;
    }

    /// How many requests each of the instances has had.
    #[must_use]
    pub fn taken(&self) -> Vec<usize> {
        self.turns().taken.clone()
    }

    fn turns(&self) -> std::sync::MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn listen(listener: TcpListener, turns: Arc<Mutex<Turns>>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let turns = Arc::clone(&turns);
        connections.spawn(async move {
            // How either side goes is not our concern.
            _ = pass(client, &turns).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

/// Passes a request on to whose turn it is, and everything that follows.
async fn pass(mut client: TcpStream, turns: &Mutex<Turns>) -> io::Result<()> {
    let Some(request) = read_head(&mut client).await? else { return Ok(()) };
    let order = turns.lock().unwrap_or_else(PoisonError::into_inner).turn();
    for (place, address) in order {
        let Ok(mut server) = TcpStream::connect(address).await else { continue };
        turns.lock().unwrap_or_else(PoisonError::into_inner).taken[place] += 1;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        server.write_all(&request).await?;
        let passed = copy_bidirectional(&mut client, &mut server).await;
        if passed.is_err() {
            // A broken answer must not look like one that has ended.
            client.set_zero_linger()?;
        }
        return passed.map(drop);
    }
    Ok(())
}

/// The head of a request that is the only one of its connection, and what has come with it. None if nothing is asked.
async fn read_head(client: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
    let mut received = Vec::new();
    loop {
        if let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") {
            let body = received.split_off(end + 2);
            return Ok(Some([only(&received).as_bytes(), &body].concat()));
        }
        if received.len() > HEAD_BYTES_MAX || client.read_buf(&mut received).await? == 0 {
            return Ok(None);
        }
    }
}

/// A head, each line with its end, that says that no other request follows, unless it asks for something else than HTTP.
fn only(head: &[u8]) -> String {
    let head = String::from_utf8_lossy(head);
    let names = |line: &str, name: &str| {
        line.split_once(':').is_some_and(|(candidate, _)| candidate.eq_ignore_ascii_case(name))
    };
    if head.lines().any(|line| names(line, "upgrade")) {
        return head.into_owned();
    }
    let kept = head.split_inclusive("\r\n").filter(|line| !names(line, "connection"));
    kept.collect::<String>() + "connection: close\r\n"
}

#[cfg(test)]
mod tests {
    use super::{Balancer, only};
    use crate::upstream::{Upstream, answer};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    async fn ask(balancer: &Balancer) -> String {
        let mut tcp = TcpStream::connect(balancer.address()).await.expect("a balancer");
        let head = "POST / HTTP/1.1\r\nConnection: keep-alive\r\ncontent-length: 4\r\n\r\nbody";
        tcp.write_all(head.as_bytes()).await.expect("a request");
        let mut said = String::new();
        tcp.read_to_string(&mut said).await.expect("an answer");
        said
    }

    #[tokio::test]
    async fn requests_go_round_and_past_those_who_are_not_there() {
        let mut upstreams = Vec::new();
        for name in ["one", "two"] {
            upstreams.push(Upstream::start([answer("200 OK", "text/plain", name)]).await);
        }
        let nobody = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let gone = nobody.local_addr().expect("an address");
        drop(nobody);
        let addresses = [upstreams[0].address(), gone, upstreams[1].address()];
        let balancer = Balancer::start(addresses).await;
        let mut said = Vec::new();
        for _ in 0..6 {
            said.push(ask(&balancer).await.rsplit('\n').next().expect("a body").to_owned());
        }
        assert_eq!(said, ["one", "two", "two", "one", "two", "two"]);
        assert_eq!(balancer.taken(), [2, 0, 4]);
        for upstream in upstreams {
            for request in upstream.requests() {
                assert_eq!(request.header("connection"), ["close"]);
                assert_eq!(&request.body[..], b"body");
            }
        }
        let third = Upstream::start([answer("200 OK", "text/plain", "three")]).await;
        balancer.moved(1, third.address());
        ask(&balancer).await;
        assert!(ask(&balancer).await.ends_with("three"));
    }

    #[test]
    fn sockets_stay_what_they_are() {
        let head = "GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
        assert_eq!(only(head.as_bytes()), head);
        assert_eq!(only(b"GET / HTTP/1.1\r\na: b\r\n"), "GET / HTTP/1.1\r\na: b\r\nconnection: close\r\n");
    }
}
