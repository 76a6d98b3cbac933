//! From an address to a connection.

use crate::{ClientError, Endpoint, Phase};
use rustls::pki_types::ServerName;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout};

/// What HTTP is spoken over.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

impl Endpoint {
    /// A connection that is ready to be used.
    pub(crate) async fn connect(&self) -> Result<Box<dyn Io>, ClientError> {
        let after = self.options.connect_timeout;
        let connected = timeout(after, self.connect_untimed()).await;
        connected.unwrap_or_else(|elapsed| Err(elapsed.into())).map_err(|source| match source.kind() {
            io::ErrorKind::TimedOut => ClientError::Timeout { phase: Phase::Connect, after },
            _ => {
                let proxy = self.options.proxy.as_ref().map(|proxy| format!(" by way of {}", proxy.host()));
                let host = format!("{}{}", self.address.authority, proxy.unwrap_or_default());
                ClientError::Unreachable { host, source }
            }
        })
    }

    async fn connect_untimed(&self) -> io::Result<Box<dyn Io>> {
        let begun = Instant::now();
        let (host, port) = match &self.options.proxy {
            Some(proxy) => (proxy.host(), proxy.port()),
            None => (&*self.address.host, self.address.port),
        };
        let addresses: Vec<_> = lookup_host((host, port)).await?.collect();
        let left = self.options.connect_timeout.saturating_sub(begun.elapsed());
        let mut tcp = connect_to_any(&addresses, left).await?;
        // A request is written in one go, and nobody waits for more of it.
        tcp.set_nodelay(true)?;
        let Some(tls) = &self.tls else { return Ok(Box::new(tcp)) };
        if let Some(proxy) = &self.options.proxy {
            proxy.open_tunnel(&mut tcp, &self.address.host, self.address.port).await?;
        }
        let name = ServerName::try_from(self.address.host.clone()).map_err(io::Error::other)?;
        Ok(Box::new(tls.connect(name, tcp).await?))
    }
}

/// Tries addresses one after the other, each for an equal share of the time that is left, so that one that swallows everything
/// does not hide the next.
async fn connect_to_any(addresses: &[SocketAddr], limit: Duration) -> io::Result<TcpStream> {
    let begun = Instant::now();
    let mut last_error = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for (left, address) in (1..=addresses.len()).rev().zip(addresses) {
        let left = u32::try_from(left).unwrap_or(u32::MAX);
        let share = limit.saturating_sub(begun.elapsed()) / left;
        match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(tcp)) => return Ok(tcp),
            Ok(Err(error)) => last_error = error,
            Err(elapsed) => last_error = elapsed.into(),
        }
    }
    Err(last_error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadline_testkit::upstream::Deaf;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn an_address_that_refuses_or_swallows_does_not_hide_the_next() {
        let bound = async || TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (deaf, listener, refusing) = (Deaf::new().await, bound().await, bound().await);
        let (there, refuses) = (listener.local_addr().unwrap(), refusing.local_addr().unwrap());
        drop(refusing);
        tokio::time::pause();
        let (addresses, limit) = ([refuses, deaf.address(), there], Duration::from_secs(10));
        let tcp = timeout(limit, connect_to_any(&addresses, limit)).await.expect("time is left").unwrap();
        assert_eq!(tcp.peer_addr().unwrap(), there);

        let error = connect_to_any(&[refuses], Duration::MAX).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        let error = connect_to_any(&[], Duration::MAX).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
